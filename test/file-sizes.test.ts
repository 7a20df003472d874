/** Files that are read in one go. A file of core that grows beyond the limit tells two things, and becomes two files. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { root, sourceFiles } from "./rules/SourceFile.ts"

const lines = (path: string) => readFileSync(join(root, path), "utf8").trimEnd().split("\n").length

it("no file of core has more than 350 lines", () => {
  const files = sourceFiles("packages/core").filter((path) => path.startsWith("packages/core/src/"))
  assert.isAbove(files.length, 200)
  assert.deepStrictEqual(
    files.filter((path) => lines(path) > 350),
    []
  )
})

it("no file of an example has 100 lines or more", () => {
  const files = readdirSync(join(root, "examples"), { recursive: true, encoding: "utf8" })
    .filter((path) => !/(?:^|[\\/])(?:node_modules|dist|\.next)[\\/]/.test(path))
    .filter((path) => /\.(?:m?js|tsx?)$/.test(path) && !/\.test\.tsx?$/.test(path))
    .map((path) => join("examples", path))
  assert.isAbove(files.length, 30)
  assert.deepStrictEqual(
    files.filter((path) => lines(path) >= 100),
    []
  )
})
