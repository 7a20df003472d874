/** Expectations as others write them: what is read, and what is refused with its place. */
import { describeExpectation, type Expectation, Expectations } from "@colloquy/core/evals"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

const decode = Schema.decodeUnknownResult(Expectations, { errors: "all", onExcessProperty: "error" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** Where the problems are, as `place.place`. */
const problemPlaces = (given: unknown): ReadonlyArray<string> =>
  Result.match(decode(given), {
    onSuccess: () => [],
    onFailure: ({ issue }) => format(issue).issues.map(({ path = [] }) => path.map(String).join("."))
  })

describe("expectations", () => {
  it("are read in every kind, and told in words", () => {
    const given: ReadonlyArray<Expectation> = [
      { kind: "contains", text: "Oslo", ignore_case: true },
      { kind: "contains", text: "sorry", not: true },
      { kind: "matches", pattern: "^[0-9]+$" },
      { kind: "equals", text: "" },
      { kind: "json_schema", schema: { type: "object" } },
      { kind: "calls", tool: "weather", arguments: { city: "Oslo" } },
      { kind: "calls_none" },
      { kind: "calls_none", tool: "pay" },
      { kind: "refuses" },
      { kind: "cites", filename: "terms.pdf" },
      { kind: "cost_under", usd: 0.01 },
      { kind: "time_under", ms: 2000 },
      { kind: "tokens_under", tokens: 500 },
      { kind: "judge", question: "Is it polite?" },
      { kind: "similar", text: "It rains." },
      { kind: "custom", name: "rhymes", settings: { lines: 2 } }
    ]
    const read = Result.getOrThrow(decode(given))
    assert.deepStrictEqual(read, given)
    assert.deepStrictEqual(read.map(describeExpectation), [
      'contains "Oslo"',
      'does not contain "sorry"',
      "matches ^[0-9]+$",
      'equals ""',
      "fits a JSON Schema",
      'calls weather with {"city":"Oslo"}',
      "calls no tool",
      "calls no pay",
      "refuses",
      "cites terms.pdf",
      "costs at most 0.01 USD",
      "takes at most 2000 ms",
      "uses at most 500 tokens",
      "Is it polite? yes",
      'is similar to "It rains."',
      "rhymes"
    ])
  })

  it("are told in short, whatever the characters of their texts", () => {
    const told = (text: string) => describeExpectation({ kind: "contains", text })
    assert.strictEqual(told("😀".repeat(80)), `contains "${"😀".repeat(80)}"`)
    assert.strictEqual(told("😀".repeat(81)), `contains "${"😀".repeat(79)}…"`)
    assert.strictEqual(told(`a${"😀".repeat(200)}`), `contains "a${"😀".repeat(78)}…"`)
  })

  it("are refused with every place", () => {
    assert.deepStrictEqual(
      problemPlaces([
        { kind: "contains", text: "" },
        { kind: "matches", pattern: "(a)\\1" },
        { kind: "json_schema", schema: { type: "object", properties: { a: { not: {} } } } },
        { kind: "cites" },
        { kind: "judge", question: "Which?", options: ["a", "b"], expected: "c" },
        { kind: "cost_under", usd: -1 },
        { kind: "judge", question: "Polite?", at_least: 2 },
        { kind: "contains", text: "a", weight: 2 }
      ]),
      ["0.text", "1.pattern", "2.schema.properties.a.not", "3", "4.expected", "5.usd", "6.at_least", "7.weight"]
    )
    assert.deepStrictEqual(problemPlaces([{ kind: "unknown" }]).length, 1)
  })

  it("refuse arguments that are nested without end", () => {
    let deep: Schema.Json = {}
    for (let level = 0; level < 60; level++) deep = { deep }
    assert.deepStrictEqual(problemPlaces([{ kind: "calls", tool: "t", arguments: deep }]), ["0.arguments"])
  })
})
