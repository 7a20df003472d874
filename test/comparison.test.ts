/** The page of the comparison tells what `npm run compare` found, of the programs as they are. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { linesOf, readResults, sentenceOf, tablesOf, titles, withTables } from "../scripts/compare/Results.ts"

const root = join(import.meta.dirname, "..")
const page = readFileSync(join(root, "docs/comparison.md"), "utf8")
const results = readResults()

describe("the comparison", () => {
  it("has the tables of its results", () => {
    assert.strictEqual(withTables(page, tablesOf(results)), page)
    for (const [name, table] of Object.entries(tablesOf(results))) assert.include(page, table, name)
  })

  it("counts the lines of the programs that stand there", () => {
    for (const application of Object.keys(titles)) {
      for (const [name, { lines }] of Object.entries(results.applications[application] ?? {})) {
        assert.strictEqual(lines, linesOf(application, name), `${application} with ${name}: npm run compare`)
      }
    }
    assert.sameMembers(Object.keys(results.applications), Object.keys(titles))
  })

  it("has its totals in the README", () => {
    assert.include(readFileSync(join(root, "README.md"), "utf8"), sentenceOf(results))
  })
})
