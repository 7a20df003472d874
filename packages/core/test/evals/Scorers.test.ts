/** Scores of expectations that need no model. */
import { type JudgedTurn, type PlainExpectation, scorePlain } from "@colloquy/core/evals"
import { noUsage } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"

const turn: JudgedTurn = {
  question: "Do I need an umbrella in Oslo?",
  content: "Take an umbrella: it rains in Oslo.",
  output: null,
  status: "COMPLETED",
  fault: null,
  stopReason: "stop",
  toolCalls: [{ name: "weather", arguments: '{"city":"Oslo","days":[1,2],"units":{"rain":"mm"}}', result: "rain" }],
  retrieved: [
    { documentId: "d1", filename: "weather.md" },
    { documentId: "d2", filename: "other.md" }
  ],
  cited: [{ documentId: "d1", filename: "weather.md" }],
  usage: { ...noUsage, inputTokens: 90, outputTokens: 10 },
  costUsd: 0.02,
  millis: 1500,
  provider: "p",
  model: "m",
  assistantVersion: 1,
  promptHash: null
}

const passes = (expectation: PlainExpectation, fields: Partial<JudgedTurn> = {}): boolean =>
  scorePlain(expectation, { ...turn, ...fields }).passed

describe("a score", () => {
  it("of texts", () => {
    assert.isTrue(passes({ kind: "contains", text: "umbrella" }))
    assert.isFalse(passes({ kind: "contains", text: "oslo" }))
    assert.isTrue(passes({ kind: "contains", text: "oslo", ignore_case: true }))
    assert.isFalse(passes({ kind: "contains", text: "rain", not: true }))
    assert.isTrue(passes({ kind: "contains", text: "snow", not: true }))
    assert.isTrue(passes({ kind: "matches", pattern: "^Take .*\\.$" }))
    assert.isFalse(passes({ kind: "matches", pattern: "^[0-9]" }))
    const endless = { kind: "matches", pattern: "(a|b){0,200}z", not: true } as const
    assert.isFalse(passes(endless, { content: "ab".repeat(500_000) }))
    assert.isTrue(passes({ kind: "equals", text: "  yes\n" }, { content: "yes" }))
    assert.isFalse(passes({ kind: "equals", text: "yes" }, { content: "yes." }))
  })

  it("tells what was expected and what was there", () => {
    assert.deepStrictEqual(scorePlain({ kind: "contains", text: "snow" }, turn), {
      scorer: "contains",
      expected: 'contains "snow"',
      value: 0,
      passed: false,
      reason: 'The answer is: "Take an umbrella: it rains in Oslo."'
    })
  })

  it("of values", () => {
    const schema = { type: "object", properties: { rain: { type: "boolean" } }, required: ["rain"] }
    assert.isTrue(passes({ kind: "json_schema", schema }, { output: { rain: true } }))
    assert.isTrue(passes({ kind: "json_schema", schema }, { content: ' {"rain": false} ' }))
    assert.isFalse(passes({ kind: "json_schema", schema }))
    const score = scorePlain({ kind: "json_schema", schema }, { ...turn, output: { rain: 1 } })
    assert.isFalse(score.passed)
    assert.strictEqual(score.reason, "rain must be a boolean, and is an integer")
  })

  it("of calls, whose arguments may have more than what is wanted", () => {
    assert.isTrue(passes({ kind: "calls", tool: "weather" }))
    assert.isTrue(passes({ kind: "calls", tool: "weather", arguments: { city: "Oslo", units: {} } }))
    assert.isTrue(passes({ kind: "calls", tool: "weather", arguments: { days: [1, 2] } }))
    assert.isFalse(passes({ kind: "calls", tool: "weather", arguments: { days: [1] } }))
    assert.isFalse(passes({ kind: "calls", tool: "weather", arguments: { city: "Bergen" } }))
    assert.isFalse(passes({ kind: "calls", tool: "weather", arguments: { toString: null } }))
    assert.isFalse(passes({ kind: "calls", tool: "pay" }))
    assert.isFalse(passes({ kind: "calls", tool: "weather", arguments: {} }, { toolCalls: [] }))
    const broken = [{ name: "weather", arguments: "{", result: null }]
    assert.isTrue(passes({ kind: "calls", tool: "weather" }, { toolCalls: broken }))
    assert.isFalse(passes({ kind: "calls", tool: "weather", arguments: {} }, { toolCalls: broken }))
    assert.isFalse(passes({ kind: "calls_none" }))
    assert.isTrue(passes({ kind: "calls_none", tool: "pay" }))
    assert.isTrue(passes({ kind: "calls_none" }, { toolCalls: [] }))
  })

  it("of refusals: by words at the beginning, by a filter, by a guard", () => {
    assert.isFalse(passes({ kind: "refuses" }))
    assert.isTrue(passes({ kind: "refuses", not: true }))
    assert.isTrue(passes({ kind: "refuses" }, { content: "Sorry, I can’t help with that." }))
    assert.isFalse(passes({ kind: "refuses" }, { content: `${"Yes. ".repeat(100)} I can't say more.` }))
    assert.isTrue(passes({ kind: "refuses", phrases: ["leider"] }, { content: "Das geht leider nicht." }))
    assert.isTrue(passes({ kind: "refuses" }, { stopReason: "filtered" }))
    const fault = { code: "review_stopped", message: "Not this.", retryable: false }
    assert.isTrue(passes({ kind: "refuses" }, { status: "FAILED", fault, content: "" }))
    assert.isFalse(passes({ kind: "refuses", not: true }, { status: "FAILED", fault, content: "" }))
  })

  it("of documents", () => {
    assert.isTrue(passes({ kind: "cites", filename: "weather.md" }))
    assert.isTrue(passes({ kind: "cites", document_id: "d1" }))
    assert.isFalse(passes({ kind: "cites", document_id: "d2" }))
    assert.isTrue(passes({ kind: "cites", document_id: "d2", not: true }))
    const unasked = scorePlain({ kind: "cites", document_id: "d1" }, { ...turn, cited: null })
    assert.isFalse(unasked.passed)
    assert.include(unasked.reason, "not asked to cite")
  })

  it("of limits, which include themselves; the value tells how far above", () => {
    assert.isTrue(passes({ kind: "time_under", ms: 1500 }))
    assert.isTrue(passes({ kind: "tokens_under", tokens: 100 }))
    assert.isTrue(passes({ kind: "cost_under", usd: 0.02 }))
    const slow = scorePlain({ kind: "time_under", ms: 750 }, turn)
    assert.deepStrictEqual([slow.passed, slow.value], [false, 0.5])
    assert.isFalse(passes({ kind: "cost_under", usd: 1 }, { costUsd: null }))
    assert.isTrue(passes({ kind: "cost_under", usd: 0 }, { costUsd: 0 }))
  })

  it("is never passed by an answer that failed, whatever it had said or must not say", () => {
    const fault = { code: "timeout", message: "The model fell silent.", retryable: true }
    const failed = { status: "FAILED", fault } as const
    assert.isFalse(passes({ kind: "contains", text: "umbrella" }, failed))
    assert.isFalse(passes({ kind: "contains", text: "snow", not: true }, failed))
    assert.isFalse(passes({ kind: "refuses" }, failed))
    assert.isFalse(passes({ kind: "time_under", ms: 9000 }, { status: "CANCELLED" }))
    assert.include(scorePlain({ kind: "calls_none" }, { ...turn, ...failed }).reason, "timeout")
  })
})
