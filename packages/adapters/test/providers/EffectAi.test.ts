/** The bridge to `effect/ai`, with models made by its own constructors: what they are asked, every part, every error, leaving early. */
import { assert, describe, it } from "@effect/vitest"
import {
  type ChatEvent,
  type ChatMessage,
  type ChatRequest,
  type AnswerRequest,
  describeModel,
  converse,
  defaultChatPolicy,
  noUsage
} from "@colloquy/core/adapters"
import * as AiError from "effect/ai/AiError"
import * as DecisionModel from "effect/ai/DecisionModel"
import * as EmbeddingModel from "effect/ai/EmbeddingModel"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as EffectAi from "../../src/providers/EffectAi.ts"
import { request } from "./Scenarios.ts"

type Parts = ReadonlyArray<Response.StreamPartEncoded>

const finish = (reason: Response.FinishReason = "stop"): Response.StreamPartEncoded => ({
  type: "finish",
  reason,
  usage: {
    inputTokens: { total: 12, uncached: 8, cacheRead: 4, cacheWrite: undefined },
    outputTokens: { total: 7, text: 4, reasoning: 3 }
  },
  response: undefined
})

/** A model that answers with these parts, and what it was asked. */
const scriptedModel = (answer: Stream.Stream<Response.StreamPartEncoded, AiError.AiError>) => {
  const asked: Array<LanguageModel.ProviderOptions> = []
  const make = LanguageModel.make({
    generateText: () => Effect.die("not streamed"),
    streamText: (options) => {
      asked.push(options)
      return answer
    }
  })
  return { asked, make }
}

const chatDriver = (settings: Omit<EffectAi.EffectAiSettings, "id">) =>
  EffectAi.provider({ id: "p", ...settings }).chat ?? assert.fail("no chat")

const hear = (parts: Parts, asked: Partial<ChatRequest> = {}) =>
  Effect.gen(function* () {
    const languageModel = yield* scriptedModel(Stream.fromIterable(parts)).make
    return yield* Stream.runCollect(chatDriver({ languageModel })(request("p", asked)))
  })

const askedBy = (given: Partial<ChatRequest>) =>
  Effect.gen(function* () {
    const { asked, make } = scriptedModel(Stream.make(finish()))
    yield* Stream.runDrain(chatDriver({ languageModel: yield* make })(request("p", given)))
    return asked[0] ?? assert.fail("not asked")
  })

const failing = (answer: Stream.Stream<Response.StreamPartEncoded, AiError.AiError>) =>
  Effect.gen(function* () {
    const languageModel = yield* scriptedModel(answer).make
    return yield* Effect.flip(Stream.runDrain(chatDriver({ languageModel })(request("p"))))
  })

const joinedText = (tag: "TextDelta" | "ReasoningDelta", events: ReadonlyArray<ChatEvent>) =>
  events.map((event) => (event._tag === tag ? event.text : "")).join("")
const tagged = <Tag extends ChatEvent["_tag"]>(tag: Tag, events: ReadonlyArray<ChatEvent>) =>
  events.filter((event): event is Extract<ChatEvent, { _tag: Tag }> => event._tag === tag)

type Part = Exclude<Prompt.Message["content"], string>[number]

const partsIn = (message: Prompt.Message | undefined): ReadonlyArray<Part> =>
  message === undefined || typeof message.content === "string" ? [] : [...message.content]

const timeTool = {
  name: "get_time",
  description: "Tells the time",
  parameters: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] },
  strict: true
}
const signed = (signature: string) => ({ metadata: { vendor: { signature } } })

