/**
 * The fake OpenAI against the official client library, on both wires of conversations and for embeddings: what the vendor's own client
 * understands is the vendor's wire. It hears the same bytes as our drivers do.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import OpenAI from "openai"
import type { ResponseInput } from "openai/resources/responses/responses"
import { base64 } from "../../src/protocols/Wire.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as FakeVendor from "./FakeVendor.ts"
import type { RefusedWith, Said } from "@colloquy/testing/contracts"
import { model, usage } from "./Scenarios.ts"
import { openAi } from "./vendors/OpenAiChat.ts"
import { openAiResponses } from "./vendors/OpenAiResponses.ts"

const setUp = Effect.map(FakeVendor.make, (fake) => ({
  fake,
  client: new OpenAI({ apiKey: "sk-1", baseURL: `${fake.baseUrl}/v1`, maxRetries: 0 })
}))

const parameters = { type: "object", properties: { zone: { type: "string" } } }

const calls: ReadonlyArray<Said> = [
  { call: { slot: 0, id: "call_1", name: "get_time" } },
  { call: { slot: 1, id: "call_2", name: "get_time" } },
  { arguments: { slot: 0, text: '{"zone":' } },
  { arguments: { slot: 1, text: '{"zone":"CET"' } },
  { arguments: { slot: 0, text: '"UTC"}' } },
  { arguments: { slot: 1, text: "}" } },
  { finish: "tool_calls", usage }
]
const thinks: ReadonlyArray<Said> = [
  { reasoning: "Two " },
  { reasoning: "zones." },
  { text: "Let me look: 🌍" },
  ...calls
]
const says: ReadonlyArray<Said> = [{ text: "It is " }, { text: "ten." }, { finish: "stop", usage }]

const errors = [
  ["rate_limited", OpenAI.RateLimitError],
  ["overloaded", OpenAI.InternalServerError],
  ["auth", OpenAI.AuthenticationError],
  ["quota", OpenAI.RateLimitError],
  ["context_too_long", OpenAI.BadRequestError],
  ["model_not_found", OpenAI.NotFoundError]
] as const

const refusal = (reason: RefusedWith): FakeVendor.Reply => {
  const { status, body } = openAi.refuse(reason)
  return FakeVendor.json(body, status)
}

describe("OpenAI's client, Responses", () => {
  const tools = [{ type: "function" as const, name: "get_time", parameters, strict: false }]
  const input: ResponseInput = [{ role: "user", content: "What time is it?" }]

  it.live("hears reasoning, text and two calls, and answers them", () =>
    Effect.gen(function* () {
      const { fake, client } = yield* setUp
      const { path, render } = openAiResponses
      fake.script(path, FakeVendor.sse(render(thinks)), FakeVendor.sse(render(says)))
      const ask = (items: ResponseInput) =>
        Effect.promise(() => client.responses.stream({ model, tools, input: items }).finalResponse())
      const first = yield* ask(input)
      assert.deepStrictEqual(
        first.output.map(({ type }) => type),
        ["reasoning", "message", "function_call", "function_call"]
      )
      assert.deepInclude(first.output[0], { summary: [{ type: "summary_text", text: "Two zones." }] })
      assert.strictEqual(first.output_text, "Let me look: 🌍")
      assert.deepInclude(first.output[2], { call_id: "call_1", arguments: '{"zone":"UTC"}' })
      assert.deepInclude(first.output[3], { call_id: "call_2", arguments: '{"zone":"CET"}' })
      assert.deepInclude(first.usage, { input_tokens: 12, output_tokens: 7, total_tokens: 19 })
      const results = ["call_1", "call_2"].map((call_id) => ({
        type: "function_call_output" as const,
        call_id,
        output: "10:00"
      }))
      const second = yield* ask([...input, ...first.output, ...results] as ResponseInput)
      assert.strictEqual(second.output_text, "It is ten.")
    })
  )

  it.live("knows how an answer ends", () =>
    Effect.gen(function* () {
      const { fake, client } = yield* setUp
      const { path, render } = openAiResponses
      const ends = [
        [[{ text: "Once" }, { finish: "length", usage }], "max_output_tokens"],
        [[{ finish: "filtered", usage }], "content_filter"]
      ] as const
      for (const [said, reason] of ends) {
        fake.script(path, FakeVendor.sse(render(said)))
        const answer = yield* Effect.promise(() => client.responses.stream({ model, input }).finalResponse())
        assert.strictEqual(answer.incomplete_details?.reason, reason)
      }
      fake.script(path, FakeVendor.sse(render([{ refusal: "No." }, { finish: "filtered", usage }])))
      const refused = yield* Effect.promise(() => client.responses.stream({ model, input }).finalResponse())
      const [message] = refused.output
      assert.deepInclude(message?.type === "message" && message.content[0], { type: "refusal", refusal: "No." })
      fake.script(path, FakeVendor.sse(render([{ text: "Goo" }, { error: "overloaded" }])))
      const failed = yield* Effect.promise(async () => {
        const types = []
        for await (const event of await client.responses.create({ model, input, stream: true })) types.push(event.type)
        return types.at(-1)
      })
      assert.strictEqual(failed, "response.failed")
    })
  )

  it.live("knows the errors", () =>
    Effect.gen(function* () {
      const { fake, client } = yield* setUp
      for (const [reason, kind] of errors) {
        fake.script(openAiResponses.path, refusal(reason))
        const asked = () => client.responses.create({ model, input })
        assert.instanceOf(yield* FakeVendor.failureFrom(asked), kind, reason)
      }
    })
  )
})

describe("OpenAI's client, Chat Completions", () => {
  const messages = [{ role: "user" as const, content: "What time is it?" }]
  const tools = [{ type: "function" as const, function: { name: "get_time", parameters } }]

  it.live("hears text and two calls, and knows the errors", () =>
    Effect.gen(function* () {
      const { fake, client } = yield* setUp
      fake.script(openAi.path, FakeVendor.sse(openAi.render([{ text: "Let me look: 🌍" }, ...calls])))
      const answer = yield* Effect.promise(() =>
        client.chat.completions.stream({ model, messages, tools }).finalChatCompletion()
      )
      const [choice] = answer.choices
      assert.strictEqual(choice?.message.content, "Let me look: 🌍")
      assert.strictEqual(choice?.finish_reason, "tool_calls")
      assert.deepStrictEqual(
        choice?.message.tool_calls?.map((call) => call.type === "function" && [call.id, call.function.arguments]),
        [
          ["call_1", '{"zone":"UTC"}'],
          ["call_2", '{"zone":"CET"}']
        ]
      )
      assert.deepInclude(answer.usage, { prompt_tokens: 12, completion_tokens: 7 })
      for (const [reason, kind] of errors) {
        fake.script(openAi.path, refusal(reason))
        const asked = () => client.chat.completions.create({ model, messages })
        assert.instanceOf(yield* FakeVendor.failureFrom(asked), kind, reason)
      }
    })
  )
})

it.live("OpenAI's client asks for embeddings as our driver does, and reads the same numbers", () =>
  Effect.gen(function* () {
    const { fake, client } = yield* setUp
    const exact = [0.25, -1e-7, 3]
    const embedding = base64(new Uint8Array(Float32Array.from(exact).buffer))
    const body = {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding }],
      model,
      usage: { prompt_tokens: 2, total_tokens: 2 }
    }
    fake.script("/v1/embeddings", FakeVendor.json(body), FakeVendor.json(body))
    const theirs = yield* Effect.promise(() => client.embeddings.create({ model, input: ["one"], dimensions: 3 }))
    const driver = OpenAi.provider({ baseUrl: `${fake.baseUrl}/v1` }).embedding ?? assert.fail("no embeddings")
    const asked = { provider: "openai", model, texts: ["one"], dimensions: 3, purpose: "query" as const, apiKey: null }
    const ours = yield* driver.embed(asked)
    assert.deepStrictEqual([...(ours.vectors[0] ?? [])], theirs.data[0]?.embedding)
    assert.deepEqual(fake.requests[1]?.body, fake.requests[0]?.body)
  })
)
