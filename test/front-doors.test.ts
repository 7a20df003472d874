/** The protocols of other programs: each is a small translation at the edge, and core knows none of them. */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"

const root = join(import.meta.dirname, "..")
const filesIn = (folder: string): ReadonlyArray<string> => globSync(join(root, folder, "**/*.ts"))

/** Lines that are neither empty nor only a comment. */
const codeLines = (file: string): number =>
  readFileSync(file, "utf8")
    .replaceAll(/^[ ]*\/\*.*?\*\/[ ]*$/gmsu, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.trim().startsWith("//")).length

/** The lines of a folder, with its folders, without the files that are another thing. */
const linesIn = (folder: string, without: ReadonlyArray<string> = []): number =>
  filesIn(folder)
    .filter((file) => !without.includes(basename(file)))
    .reduce((sum, file) => sum + codeLines(file), 0)

describe("a front door", () => {
  it.each(["packages/http/src/ag-ui", "packages/http/src/mcp", "packages/ws/src/openai"])(
    "%s has less than 900 lines of ours",
    (folder) => {
      const lines = linesIn(folder)
      assert.isAbove(lines, 300, "they were counted")
      assert.isBelow(lines, 900)
    }
  )

  it("the client of MCP has less than 900 lines of ours, beside those that keep the access of owners", () => {
    const folder = "packages/adapters/src/mcp"
    const lines = linesIn(folder, ["Grants.ts", "OwnedServers.ts"])
    assert.isAbove(linesIn(folder) - lines, 300, "both were found")
    assert.isBelow(lines, 900)
  })
})

it("core has no word of a protocol", () => {
  const words = /openai|anthropic|ag-?ui|\bmcp\b|json-?rpc|event-stream|elicit|copilot|use-?chat|ai-sdk/iu
  const files = filesIn("packages/core/src")
  assert.isAbove(files.length, 300)
  assert.deepStrictEqual(
    files.filter((file) => words.test(readFileSync(file, "utf8"))),
    []
  )
})