describe("answers", () => {
  it.effect("reasoning, text and calls are heard, and go back with what the vendor hung on them", () =>
    Effect.gen(function* () {
      const parts: Parts = [
        { type: "response-metadata", id: "r", modelId: "made-2026" },
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "One zone." },
        { type: "reasoning-end", id: "0", ...signed("of the thought") },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Let me " },
        { type: "text-delta", id: "1", delta: "look." },
        { type: "text-end", id: "1" },
        { type: "tool-params-start", id: "a", name: "get_time" },
        { type: "tool-params-delta", id: "a", delta: '{"zone":' },
        { type: "tool-params-delta", id: "a", delta: '"UTC"}' },
        { type: "tool-params-end", id: "a" },
        { type: "tool-call", id: "a", name: "get_time", params: { zone: "UTC" }, ...signed("of the call") },
        finish("tool-calls")
      ]
      const events = yield* hear(parts, { tools: [timeTool] })
      assert.strictEqual(joinedText("ReasoningDelta", events), "One zone.")
      assert.strictEqual(joinedText("TextDelta", events), "Let me look.")
      const calls = tagged("ToolCallReady", events).map((event) => event.call)
      assert.deepEqual(calls, [{ id: "a", name: "get_time", arguments: '{"zone":"UTC"}' }])
      assert.deepEqual(tagged("Usage", events)[0]?.usage, {
        ...noUsage,
        inputTokens: 12,
        outputTokens: 7,
        cachedInputTokens: 4,
        reasoningTokens: 3
      })
      const [end] = tagged("Finished", events)
      assert.deepInclude(end, { reason: "tool_calls", model: "made-2026" })
      const answer: ChatMessage = {
        role: "assistant",
        content: "Let me look.",
        toolCalls: calls,
        providerData: { provider: "p", data: end?.providerData ?? null }
      }
      const again = yield* askedBy({ messages: [answer], tools: [timeTool] })
      assert.deepEqual<unknown>(
        partsIn(again.prompt.content[0]).map((part) => [part.type, part.options]),
        [
          ["reasoning", { vendor: { signature: "of the thought" } }],
          ["text", {}],
          ["tool-call", { vendor: { signature: "of the call" } }]
        ]
      )
    })
  )

  it.effect(
    "calls in whatever form come back unresolved: of tools that nobody has, with arguments that do not fit",
    () =>
      Effect.gen(function* () {
        const parts: Parts = [
          { type: "tool-call", id: "a", name: "get_time", params: { zone: 7 } },
          { type: "tool-call", id: "b", name: "unheard_of", params: "words" },
          { type: "tool-call", id: "c", name: "get_time", params: undefined },
          finish("tool-calls")
        ]
        const expected = [
          ["a", '{"zone":7}'],
          ["b", '"words"'],
          ["c", "{}"]
        ]
        for (const tools of [[timeTool], []]) {
          const events = yield* hear(parts, { tools })
          assert.deepEqual(
            tagged("ToolCallReady", events).map(({ call }) => [call.id, call.arguments]),
            expected
          )
        }
      })
  )

  it.effect("files and sources; hidden reasoning is not said", () =>
    Effect.gen(function* () {
      const parts: Parts = [
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "Hm." },
        { type: "file", mediaType: "image/png", data: "AQI=" },
        { type: "source", sourceType: "url", id: "1", url: "https://example.org/", title: "Example" },
        { type: "source", sourceType: "document", id: "2", mediaType: "application/pdf", title: "A file" },
        finish()
      ]
      const events = yield* hear(parts, { thinking: { excludeReasoning: true } })
      assert.deepEqual(
        events.map((event) => event._tag),
        ["Media", "Source", "Usage", "Finished"]
      )
      assert.deepEqual(tagged("Media", events)[0]?.bytes, new Uint8Array([1, 2]))
      assert.strictEqual(tagged("Source", events)[0]?.url, "https://example.org/")
    })
  )

  it.effect.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content-filter", "filtered"],
    ["pause", "continue"],
    ["other", "stop"],
    ["unknown", "stop"]
  ] as const)("the end %s is %s", ([told, reason]) =>
    Effect.gen(function* () {
      assert.strictEqual(tagged("Finished", yield* hear([finish(told)]))[0]?.reason, reason)
    })
  )

  it.effect("a stream that just ends was cut off", () =>
    Effect.gen(function* () {
      const languageModel = yield* scriptedModel(Stream.make({ type: "text-start", id: "0" } as const)).make
      const listener = { hear: () => {}, pause: () => {} }
      const step = converse(chatDriver({ languageModel }), request("p"), { ...defaultChatPolicy, retries: 0 }, listener)
      assert.strictEqual((yield* Effect.flip(step)).reason, "cut_off")
    })
  )
})

