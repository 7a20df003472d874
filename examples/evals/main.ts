/** Thirty cases, three variants, and a gate: what a build server runs before a change of the instructions is merged. */
import { evaluate, readCases, toJUnit, toMarkdown } from "colloquy/testing"
import { readFile, writeFile } from "node:fs/promises"
import { openShop, variants } from "./shop.ts"

const cases = readCases(await readFile(new URL("cases.jsonl", import.meta.url), "utf8"))
const kernel = await openShop()
const evaluation = await evaluate(cases, { kernel, variants })
await kernel.close()

const gate = evaluation.gate({ min: 0.9, baseline: "now" })
console.log(toMarkdown(gate))
const [, , junit] = process.argv
if (junit !== undefined) await writeFile(junit, toJUnit(gate))
process.exitCode = gate.passed ? 0 : 1
