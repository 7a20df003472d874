/** What a server writes into the code of an error reaches nobody unless it is a documented word. */
import { ModelError } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Anthropic from "../../src/protocols/AnthropicErrors.ts"
import * as Gemini from "../../src/protocols/GeminiErrors.ts"
import * as OpenAi from "../../src/protocols/OpenAiErrors.ts"

const key = "sk-live-0123456789abcdef"

const withCode = (code: unknown) => ({
  error: { code, type: code, status: code, message: `your key ${key}`, details: { error_code: code } }
})

const dialects = { OpenAi, Anthropic, Gemini }

describe.each(Object.entries(dialects))("a code of %s", (_name, { toFault }) => {
  it.each([key, "AKIA1234567890", "hunter2", "invalid_api_key_sk-1", "tenant/42", "1234567", ""])(
    "%s stays here",
    (code) => {
      for (const status of [400, 401, null]) {
        const fault = toFault(status, withCode(code))
        assert.isUndefined(fault.code)
        const { message } = new ModelError({ provider: "p", model: "m", ...fault })
        assert.isTrue(code === "" || !message.includes(code), message)
      }
    }
  )
})

describe("a documented code", () => {
  it("is told", () => {
    assert.strictEqual(
      OpenAi.toFault(400, { error: { code: "context_length_exceeded" } }).code,
      "context_length_exceeded"
    )
    assert.strictEqual(OpenAi.toFault(null, { error: { code: 502 } }).code, "502")
    assert.strictEqual(Anthropic.toFault(529, { error: { type: "overloaded_error" } }).code, "overloaded_error")
    assert.strictEqual(Gemini.toFault(429, { error: { status: "RESOURCE_EXHAUSTED" } }).code, "RESOURCE_EXHAUSTED")
  })
})