describe("requests", () => {
  it.effect("carry the conversation, its files and its tools", () =>
    Effect.gen(function* () {
      const picture = {
        type: "image" as const,
        mediaType: "image/png",
        filename: "a.png",
        source: { bytes: new Uint8Array([1]) }
      }
      const sound = { ...picture, type: "audio" as const, mediaType: "audio/mpeg", filename: null }
      const asked = yield* askedBy({
        system: "Be brief.",
        jsonOutput: true,
        tools: [timeTool],
        toolChoice: "none",
        messages: [
          { role: "user", content: [{ type: "text", text: "Look." }, picture, sound] },
          {
            role: "assistant",
            content: "",
            toolCalls: [{ id: "a", name: "get_time", arguments: "{broken" }],
            providerData: null
          },
          { role: "tool", toolCallId: "a", toolName: "get_time", output: "The arguments are no JSON." }
        ]
      })
      const [system, user, assistant, tool] = asked.prompt.content
      assert.strictEqual(system?.content, "Be brief.\n\nAnswer with one JSON object and nothing else.")
      assert.deepEqual(
        partsIn(user).map((part) => part.type),
        ["text", "file", "text"]
      )
      assert.deepInclude(assistant?.content[0], { type: "tool-call", id: "a", name: "get_time", params: {} })
      assert.deepInclude(tool?.content[0], { type: "tool-result", id: "a", result: "The arguments are no JSON." })
      const [declared] = asked.tools
      assert.deepEqual(declared === undefined ? undefined : Tool.getJsonSchema(declared), timeTool.parameters)
      assert.strictEqual(declared && Tool.getStrictMode(declared), true)
      assert.strictEqual(asked.toolChoice, "none")
    })
  )

  it.effect("name a message without words, and leave out an answer of which nothing can be sent", () =>
    Effect.gen(function* () {
      const thought = { type: "reasoning", text: "Hm", data: {} }
      const asked = yield* askedBy({
        messages: [
          { role: "user", content: [{ type: "text", text: " " }] },
          {
            role: "assistant",
            content: "",
            toolCalls: [],
            providerData: { provider: "p", data: { model: "model-1", parts: [thought] } }
          }
        ]
      })
      assert.deepEqual(
        asked.prompt.content.map((message) => [
          message.role,
          partsIn(message).map((part) => (part.type === "text" ? part.text : part.type))
        ]),
        [["user", ["[This message is empty.]"]]]
      )
    })
  )

  it.effect("reach the model by its name and the customer's key, with the services that the host configures", () =>
    Effect.gen(function* () {
      class Limit extends Context.Service<Limit, number>()("test/Limit") {}
      const seen: Array<string> = []
      const languageModel = yield* LanguageModel.make({
        generateText: () => Effect.die("not streamed"),
        streamText: () =>
          Stream.fromEffect(
            Effect.map(Effect.serviceOption(Limit), (limit) => {
              seen.push(limit._tag === "Some" ? `limit ${limit.value}` : "no limit")
              return finish()
            })
          )
      })
      const chat = chatDriver({
        languageModel: (model, apiKey) => {
          seen.push(`${model} ${apiKey === null ? "none" : Redacted.value(apiKey)}`)
          return languageModel
        },
        configuration: ({ maxOutputTokens }) => Context.make(Limit, maxOutputTokens ?? 0)
      })
      yield* Stream.runDrain(chat(request("p", { maxOutputTokens: 5, apiKey: Redacted.make("sk-own") })))
      assert.deepEqual(seen, ["model-1 sk-own", "limit 5"])
    })
  )

  it.effect("build a layer and close it again", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { make } = scriptedModel(Stream.make(finish()))
      const opened = Effect.acquireRelease(
        Effect.andThen(
          Effect.sync(() => void seen.push("opened")),
          make
        ),
        () => Effect.sync(() => void seen.push("closed"))
      )
      const chat = chatDriver({ languageModel: Layer.effect(LanguageModel.LanguageModel, opened) })
      yield* Stream.runDrain(chat(request("p")))
      yield* Stream.runDrain(chat(request("p")))
      assert.deepEqual(seen, ["opened", "closed", "opened", "closed"])
    })
  )
})

const aiError = (reason: AiError.AiErrorReason) => AiError.make({ module: "Test", method: "streamText", reason })

