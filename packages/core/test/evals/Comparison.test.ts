/** Results of many cases: summaries of variants, and what is said of two of them. */
import { type CaseResult, compare, failedResult, summarize } from "@colloquy/core/evals"
import { assert, describe, it } from "@effect/vitest"

const result = (variant: string, place: number, passed: boolean, fields: Partial<CaseResult> = {}): CaseResult => ({
  caseId: `c${place}`,
  caseName: `case ${place}`,
  tags: [],
  variant,
  repeat: 0,
  passed,
  scores: [{ scorer: "contains", expected: "contains x", value: Number(passed), passed, reason: "It says y." }],
  error: null,
  content: "y",
  provider: "p",
  model: "m",
  assistantVersion: 1,
  promptHash: null,
  costUsd: 0.01,
  millis: 100,
  tokens: 20,
  ...fields
})

/** A variant that passes the cases named. */
const variant = (name: string, count: number, passes: (place: number) => boolean) =>
  Array.from({ length: count }, (_, place) => result(name, place, passes(place)))

describe("a comparison", () => {
  it("says what is likely not chance, and names the cases", () => {
    // 30 cases: better in 14, worse in 3.
    const results = [
      ...variant("old", 30, (place) => place >= 14 && place < 20),
      ...variant("new", 30, (place) => place < 17)
    ]
    const found = compare(results, { before: "old", after: "new" })
    assert.strictEqual(
      found.words,
      '"new" is better than "old" in 14, worse in 3 of 30 cases, likely not chance (p = 0.013).'
    )
    assert.strictEqual(found.judgement, "better")
    assert.deepStrictEqual(
      found.worse.map(({ caseName, reasons }) => [caseName, reasons]),
      [17, 18, 19].map((place) => [`case ${place}`, ["contains x: It says y."]])
    )
    assert.closeTo(found.passRate?.mean ?? 0, 11 / 30, 1e-12)
    assert.isAbove(found.passRate?.interval.low ?? 0, 0)
    const back = compare(results, { before: "new", after: "old" })
    assert.strictEqual(back.judgement, "worse")
    assert.closeTo(back.probability, found.probability, 1e-15)
  })

  it("says what may be chance, what is the same, and what cannot be compared", () => {
    const few = [...variant("old", 5, (place) => place > 2), ...variant("new", 5, () => true)]
    assert.strictEqual(
      compare(few, { before: "old", after: "new" }).words,
      '"new" is better than "old" in 3, worse in 0 of 5 cases, which may be chance (p = 0.25).'
    )
    assert.strictEqual(compare(few, { before: "new", after: "new" }).judgement, "same")
    assert.strictEqual(compare(few, { before: "new", after: "none" }).judgement, "not comparable")
  })

  it("counts a case once, however often it was tried, and leaves out cases of one side", () => {
    const results = [
      result("old", 0, true),
      result("old", 0, false, { repeat: 1 }),
      result("new", 0, true),
      result("new", 0, true, { repeat: 1 }),
      result("new", 1, true)
    ]
    const found = compare(results, { before: "old", after: "new" })
    assert.deepStrictEqual([found.cases, found.better.length, found.unpaired], [1, 1, ["case 1"]])
    assert.strictEqual(found.better[0]?.before, 0.5)
  })

  it("sets cost and time side by side, of cases where both are known", () => {
    const found = compare(
      [
        result("old", 0, true, { costUsd: 0.03, millis: 300 }),
        result("new", 0, true, { costUsd: 0.01, millis: 100 }),
        result("old", 1, true, { costUsd: null }),
        { ...result("new", 1, false), ...failedResult(result("new", 1, false), "no model") }
      ],
      { before: "old", after: "new" }
    )
    assert.closeTo(found.costUsd?.mean ?? 0, -0.02, 1e-12)
    assert.strictEqual(found.millis?.mean, -200)
  })
})

describe("a summary", () => {
  it("has pass rates with intervals, costs, times, and the worst cases first", () => {
    const results = [
      ...Array.from({ length: 10 }, (_, place) => result("a", place, place !== 3, { millis: (place + 1) * 10 })),
      result("a", 3, false, { repeat: 1, costUsd: null }),
      { ...failedResult(result("a", 10, false), "The model could not be reached."), variant: "a" }
    ]
    const [found, ...others] = summarize(results)
    assert.deepStrictEqual(others, [])
    assert.deepInclude(found, {
      variant: "a",
      cases: 11,
      attempts: 12,
      passed: 9,
      passRate: 0.75,
      attemptsWithoutCost: 2
    })
    assert.deepStrictEqual(
      found?.worst.map(({ attempts, caseName, passed, reasons }) => [caseName, passed, attempts, reasons]),
      [
        ["case 10", 0, 1, ["The model could not be reached."]],
        ["case 3", 0, 2, ["contains x: It says y."]]
      ]
    )
    assert.deepStrictEqual(found?.scorers, [{ scorer: "contains", scores: 11, passed: 9, mean: 9 / 11 }])
    assert.closeTo(found?.costUsd ?? 0, 0.1, 1e-12)
    assert.strictEqual(found?.medianMillis, 60)
  })

  it("is no more certain because cases were tried again", () => {
    const once = variant("a", 20, (place) => place < 15)
    const again = Array.from({ length: 5 }, (_, repeat) => once.map((each) => ({ ...each, repeat }))).flat()
    assert.deepStrictEqual(summarize(again)[0]?.interval, summarize(once)[0]?.interval)
  })
})
