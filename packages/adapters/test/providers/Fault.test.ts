/** The facts on errors that all vendors share. */
import * as Anthropic from "../../src/protocols/AnthropicErrors.ts"
import * as Gemini from "../../src/protocols/GeminiErrors.ts"
import * as OpenAi from "../../src/protocols/OpenAiErrors.ts"
import { assert, describe, it } from "@effect/vitest"
import { faultOfStatus, machineCode, retryHeaders, sentenceInEvent } from "../../src/protocols/Fault.ts"

const now = Date.parse("2026-11-21T10:00:00Z")

describe("retryHeaders", () => {
  const cases: ReadonlyArray<readonly [headers: Record<string, string>, expected: object]> = [
    [{}, {}],
    [{ "retry-after-ms": "1500", "retry-after": "9" }, { retryAfterMillis: 1500 }],
    [{ "retry-after": "2" }, { retryAfterMillis: 2000 }],
    [{ "retry-after": "0.5" }, { retryAfterMillis: 500 }],
    [{ "retry-after": "Sat, 21 Nov 2026 10:00:30 GMT" }, { retryAfterMillis: 30_000 }],
    [{ "retry-after": "Sat, 21 Nov 2026 09:00:00 GMT" }, { retryAfterMillis: 0 }],
    [{ "retry-after": "soon", "retry-after-ms": "-1" }, {}],
    [{ "retry-after": "9".repeat(400) }, {}],
    [{ "x-should-retry": "true" }, { shouldRetry: true }],
    [
      { "x-should-retry": "false", "retry-after": "1" },
      { retryAfterMillis: 1000, shouldRetry: false }
    ],
    [{ "x-should-retry": "maybe" }, {}]
  ]
  for (const [headers, expected] of cases) {
    it(`${JSON.stringify(headers)} means ${JSON.stringify(expected)}`, () =>
      assert.deepStrictEqual(retryHeaders(new Headers(headers), now), expected))
  }
})

describe("faultOfStatus", () => {
  it("knows the statuses of the table and guesses the rest", () => {
    const reasons = [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 524, 529, 307, 418].map(
      (status) => faultOfStatus(status).reason
    )
    assert.deepStrictEqual(reasons, [
      "invalid_request",
      "auth",
      "quota",
      "auth",
      "model_not_found",
      "timeout",
      "context_too_long",
      "invalid_request",
      "rate_limited",
      "overloaded",
      "overloaded",
      "overloaded",
      "timeout",
      "timeout",
      "overloaded",
      "unknown",
      "unknown"
    ])
    assert.isTrue(faultOfStatus(409).shouldRetry)
  })
})

describe("machineCode", () => {
  it("takes words and numbers, and nothing that could be a sentence", () => {
    assert.deepStrictEqual(machineCode("context_length_exceeded"), { code: "context_length_exceeded" })
    assert.deepStrictEqual(machineCode(429), { code: "429" })
    for (const value of ["the key sk-1 is wrong", "", "x".repeat(65), null, {}, undefined])
      assert.deepStrictEqual(machineCode(value), {})
  })

  it("lets no vendor's error pass a key on, wherever it stands", () => {
    const key = "sk-live-1234567890abcdef"
    const bodies = [
      { error: { code: key, type: key, status: key, message: key, details: { error_code: key } } },
      { error: { code: null, type: key, metadata: { error_type: key } }, code: key },
      { error: key },
      [{ error: { status: key } }]
    ]
    for (const read of [OpenAi.toFault, Anthropic.toFault, Gemini.toFault])
      for (const body of bodies)
        for (const status of [400, 401, 500, null]) assert.notInclude(JSON.stringify(read(status, body)), key)
  })
})

describe("the sentence of an error inside of an answer", () => {
  const message = "The node is down"
  const cases: ReadonlyArray<readonly [event: unknown, sentence: string]> = [
    [{ type: "error", error: { type: "overloaded_error", message } }, message],
    [{ type: "error", code: "server_error", message }, message],
    [{ type: "response.failed", response: { status: "failed", error: { code: "server_error", message } } }, message],
    [[{ error: { code: 503, message, status: "UNAVAILABLE" } }], message],
    [{ type: "message", message: "words of an answer", error: null }, ""],
    [{ choices: [{ message: { content: "words of an answer" } }] }, ""],
    ["words", ""],
    [undefined, ""]
  ]
  it.each(cases)("%j", (event, sentence) => assert.strictEqual(sentenceInEvent(event), sentence))
})