describe("errors", () => {
  const http = (status: number) => ({
    http: {
      request: { method: "POST" as const, url: "https://example.org", urlParams: [], hash: undefined, headers: {} },
      response: { status, headers: {} }
    }
  })
  const cases: ReadonlyArray<readonly [name: string, reason: AiError.AiErrorReason, expected: object]> = [
    [
      "a limit",
      new AiError.RateLimitError({ retryAfter: Duration.seconds(3) }),
      { reason: "rate_limited", retryAfterMillis: 3000, isRetryable: true }
    ],
    ["no credit", new AiError.QuotaExhaustedError({}), { reason: "quota" }],
    ["a wrong key", new AiError.AuthenticationError({ kind: "InvalidKey" }), { reason: "auth" }],
    ["a refusal", new AiError.ContentPolicyError({ description: "sk-secret" }), { reason: "refused" }],
    [
      "an overload",
      new AiError.InternalProviderError({ description: "sk-secret" }),
      { reason: "overloaded", isRetryable: true }
    ],
    [
      "a request",
      new AiError.InvalidRequestError({ description: "sk-secret" }),
      { reason: "invalid_request", isRetryable: false }
    ],
    [
      "a length",
      new AiError.InvalidRequestError({ description: "maximum context length" }),
      { reason: "context_too_long" }
    ],
    [
      "a model",
      new AiError.UnknownError({
        description: "sk-secret",
        ...http(404),
        metadata: { vendor: { errorCode: "model_not_found" } }
      }),
      { reason: "model_not_found", status: 404, code: "model_not_found" }
    ],
    ["a broken format", new AiError.InvalidOutputError({ description: "sk-secret" }), { reason: "unknown" }]
  ]

  it.effect.each(cases)("%s", ([_name, reason, expected]) =>
    Effect.gen(function* () {
      const failure = yield* failing(Stream.fail(aiError(reason)))
      assert.deepInclude(failure, { provider: "p", model: "model-1", ...expected })
      assert.notInclude(`${failure.message} ${JSON.stringify(failure)}`, "sk-secret")
    })
  )

  it.effect("inside the answer, of its end, of a part that is none, of a bug", () =>
    Effect.gen(function* () {
      const error = aiError(new AiError.RateLimitError({}))
      assert.strictEqual((yield* failing(Stream.make({ type: "error", error } as const))).reason, "rate_limited")
      assert.strictEqual((yield* failing(Stream.make(finish("error")))).reason, "unknown")
      assert.strictEqual((yield* failing(Stream.make({ type: "nothing" } as never))).reason, "unknown")
      assert.strictEqual((yield* failing(Stream.die("sk-secret"))).reason, "unknown")
    })
  )

  it.effect("of a layer that cannot be built, and of what the host's own functions throw", () =>
    Effect.gen(function* () {
      const broken = chatDriver({ languageModel: Layer.effect(LanguageModel.LanguageModel, Effect.fail("sk-secret")) })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(broken(request("p"))))).reason, "unknown")
      const throwing = chatDriver({ languageModel: () => assert.fail("no such model") })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(throwing(request("p"))))).reason, "unknown")
    })
  )
})

it.effect("leaving early interrupts the model", () =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    let interrupted = 0
    const waiting = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
    const languageModel = yield* scriptedModel(
      Stream.fromEffect(Effect.onInterrupt(waiting, () => Effect.sync(() => void interrupted++)))
    ).make
    const listening = yield* Effect.forkChild(Stream.runDrain(chatDriver({ languageModel })(request("p"))))
    yield* Deferred.await(begun)
    yield* Fiber.interrupt(listening)
    assert.strictEqual(interrupted, 1)
  })
)

