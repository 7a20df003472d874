/** The page of the comparison tells what `npm run compare` found, of the programs as they are. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import {
  programLines,
  readResults,
  resultTables,
  titles,
  totalsSentence,
  withTables
} from "../scripts/compare/Results.ts"

const root = join(import.meta.dirname, "..")
const read = (path: string) => readFileSync(join(root, path), "utf8")
const page = read("docs/comparison.md")
const readme = read("README.md")
const results = readResults()

describe("the comparison", () => {
  it("has the tables of its results", () => {
    assert.strictEqual(withTables(page, resultTables(results)), page)
    for (const [name, table] of Object.entries(resultTables(results))) assert.include(page, table, name)
  })

  it("counts the lines of the programs that stand there", () => {
    for (const application of Object.keys(titles)) {
      for (const [name, { lines }] of Object.entries(results.applications[application] ?? {})) {
        assert.strictEqual(lines, programLines(application, name), `${application} with ${name}: npm run compare`)
      }
    }
    assert.sameMembers(Object.keys(results.applications), Object.keys(titles))
  })

  it("has its totals in the README", () => {
    assert.include(readme, totalsSentence(results))
  })
})

describe("the README", () => {
  it("has no figure but those of files", () => {
    const { engines }: { readonly engines: { readonly node: string } } = JSON.parse(read("package.json"))
    const { peerDependencies }: { readonly peerDependencies: { readonly effect: string } } = JSON.parse(
      read("packages/core/package.json")
    )
    const oldest = /atLeast\(process\.version, "(\d+)\./u.exec(read("scripts/setup.mjs"))?.[1] ?? ""
    const known = [totalsSentence(results), results.date, engines.node, peerDependencies.effect, oldest]
    const figuresIn = (text: string) => text.match(/(?<![\w.-])\d+(?:\.\d+)*/gu) ?? []
    const sources = new Set(known.join(" ").match(/\d+(?:\.\d+)*/gu))
    // Of a version, the beginning is enough: "effect 4.1".
    const isKnown = (figure: string) => [...sources].some((each) => each === figure || each.startsWith(`${figure}.`))
    const prose = readme
      .replaceAll(/^```[\s\S]*?^```/gmu, "")
      .replaceAll(/`[^`]*`/gu, "")
      .replaceAll(/\]\([^)]*\)/gu, "]")
    const figures = figuresIn(prose)
    assert.isAbove(figures.length, 8)
    assert.deepStrictEqual(
      figures.filter((figure) => !isKnown(figure)),
      []
    )
  })

  it("has ticks with a page in its table of others, or a dash", () => {
    const rows = readme.match(/^\| [a-z].*\|$/gmu) ?? []
    assert.isAbove(rows.length, 8)
    for (const row of rows) {
      const cells = row.split("|").slice(2, -1)
      assert.lengthOf(cells, Object.keys(results.libraries).length, row)
      for (const cell of cells) assert.match(cell, /^ (?:\[(?:✓|\(✓\))\]\(\S+\)|–) $/u, row)
    }
  })
})
