/** The pure parts of the room for tests: expectations as forms and in words, and the matrix of an experiment. */
import { assert, describe, it } from "@effect/vitest"
import { expectationFields, expectationWords, kinds, toExpectation } from "../src/page/lib/expectations.ts"
import { matrixRows } from "../src/page/lib/matrix.ts"
import { readForm } from "../src/page/lib/schema.ts"
import type { AttemptResult, Expectation } from "../src/page/wire.ts"

const whole: ReadonlyArray<Expectation> = [
  { kind: "contains", text: "Friday", ignore_case: true },
  { kind: "matches", pattern: "A-\\d+", not: true },
  { kind: "equals", text: "yes" },
  { kind: "json_schema", schema: { type: "object" } },
  { kind: "calls", tool: "order_status", arguments: { order: "A-17" } },
  { kind: "calls_none" },
  { kind: "refuses", phrases: ["I cannot", "I will not"] },
  { kind: "cites", filename: "returns.pdf" },
  { kind: "judge", question: "Is it kind?", options: ["yes", "no"], at_least: 0.9 },
  { kind: "similar", text: "It comes on Friday.", at_least: 0.7 },
  { kind: "cost_under", usd: 0.01 },
  { kind: "time_under", ms: 400 },
  { kind: "tokens_under", tokens: 500 },
  { kind: "custom", name: "short", settings: { most: 3 }, at_least: 0.5 }
]

describe("expectations", () => {
  it("are the same after their form, whatever their kind", () => {
    assert.sameMembers(
      whole.map(({ kind }) => kind),
      Object.keys(kinds)
    )
    for (const expectation of whole) {
      const { problems, values } = readForm(expectationFields(expectation), {})
      assert.deepStrictEqual(problems, [], expectation.kind)
      assert.deepStrictEqual(toExpectation(expectation.kind, values), expectation)
    }
  })

  it("tell what is missing, and leave out what is empty", () => {
    assert.deepStrictEqual(readForm(expectationFields({ kind: "contains" }), {}).problems, ["“Text” is missing."])
    const { values } = readForm(expectationFields({ kind: "refuses" }), { phrases: "no\n\n never " })
    assert.deepStrictEqual(toExpectation("refuses", values), { kind: "refuses", phrases: ["no", "never"] })
  })

  it("are told in words, also those of a newer server", () => {
    assert.deepStrictEqual(
      [...whole.slice(0, 2), ...whole.slice(10, 12), { kind: "sings_well", key: "C" }].map(expectationWords),
      [
        "contains a text “Friday”",
        "not: matches a pattern “A-\\d+”",
        "costs less than 0.01 dollars",
        "takes less time than 400 milliseconds",
        "sings well “C”"
      ]
    )
  })
})

const attempt = (name: string, variant: string, passed: boolean, more: Partial<AttemptResult> = {}): AttemptResult => ({
  number: 0,
  case_id: name,
  name,
  variant,
  repeat: 0,
  passed,
  scores: [{ scorer: "contains", expected: "", value: passed ? 1 : 0, passed, reason: "" }],
  error: null,
  content: "",
  tool_calls: [],
  model_name: null,
  cost_usd: null,
  ms: 100,
  tokens: 0,
  ...more
})

describe("the matrix", () => {
  it("has the worst case first, and in each cell what its attempts came to", () => {
    const rows = matrixRows([
      attempt("case 10", "now", true),
      attempt("case 10", "new", true),
      attempt("case 9", "now", true),
      attempt("case 9", "new", true),
      attempt("bad", "now", false),
      attempt("half", "now", true, { cost_usd: 0.02, ms: 300 }),
      attempt("half", "now", false, { repeat: 1, cost_usd: 0.04, ms: 100 })
    ])
    assert.deepStrictEqual(
      rows.map(({ name, share }) => [name, share]),
      [
        ["bad", 0],
        ["half", 0.5],
        ["case 9", 1],
        ["case 10", 1]
      ]
    )
    const { costUsd, millis, passed, score } = rows[1]?.cells.get("now") ?? assert.fail("no cell")
    assert.deepStrictEqual([passed, score, costUsd, millis], [1, 0.5, 0.03, 200])
    assert.isUndefined(rows[0]?.cells.get("new"))
  })
})
