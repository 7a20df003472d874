import { InMemory } from "@colloquy/adapters/in-memory"
import * as OpenAi from "@colloquy/adapters/openai"
import { Assistants, Kernel, Principal, type Provider, Providers, Turns } from "@colloquy/core"
import { type ChatEvent, type ChatRequest, type EmbeddingDriver } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { failureFrom, quiet } from "../support/Story.ts"

const answer = (...events: ReadonlyArray<ChatEvent>) =>
  Stream.fromIterable<ChatEvent>([...events, { _tag: "Finished", reason: "stop", model: null, providerData: null }])

const kernel = (providers: ReadonlyArray<Provider>, defaults = { provider: "a", model: "a-1" }) =>
  Layer.fresh(Kernel.layer).pipe(
    Layer.provide([InMemory.layer, Providers.layer({ providers, defaults })]),
    Layer.merge(quiet)
  )

const silent: EmbeddingDriver = { embed: () => Effect.die("not asked"), maxTexts: 1, maxCharacters: 1 }

/** Three providers that remember what they were asked: the host's default, one with a default of its own, one without. */
const three = () => {
  const asked: Array<readonly [string, string]> = []
  const chat = (request: ChatRequest) => {
    asked.push([request.provider, request.model])
    return answer({ _tag: "TextDelta", text: "Hi" })
  }
  const providers: ReadonlyArray<Provider> = [
    { id: "a", chat },
    { id: "b", chat, defaultModel: "b-own" },
    { id: "c", chat },
    { id: "e", embedding: silent, defaultEmbedding: { model: "e-large", dimensions: 3072 } }
  ]
  return { asked, layer: kernel(providers) }
}

describe("a provider without a model", () => {
  const cases = [
    ["of the message: its own default", {}, { provider: "b" }, ["b", "b-own"]],
    [
      "of the message: the assistant's model, when it is of that provider",
      { provider: "b", model: "b-2" },
      { provider: "b" },
      ["b", "b-2"]
    ],
    [
      "of the message: never the assistant's model of another",
      { provider: "a", model: "a-2" },
      { provider: "b" },
      ["b", "b-own"]
    ],
    [
      "of the message: the host's default, when it is of that provider",
      { provider: "b" },
      { provider: "a" },
      ["a", "a-1"]
    ],
    ["of the assistant: its own default, not the host's", { provider: "b" }, {}, ["b", "b-own"]],
    ["of the assistant, with the message's model", { provider: "c" }, { model: "c-9" }, ["c", "c-9"]],
    ["nowhere: the host's default provider takes the model", { model: "a-7" }, {}, ["a", "a-7"]]
  ] as const

  it.effect.each(cases)("%s", ([_name, assistant, message, expected]) => {
    const { asked, layer } = three()
    return Effect.gen(function* () {
      const { id } = yield* (yield* Assistants).create({ name: "A", ...assistant })
      yield* (yield* Turns).send({ content: "Hi", assistantId: id, ...message })
      assert.deepStrictEqual(asked, [expected])
    }).pipe(Principal.provide("ada"), Effect.provide(layer))
  })

  it.effect("and without a default is refused in words, and nothing is asked", () => {
    const { asked, layer } = three()
    return Effect.gen(function* () {
      const turns = yield* Turns
      const refused = yield* failureFrom(turns.send({ content: "Hi", provider: "c" }))
      assert.deepInclude(refused, { _tag: "ModelNotNamed", provider: "c" })
      assert.strictEqual((yield* failureFrom(turns.send({ content: "Hi", provider: "x" })))._tag, "ProviderNotFound")
      assert.deepStrictEqual(asked, [])
    }).pipe(Principal.provide("ada"), Effect.provide(layer))
  })
})

describe("an assistant with a provider that is not there", () => {
  it.effect("is not saved, and not changed to it", () =>
    Effect.gen(function* () {
      const assistants = yield* Assistants
      for (const provider of ["x", "e"]) {
        const refused = yield* failureFrom(assistants.create({ name: "A", provider }))
        assert.deepInclude(refused, { _tag: "ProviderNotFound", registered: ["a", "b", "c"] })
      }
      const saved = yield* assistants.create({ name: "A", provider: "b" })
      assert.strictEqual((yield* failureFrom(assistants.update(saved.id, { provider: "x" })))._tag, "ProviderNotFound")
      assert.deepStrictEqual(yield* assistants.get(saved.id), saved)
      assert.isNull((yield* assistants.update(saved.id, { provider: null })).provider)
    }).pipe(Principal.provide("ada"), Effect.provide(three().layer))
  )
})