describe("embeddings", () => {
  const wanted = {
    provider: "p",
    model: "model-1",
    texts: ["a", "bb"],
    dimensions: null,
    purpose: "document" as const,
    apiKey: null
  }
  const embeddingDriver = (embedMany: Parameters<typeof EmbeddingModel.make>[0]["embedMany"]) =>
    Effect.map(
      EmbeddingModel.make({ embedMany }),
      (embeddingModel) => EffectAi.provider({ id: "p", embeddingModel }).embedding ?? assert.fail("no embeddings")
    )

  it.effect("come in the order of the texts, with what they cost", () =>
    Effect.gen(function* () {
      const told = yield* embeddingDriver(({ inputs }) =>
        Effect.succeed({ results: inputs.map((text) => [text.length, 0]), usage: { inputTokens: 3 } })
      )
      const answer = yield* told.embed(wanted)
      assert.deepEqual(answer.vectors, [new Float32Array([1, 0]), new Float32Array([2, 0])])
      assert.deepEqual(answer.usage, { ...noUsage, inputTokens: 3 })
      const silent = yield* embeddingDriver(({ inputs }) =>
        Effect.succeed({ results: inputs.map(() => [1]), usage: { inputTokens: undefined } })
      )
      assert.isTrue((yield* silent.embed(wanted)).usage.estimated)
    })
  )

  it.effect("fail with a reason", () =>
    Effect.gen(function* () {
      const limited = yield* embeddingDriver(() => Effect.fail(aiError(new AiError.RateLimitError({}))))
      assert.strictEqual((yield* Effect.flip(limited.embed(wanted))).reason, "rate_limited")
      const broken = yield* embeddingDriver(() => Effect.die("sk-secret"))
      assert.strictEqual((yield* Effect.flip(broken.embed(wanted))).reason, "unknown")
      const short = yield* embeddingDriver(() => Effect.succeed({ results: [], usage: { inputTokens: 0 } }))
      assert.strictEqual((yield* Effect.flip(short.embed(wanted))).reason, "unknown")
    })
  )
})

describe("decision models", () => {
  const asked = (questions: AnswerRequest["questions"]): AnswerRequest => ({
    provider: "p",
    model: "m",
    info: describeModel({ name: "m", provider: "p", modelType: "system_one" }),
    state: { text: "x" },
    questions,
    apiKey: Redacted.make("sk-customer"),
    conversationId: "c"
  })

  it.effect(
    "get levels by their numbers and descriptions, come as a layer too, and are not asked about a single option",
    () =>
      Effect.gen(function* () {
        const seen: Array<DecisionModel.ProviderOptions> = []
        const keys: Array<string> = []
        const make = DecisionModel.make({
          decide: (options) =>
            Effect.sync(() => {
              seen.push(options)
              const probabilities = { "0": 0.25, "1": 0.75 }
              const usage = { inputTokens: undefined, outputTokens: undefined }
              return { answers: { anger: { _tag: "Rate", rating: 0, probabilities } }, usage }
            })
        })
        const { answers } = EffectAi.provider({
          id: "p",
          decisionModel: (model, apiKey) => {
            keys.push(`${model} ${apiKey === null ? "" : Redacted.value(apiKey)}`)
            return Layer.effect(DecisionModel.DecisionModel, make)
          }
        })
        const ask = answers ?? assert.fail("no answers")
        const only = { type: "choice", instructions: "x", criteria: { only: null } } as const
        const anger = { type: "score", instructions: "How?", criteria: ["the same", "the same"] } as const
        const reply = yield* ask(asked({ anger, only }))
        assert.deepStrictEqual(reply, {
          distributions: { only: { only: 1 }, anger: { "0": 0.25, "1": 0.75 } },
          method: "native",
          estimated: false,
          model: null,
          usage: null
        })
        assert.deepStrictEqual(seen[0]?.state, { text: "x" })
        assert.deepStrictEqual(Object.keys(seen[0]?.decisions ?? {}), ["anger"])
        assert.deepStrictEqual((yield* ask(asked({ only }))).distributions, { only: { only: 1 } })
        assert.strictEqual(seen.length, 1)
        assert.deepStrictEqual(keys, ["m sk-customer", "m sk-customer"])
      })
  )

  it.effect("that refuse, or throw, are errors", () =>
    Effect.gen(function* () {
      const urgent = { type: "noul", instructions: "x" } as const
      const usage = { inputTokens: 1, outputTokens: 1 }
      const refusing = yield* DecisionModel.make({
        decide: () => Effect.succeed({ answers: { urgent: { _tag: "Refusal" } }, usage })
      })
      const throwing = yield* DecisionModel.make({ decide: () => Effect.die(new Error("secret")) })
      for (const [decisionModel, reason] of [
        [refusing, "refused"],
        [throwing, "unknown"]
      ] as const) {
        const { answers } = EffectAi.provider({ id: "p", decisionModel })
        const error = yield* Effect.flip((answers ?? assert.fail("no answers"))(asked({ urgent })))
        assert.strictEqual(error.reason, reason)
        assert.notInclude(error.message, "secret")
        // The refusal is an answer that was paid for.
        assert.strictEqual(error.usage?.inputTokens, reason === "refused" ? 1 : undefined)
      }
    })
  )
})
