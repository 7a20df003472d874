/**
 * The fake vendors against the official client libraries: what a vendor's own client understands is the vendor's wire, and not only our
 * idea of it. Both hear the same bytes as our drivers do in `ChatProviders.integration.test.ts`.
 */
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { type Content, GoogleGenAI } from "@google/genai"
import * as Effect from "effect/Effect"
import { currentHeaders } from "../../src/providers/Anthropic.ts"
import * as FakeVendor from "./FakeVendor.ts"
import type { RefusedWith, Said } from "@colloquy/testing/contracts"
import { model, usage } from "./Scenarios.ts"
import { anthropic } from "./vendors/Anthropic.ts"
import { gemini } from "./vendors/Gemini.ts"
import type { Vendor } from "./Vendor.ts"

const timeTool = { name: "get_time", parameters: { type: "object" as const, properties: { zone: { type: "string" } } } }

const twoCalls: ReadonlyArray<Said> = [
  { reasoning: "Two " },
  { reasoning: "zones." },
  { text: "Let me look: 🌍" },
  { call: { slot: 0, id: "call_1", name: "get_time" } },
  { call: { slot: 1, id: "call_2", name: "get_time" } },
  { arguments: { slot: 0, text: '{"zone":' } },
  { arguments: { slot: 1, text: '{"zone":"CET"' } },
  { arguments: { slot: 0, text: '"UTC"}' } },
  { arguments: { slot: 1, text: "}" } },
  { finish: "tool_calls", usage }
]

const answer: ReadonlyArray<Said> = [{ text: "It is " }, { text: "ten." }, { finish: "stop", usage }]

const refuse = (vendor: Vendor, reason: RefusedWith): FakeVendor.Reply => {
  const { status, body } = vendor.refuse(reason)
  return FakeVendor.json(body, status, { "x-should-retry": "false" })
}

describe("Anthropic's client", () => {
  const setUp = Effect.map(FakeVendor.make, (fake) => ({
    fake,
    client: new Anthropic({ apiKey: "sk-1", baseURL: fake.baseUrl, maxRetries: 0 })
  }))
  const params = {
    model,
    max_tokens: 1000,
    tools: [{ name: timeTool.name, input_schema: timeTool.parameters }],
    messages: [{ role: "user" as const, content: "What time is it?" }]
  }

  it.live("hears thinking, text and two calls, and answers them", () =>
    Effect.gen(function* () {
      const { fake, client } = yield* setUp
      fake.script(anthropic.path, FakeVendor.sse(anthropic.render(twoCalls)), FakeVendor.sse(anthropic.render(answer)))
      const first = yield* Effect.promise(() => client.messages.stream(params).finalMessage())
      assert.deepStrictEqual(
        first.content.map(({ type }) => type),
        ["thinking", "text", "tool_use", "tool_use"]
      )
      assert.deepInclude(first.content[0], { thinking: "Two zones.", signature: "c2ln" })
      assert.deepInclude(first.content[1], { text: "Let me look: 🌍" })
      assert.deepInclude(first.content[2], { id: "call_1", input: { zone: "UTC" } })
      assert.deepInclude(first.content[3], { id: "call_2", input: { zone: "CET" } })
      assert.strictEqual(first.stop_reason, "tool_use")
      assert.deepInclude(first.usage, { input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 7 })
      const results = ["call_1", "call_2"].map((tool_use_id) => ({
        type: "tool_result" as const,
        tool_use_id,
        content: "10:00"
      }))
      const messages = [
        ...params.messages,
        { role: "assistant" as const, content: first.content },
        { role: "user" as const, content: results }
      ]
      const second = yield* Effect.promise(() => client.messages.stream({ ...params, messages }).finalText())
      assert.strictEqual(second, "It is ten.")
      assert.strictEqual(fake.requests[0]?.headers["anthropic-version"], currentHeaders.version)
      assert.strictEqual(fake.requests[0]?.headers.authorization, "Bearer sk-1")
    })
  )

  it.live("knows the errors, before the answer and inside it", () =>
    Effect.gen(function* () {
      const { fake, client } = yield* setUp
      const errors = [
        ["rate_limited", Anthropic.RateLimitError],
        ["overloaded", Anthropic.InternalServerError],
        ["auth", Anthropic.AuthenticationError],
        ["context_too_long", Anthropic.BadRequestError],
        ["model_not_found", Anthropic.NotFoundError]
      ] as const
      for (const [reason, kind] of errors) {
        fake.script(anthropic.path, refuse(anthropic, reason))
        const error = yield* FakeVendor.failureFrom(() => client.messages.create(params))
        assert.instanceOf(error, kind, reason)
      }
      fake.script(anthropic.path, FakeVendor.sse(anthropic.render([{ text: "Goo" }, { error: "overloaded" }])))
      const inside = yield* FakeVendor.failureFrom(() => client.messages.stream(params).finalMessage())
      assert.instanceOf(inside, Anthropic.APIError)
      fake.script(anthropic.path, FakeVendor.sse(anthropic.render([{ text: "Goo" }])))
      yield* FakeVendor.failureFrom(() => client.messages.stream(params).finalMessage())
    })
  )
})

