/** A file of core is read in one go. One that grows beyond the limit tells two things, and becomes two files. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { root, sourceFiles } from "./rules/SourceFile.ts"

const most = 350

it(`no file of core has more than ${most} lines`, () => {
  const files = sourceFiles("packages/core").filter((path) => path.startsWith("packages/core/src/"))
  assert.isAbove(files.length, 200)
  const lines = (path: string) => readFileSync(join(root, path), "utf8").trimEnd().split("\n").length
  assert.deepStrictEqual(
    files.filter((path) => lines(path) > most),
    []
  )
})
