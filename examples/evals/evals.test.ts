/** The same cases as a unit test: the two variants that are good pass, the third one is caught, and the comparison names what it broke. */
import { evaluate, readCases } from "colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { readFile } from "node:fs/promises"
import { openShop, variants } from "./shop.ts"

describe("the assistant of the shop", () => {
  it("answers its cases, and a change that loses a rule is caught", async () => {
    const cases = readCases(await readFile(new URL("cases.jsonl", import.meta.url), "utf8"))
    const kernel = await openShop()
    const evaluation = await evaluate(cases, { kernel, variants })
    await kernel.close()

    assert.deepStrictEqual(
      evaluation.variants.map(({ cases: count, passed, variant }) => [variant, passed, count]),
      [
        ["now", 29, 30],
        ["short", 29, 30],
        ["warm", 17, 30]
      ]
    )
    const { passed, reasons } = evaluation.gate({ min: 0.9, baseline: "now" })
    assert.isFalse(passed)
    assert.deepStrictEqual(reasons, [
      '"warm" passes 17 of 30 (56.6 %); 90 % is needed.',
      '"warm" is better than "now" in 0, worse in 12 of 30 cases, likely not chance (p = 5e-4).'
    ])
    const { worse } = evaluation.compare("now", "warm")
    assert.isTrue(worse.every(({ caseName }) => caseName.startsWith("order ")))
    assert.strictEqual(evaluation.compare("now", "short").judgement, "same")
  })
})