describe("Google's client", () => {
  const setUp = Effect.map(FakeVendor.make, (fake) => ({
    fake,
    client: new GoogleGenAI({
      apiKey: "sk-1",
      vertexai: false,
      apiVersion: "v1beta",
      httpOptions: { baseUrl: fake.baseUrl }
    })
  }))
  const question: Content = { role: "user", parts: [{ text: "What time is it?" }] }
  const config = {
    tools: [{ functionDeclarations: [{ name: timeTool.name, parametersJsonSchema: timeTool.parameters }] }]
  }

  it.live("hears thoughts, text and two calls, and answers them", () =>
    Effect.gen(function* () {
      const { fake, client } = yield* setUp
      fake.script(gemini.path, FakeVendor.sse(gemini.render(twoCalls)), FakeVendor.sse(gemini.render(answer)))
      const ask = (contents: Array<Content>) =>
        Effect.promise(async () => {
          const chunks = []
          for await (const chunk of await client.models.generateContentStream({ model, contents, config })) {
            chunks.push(chunk)
          }
          return chunks
        })
      const first = yield* ask([question])
      const parts = first.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? [])
      assert.strictEqual(parts.flatMap((part) => (part.thought ? [part.text] : [])).join(""), "Two zones.")
      assert.strictEqual(parts.flatMap((part) => (part.thought ? [] : [part.text ?? ""])).join(""), "Let me look: 🌍")
      assert.deepStrictEqual(
        first.flatMap((chunk) => chunk.functionCalls ?? []).map(({ id, args }) => [id, args]),
        [
          ["call_1", { zone: "UTC" }],
          ["call_2", { zone: "CET" }]
        ]
      )
      assert.deepInclude(first.at(-1)?.usageMetadata, { promptTokenCount: 12, thoughtsTokenCount: 3 })
      assert.strictEqual(first.at(-1)?.candidates?.[0]?.finishReason, "STOP")
      const results = ["call_1", "call_2"].map((id) => ({
        functionResponse: { id, name: timeTool.name, response: { output: "10:00" } }
      }))
      const second = yield* ask([question, { role: "model", parts }, { role: "user", parts: results }])
      assert.strictEqual(second.map((chunk) => chunk.text ?? "").join(""), "It is ten.")
      assert.strictEqual(fake.requests[0]?.headers["x-goog-api-key"], "sk-1")
    })
  )

  it.live("knows the errors", () =>
    Effect.gen(function* () {
      const { fake, client } = yield* setUp
      const errors = [
        ["rate_limited", 429],
        ["auth", 400],
        ["model_not_found", 404]
      ] as const
      for (const [reason, status] of errors) {
        fake.script(gemini.path, refuse(gemini, reason))
        const asked = () => client.models.generateContentStream({ model, contents: [question], config })
        const error = yield* FakeVendor.failureFrom(asked)
        assert.propertyVal(error, "status", status)
      }
    })
  )
})