describe("an assistant that names nothing to embed with", () => {
  it.effect("has the names of the host's first provider of embeddings in its record", () =>
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const { embedding, id } = yield* assistants.create({ name: "A" })
      assert.deepStrictEqual(embedding, { provider: "e", model: "e-large", dimensions: 3072 })
      assert.deepStrictEqual((yield* assistants.get(id)).embedding, embedding)
      const own = yield* assistants.create({ name: "B", embedding: { provider: "e", model: "y" } })
      assert.deepInclude(own.embedding, { provider: "e", model: "y" })
      const made = yield* (yield* Turns).send({ content: "Hi" })
      assert.deepStrictEqual((yield* assistants.get(made.assistantId)).embedding, embedding)
    }).pipe(Principal.provide("ada"), Effect.provide(three().layer))
  )

  it.effect("has none where no provider of the host embeds", () =>
    Effect.gen(function* () {
      const { embedding } = yield* (yield* Assistants).create({ name: "A" })
      assert.deepStrictEqual(embedding, { provider: null, model: null, dimensions: 3072 })
    }).pipe(Principal.provide("ada"), Effect.provide(kernel([{ id: "a", chat: () => answer() }])))
  )
})

describe("options without effect", () => {
  const openAi = OpenAi.provider({ wire: "chat" })
  const provider: Provider = {
    id: "openai",
    chat: () => answer({ _tag: "TextDelta", text: "{}" }),
    ...(openAi.wire === undefined ? {} : { wire: openAi.wire })
  }
  const layer = kernel([provider], { provider: "openai", model: "gpt-x" })

  const cases = [
    [{ thinking: { effort: "high", budgetTokens: 500 } }, ["thinking.budget_tokens"]],
    [{ thinking: { budgetTokens: 500, maxTokens: 7 } }, ["thinking"]],
    [{ thinking: { effort: "low" } }, []],
    [{ routing: { sort: "price", providers: ["z"] } }, ["router"]],
    [{ routing: { sort: "price" }, jsonOutput: true, thinking: { budgetTokens: 1 } }, ["router", "thinking"]],
    [{ jsonOutput: true, thinking: {}, routing: {} }, []]
  ] as const

  it.effect.each(cases)("of %j are named with the run", ([options, expected]) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* turns.send({ content: "Hi", ...options })
      const { ignored } = yield* turns.report(reply.threadId, reply.runId)
      assert.deepStrictEqual(
        ignored.map(({ option }) => option),
        [...expected]
      )
    }).pipe(Principal.provide("ada"), Effect.provide(layer))
  )
})

describe("an answer in a form that is not kept", () => {
  const image: ChatEvent = { _tag: "Media", mediaType: "image/png", bytes: new Uint8Array([1]) }
  const source: ChatEvent = { _tag: "Source", url: "https://example.org", title: null }
  const word: ChatEvent = { _tag: "TextDelta", text: "Here." }
  const cases = [
    ["media alone", [image], { status: "FAILED", code: "output_not_supported" }],
    ["sources alone", [source], { status: "FAILED", code: "output_not_supported" }],
    ["media and words", [image, word], { status: "COMPLETED", code: undefined }],
    ["words and sources", [word, source], { status: "COMPLETED", code: undefined }],
    ["nothing", [], { status: "COMPLETED", code: undefined }]
  ] as const

  it.effect.each(cases)("%s", ([_name, events, expected]) =>
    Effect.gen(function* () {
      const { fault, status } = yield* (yield* Turns).send({ content: "Draw." })
      assert.deepStrictEqual({ status, code: fault?.code }, expected)
    }).pipe(Principal.provide("ada"), Effect.provide(kernel([{ id: "a", chat: () => answer(...events) }])))
  )
})
