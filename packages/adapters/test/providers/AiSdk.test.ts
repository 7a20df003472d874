/** The bridge to the AI SDK, with models made by hand to its specification: both versions, every part, every error, leaving early. */
import {
  APICallError,
  type EmbeddingModelV4,
  InvalidResponseDataError,
  type LanguageModelV3,
  type LanguageModelV3CallOptions,
  type LanguageModelV3StreamPart,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
  LoadAPIKeyError,
  NoSuchModelError,
  UnsupportedFunctionalityError
} from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import {
  type ChatEvent,
  type ChatMessage,
  type ChatRequest,
  describeModel,
  type EmbeddingRequest,
  noUsage
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as AiSdk from "../../src/providers/AiSdk.ts"
import { request } from "./Scenarios.ts"

const usage = {
  inputTokens: { total: 12, noCache: 8, cacheRead: 4, cacheWrite: undefined },
  outputTokens: { total: 7, text: 4, reasoning: 3 }
}
const finish = (unified: "stop" | "tool-calls" = "stop") => ({
  type: "finish" as const,
  usage,
  finishReason: { unified, raw: "x" }
})

const partStream = <Part>(parts: ReadonlyArray<Part>): ReadableStream<Part> =>
  new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    }
  })

/** A model that answers with these parts, and what it was asked. */
const scriptedModel = (answer: ReadonlyArray<LanguageModelV4StreamPart> | (() => never)) => {
  const asked: Array<LanguageModelV4CallOptions> = []
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "hand",
    modelId: "made",
    supportedUrls: { "application/pdf": [/^https:\/\/example\.org\//] },
    doGenerate: () => assert.fail("not streamed"),
    doStream: async (options) => {
      asked.push(options)
      return { stream: partStream(typeof answer === "function" ? answer() : answer) }
    }
  }
  return { asked, model }
}

const chatDriver = (model: LanguageModelV3 | LanguageModelV4, settings: Partial<AiSdk.AiSdkSettings> = {}) =>
  AiSdk.provider({ id: "p", languageModel: () => model, ...settings }).chat ?? assert.fail("no chat")

const hear = (
  answer: ReadonlyArray<LanguageModelV4StreamPart> | (() => never),
  asked: Partial<ChatRequest> = {}
): Effect.Effect<ReadonlyArray<ChatEvent>> =>
  chatDriver(scriptedModel(answer).model)(request("p", asked)).pipe(Stream.runCollect, Effect.orDie)

const sentPrompt = (messages: ReadonlyArray<ChatMessage>, asked: Partial<ChatRequest> = {}) =>
  Effect.gen(function* () {
    const made = scriptedModel([finish()])
    yield* Stream.runDrain(chatDriver(made.model)(request("p", { messages, ...asked })))
    return made.asked[0]?.prompt ?? assert.fail("not asked")
  })

const joinedText = (tag: "TextDelta" | "ReasoningDelta", events: ReadonlyArray<ChatEvent>) =>
  events.map((event) => (event._tag === tag ? event.text : "")).join("")
const tagged = <Tag extends ChatEvent["_tag"]>(tag: Tag, events: ReadonlyArray<ChatEvent>) =>
  events.filter((event): event is Extract<ChatEvent, { _tag: Tag }> => event._tag === tag)

const signed = (signature: string) => ({ providerMetadata: { vendor: { signature } } })

describe("answers", () => {
  it.effect("two calls with one id are two calls, in pieces or whole; a repeated one is one", () =>
    Effect.gen(function* () {
      const whole = (toolName: string, input: string) =>
        ({ type: "tool-call", toolCallId: "a", toolName, input }) as const
      const events = yield* hear([
        { type: "tool-input-start", id: "a", toolName: "f" },
        { type: "tool-input-delta", id: "a", delta: '{"x": 1}' },
        whole("f", '{"x":1}'),
        whole("f", '{"x":1}'),
        { type: "tool-input-start", id: "a", toolName: "f" },
        { type: "tool-input-delta", id: "a", delta: '{"x":' },
        { type: "tool-input-delta", id: "a", delta: "2}" },
        whole("f", '{"x":2}'),
        whole("g", '{"x":2}'),
        finish("tool-calls")
      ])
      const calls = tagged("ToolCallReady", events).map((event) => event.call)
      assert.deepStrictEqual(
        calls.map(({ arguments: written, name }) => [name, written]),
        [
          ["f", '{"x": 1}'],
          ["f", '{"x":2}'],
          ["g", '{"x":2}']
        ]
      )
      assert.strictEqual(calls[0]?.id, "a")
      assert.strictEqual(new Set(calls.map(({ id }) => id)).size, 3)
      assert.deepStrictEqual(
        tagged("ToolCallStart", events).map(({ id }) => id),
        calls.map(({ id }) => id)
      )
    })
  )

  it.effect("reasoning, text and calls are heard, and go back with what the vendor hung on them", () =>
    Effect.gen(function* () {
      const events = yield* hear([
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", modelId: "made-2026" },
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "Two " },
        { type: "reasoning-delta", id: "0", delta: "zones." },
        { type: "reasoning-end", id: "0", ...signed("of the thought") },
        { type: "text-start", id: "0", ...signed("of the text") },
        { type: "text-delta", id: "0", delta: "Let me look." },
        { type: "text-end", id: "0" },
        { type: "tool-input-start", id: "a", toolName: "get_time" },
        { type: "tool-input-delta", id: "a", delta: '{"zone":' },
        { type: "tool-input-delta", id: "a", delta: '"UTC"}' },
        { type: "tool-input-end", id: "a" },
        { type: "tool-call", toolCallId: "a", toolName: "get_time", input: '{"zone":"UTC"}', ...signed("of the call") },
        { type: "tool-call", toolCallId: "b", toolName: "now", input: "" },
        finish("tool-calls")
      ])
      assert.strictEqual(joinedText("ReasoningDelta", events), "Two zones.")
      assert.strictEqual(joinedText("TextDelta", events), "Let me look.")
      const calls = tagged("ToolCallReady", events).map((event) => event.call)
      assert.deepEqual(calls, [
        { id: "a", name: "get_time", arguments: '{"zone":"UTC"}' },
        { id: "b", name: "now", arguments: "{}" }
      ])
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
      const options = (signature: string) => ({ providerOptions: { vendor: { signature } } })
      assert.deepEqual<unknown>(yield* sentPrompt([answer]), [
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "Two zones.", ...options("of the thought") },
            { type: "text", text: "Let me look.", ...options("of the text") },
            {
              type: "tool-call",
              toolCallId: "a",
              toolName: "get_time",
              input: { zone: "UTC" },
              ...options("of the call")
            },
            { type: "tool-call", toolCallId: "b", toolName: "now", input: {} }
          ]
        }
      ])
      const ofAnother = { ...answer, providerData: { provider: "q", data: end?.providerData ?? null } }
      assert.deepEqual<unknown>(yield* sentPrompt([ofAnother]), [
        {
          role: "assistant",
          content: [
            { type: "text", text: "Let me look." },
            { type: "tool-call", toolCallId: "a", toolName: "get_time", input: { zone: "UTC" } },
            { type: "tool-call", toolCallId: "b", toolName: "now", input: {} }
          ]
        }
      ])
    })
  )

  it.effect("a plain answer keeps nothing", () =>
    Effect.gen(function* () {
      const events = yield* hear([{ type: "text-delta", id: "0", delta: "Hi" }, finish()])
      assert.isNull(tagged("Finished", events)[0]?.providerData)
    })
  )

  it.effect("files and sources", () =>
    Effect.gen(function* () {
      const events = yield* hear([
        { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2]) } },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AQI=" } },
        { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.org/a.png") } },
        { type: "source", sourceType: "url", id: "1", url: "https://example.org/", title: "Example" },
        { type: "source", sourceType: "document", id: "2", mediaType: "application/pdf", title: "A file" },
        finish()
      ])
      const bytes = new Uint8Array([1, 2])
      assert.deepEqual(tagged("Media", events), [
        { _tag: "Media", mediaType: "image/png", bytes },
        { _tag: "Media", mediaType: "image/png", bytes }
      ])
      assert.deepEqual(
        tagged("Source", events).map(({ url, title }) => [url, title]),
        [
          ["https://example.org/a.png", null],
          ["https://example.org/", "Example"]
        ]
      )
    })
  )

  it.effect("a call that the vendor runs itself is none of ours; pieces that are no JSON do not count", () =>
    Effect.gen(function* () {
      const events = yield* hear([
        { type: "tool-input-start", id: "s", toolName: "search", providerExecuted: true },
        { type: "tool-input-delta", id: "s", delta: "{}" },
        { type: "tool-call", toolCallId: "s", toolName: "search", input: "{}", providerExecuted: true },
        { type: "tool-result", toolCallId: "s", toolName: "search", result: [] },
        { type: "tool-input-start", id: "r", toolName: "write", inputEncoding: "text" },
        { type: "tool-input-delta", id: "r", delta: "plain words" },
        { type: "tool-call", toolCallId: "r", toolName: "write", input: '"plain words"' },
        finish("tool-calls")
      ])
      assert.deepEqual(
        tagged("ToolCallReady", events).map(({ call }) => [call.id, call.arguments]),
        [["r", '"plain words"']]
      )
      assert.deepEqual(
        tagged("ToolCallDelta", events).map((event) => event.arguments),
        ['"plain words"']
      )
    })
  )

  it.effect("hidden reasoning is kept, but not said", () =>
    Effect.gen(function* () {
      const parts: ReadonlyArray<LanguageModelV4StreamPart> = [
        { type: "reasoning-delta", id: "0", delta: "Hm." },
        { type: "text-delta", id: "1", delta: "Hi" },
        finish()
      ]
      const events = yield* hear(parts, { thinking: { excludeReasoning: true } })
      assert.strictEqual(joinedText("ReasoningDelta", events), "")
      assert.include(JSON.stringify(tagged("Finished", events)[0]?.providerData), "Hm.")
    })
  )

  it.effect.each([
    ["stop", "x", "stop"],
    ["length", "x", "length"],
    ["content-filter", "x", "filtered"],
    ["other", "x", "stop"],
    ["other", undefined, null],
    ["interrupted", undefined, null]
  ] as const)("the end %s (%s) is %s", ([unified, raw, reason]) =>
    Effect.gen(function* () {
      const events = yield* hear([{ type: "finish", usage, finishReason: { unified, raw } }])
      assert.strictEqual(tagged("Finished", events)[0]?.reason ?? null, reason)
    })
  )

  it.effect("unknown usage is not told", () =>
    Effect.gen(function* () {
      const none = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
      const nothing = { inputTokens: none, outputTokens: { total: undefined, text: undefined, reasoning: undefined } }
      const events = yield* hear([{ ...finish(), usage: nothing }])
      assert.isEmpty(tagged("Usage", events))
    })
  )
})

describe("requests", () => {
  const picture = {
    type: "image" as const,
    mediaType: "image/png",
    filename: "a.png",
    source: { bytes: new Uint8Array([1]) }
  }
  const address = (mediaType: string, url: string) => ({
    type: mediaType.startsWith("image") ? ("image" as const) : ("file" as const),
    mediaType,
    filename: null,
    source: { url }
  })
  const content = [
    picture,
    address("image/png", "https://example.org/b.png"),
    address("application/pdf", "https://example.org/c.pdf"),
    address("application/pdf", "https://elsewhere.org/d.pdf")
  ]

  it.effect("files go as version 4 has them", () =>
    Effect.gen(function* () {
      assert.deepEqual<unknown>(yield* sentPrompt([{ role: "user", content }]), [
        {
          role: "user",
          content: [
            {
              type: "file",
              mediaType: "image/png",
              filename: "a.png",
              data: { type: "data", data: new Uint8Array([1]) }
            },
            { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.org/b.png") } },
            {
              type: "file",
              mediaType: "application/pdf",
              data: { type: "url", url: new URL("https://example.org/c.pdf") }
            },
            { type: "text", text: "[A file (application/pdf) is attached, but this model cannot read it.]" }
          ]
        }
      ])
    })
  )

  it.effect("a message without words is named, and an answer of which nothing can be sent is left out", () =>
    Effect.gen(function* () {
      const thought = { type: "reasoning", text: "Hm", data: {} }
      const messages: ReadonlyArray<ChatMessage> = [
        { role: "user", content: [{ type: "text", text: " " }] },
        {
          role: "assistant",
          content: "",
          toolCalls: [],
          providerData: { provider: "p", data: { model: "model-1", parts: [thought] } }
        },
        { role: "user", content: [{ type: "text", text: "" }, picture] }
      ]
      const image = { mediaType: "image/png", filename: "a.png", data: { type: "data", data: new Uint8Array([1]) } }
      assert.deepEqual<unknown>(yield* sentPrompt(messages), [
        { role: "user", content: [{ type: "text", text: "[This message is empty.]" }] },
        { role: "user", content: [{ type: "file", ...image }] }
      ])
    })
  )

  it.effect("version 3: files as it has them, no word on reasoning, the same answer", () =>
    Effect.gen(function* () {
      const asked: Array<LanguageModelV3CallOptions> = []
      const parts: ReadonlyArray<LanguageModelV3StreamPart> = [
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: "Hi" },
        { type: "file", mediaType: "image/png", data: "AQI=" },
        finish()
      ]
      const model: LanguageModelV3 = {
        specificationVersion: "v3",
        provider: "hand",
        modelId: "made",
        supportedUrls: {},
        doGenerate: () => assert.fail("not streamed"),
        doStream: async (options) => {
          asked.push(options)
          return { stream: partStream(parts) }
        }
      }
      const wanted = request("p", {
        messages: [{ role: "user", content: content.slice(0, 2) }],
        thinking: { effort: "low" }
      })
      const events = yield* Stream.runCollect(chatDriver(model)(wanted))
      assert.strictEqual(joinedText("TextDelta", events), "Hi")
      assert.deepEqual(tagged("Media", events)[0]?.bytes, new Uint8Array([1, 2]))
      assert.notProperty(asked[0], "reasoning")
      assert.deepEqual<unknown>(asked[0]?.prompt, [
        {
          role: "user",
          content: [
            { type: "file", mediaType: "image/png", filename: "a.png", data: new Uint8Array([1]) },
            { type: "file", mediaType: "image/png", data: new URL("https://example.org/b.png") }
          ]
        }
      ])
    })
  )

  it.effect("tools, limits, JSON, the vendor's own options, and the customer's key", () =>
    Effect.gen(function* () {
      const { asked, model } = scriptedModel([finish()])
      const keys: Array<string> = []
      const chat = chatDriver(model, {
        languageModel: (name, apiKey) => {
          keys.push(`${name} ${apiKey === null ? "none" : Redacted.value(apiKey)}`)
          return model
        },
        options: ({ conversationId }) => ({ vendor: { user: conversationId } })
      })
      const parameters = { type: "object", properties: { zone: { type: "string" } } }
      const wanted = request("p", {
        tools: [{ name: "f", description: null, parameters, strict: true }],
        toolChoice: "none",
        jsonOutput: true,
        maxOutputTokens: 5,
        apiKey: Redacted.make("sk-own")
      })
      yield* Stream.runDrain(chat(wanted))
      assert.deepEqual(keys, ["model-1 sk-own"])
      const { prompt, abortSignal: _, ...options } = asked[0] ?? assert.fail("not asked")
      assert.deepEqual<unknown>(options, {
        tools: [{ type: "function", name: "f", inputSchema: parameters, strict: true }],
        toolChoice: { type: "none" },
        responseFormat: { type: "json" },
        maxOutputTokens: 5,
        providerOptions: { vendor: { user: "conversation-1" } }
      })
      assert.deepEqual<unknown>(prompt[0], { role: "system", content: "Answer with one JSON object and nothing else." })
    })
  )

  it.effect.each([
    [{ effort: "low" }, null, "low"],
    [{ effort: "max" }, null, "high"],
    [{ effort: "max" }, ["xhigh"], "xhigh"],
    [{ budgetTokens: 0 }, null, "none"],
    [{}, null, undefined]
  ] as const)("thinking %j with %j is %s", ([thinking, efforts, reasoning]) =>
    Effect.gen(function* () {
      const { asked, model } = scriptedModel([finish()])
      const thinkingControls = efforts === null ? null : { efforts, budget: false, style: null }
      const info = describeModel({ name: "model-1", provider: "p", modelType: "llm", thinkingControls })
      yield* Stream.runDrain(chatDriver(model)(request("p", { thinking, info })))
      assert.strictEqual(asked[0]?.reasoning, reasoning)
    })
  )
})

const apiError = (statusCode: number | undefined, more: Partial<ConstructorParameters<typeof APICallError>[0]> = {}) =>
  new APICallError({
    message: "sk-secret was not accepted",
    url: "https://example.org",
    requestBodyValues: { prompt: "sk-secret" },
    ...(statusCode === undefined ? {} : { statusCode }),
    ...more
  })

describe("errors", () => {
  const cases: ReadonlyArray<readonly [name: string, error: unknown, expected: object]> = [
    [
      "429",
      apiError(429, { responseHeaders: { "retry-after": "3" } }),
      { reason: "rate_limited", retryAfterMillis: 3000 }
    ],
    [
      "no credit",
      apiError(429, { data: { error: { code: "insufficient_quota" } } }),
      { reason: "quota", isRetryable: false }
    ],
    ["529", apiError(529), { reason: "overloaded", isRetryable: true }],
    ["a veto", apiError(503, { isRetryable: false }), { reason: "overloaded", isRetryable: false }],
    ["401", apiError(401, { responseHeaders: { "x-request-id": "req_1" } }), { reason: "auth", requestId: "req_1" }],
    ["404", apiError(404), { reason: "model_not_found", status: 404 }],
    [
      "a long prompt, as Anthropic says it",
      apiError(400, {
        responseBody: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}'
      }),
      { reason: "context_too_long" }
    ],
    [
      "a wrong key, as Google says it",
      apiError(400, {
        data: { error: { code: 400, status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } }
      }),
      { reason: "auth" }
    ],
    ["no answer", apiError(undefined, { isRetryable: true }), { reason: "connection" }],
    ["a head without sense", apiError(200), { reason: "unknown", code: "malformed_answer" }],
    ["no key", new LoadAPIKeyError({ message: "sk-secret" }), { reason: "auth" }],
    ["no model", new NoSuchModelError({ modelId: "m", modelType: "languageModel" }), { reason: "model_not_found" }],
    ["no such part", new UnsupportedFunctionalityError({ functionality: "video" }), { reason: "invalid_request" }],
    ["a bug", new TypeError("sk-secret"), { reason: "unknown", isRetryable: false }],
    ["nothing", undefined, { reason: "unknown" }]
  ]

  const failed = (answer: ReadonlyArray<LanguageModelV4StreamPart> | (() => never)) =>
    Effect.flip(Stream.runDrain(chatDriver(scriptedModel(answer).model)(request("p"))))

  it.effect.each(cases)("%s", ([_name, error, expected]) =>
    Effect.gen(function* () {
      const failure = yield* failed(() => {
        throw error
      })
      assert.deepInclude(failure, { provider: "p", model: "model-1", ...expected })
      assert.notInclude(`${failure.message} ${JSON.stringify(failure)}`, "sk-secret")
    })
  )

  it.effect.each([
    ["an error of Anthropic", { type: "overloaded_error", message: "sk-secret" }, "overloaded"],
    ["an error of OpenAI", { code: "rate_limit_exceeded", message: "sk-secret" }, "rate_limited"],
    ["a sentence", "sk-secret", "unknown"],
    ["a broken connection", new TypeError("terminated"), "cut_off"],
    ["a broken connection, wrapped", apiError(200), "cut_off"],
    ["an end without an end", new InvalidResponseDataError({ data: undefined }), "cut_off"],
    ["data without sense", new InvalidResponseDataError({ data: {} }), "unknown"]
  ] as const)("inside the answer: %s", ([_name, error, reason]) =>
    Effect.gen(function* () {
      const failure = yield* failed([{ type: "text-delta", id: "0", delta: "Hi" }, { type: "error", error }, finish()])
      assert.strictEqual(failure.reason, reason)
      assert.notInclude(`${failure.message} ${JSON.stringify(failure)}`, "sk-secret")
    })
  )

  it.effect("an end that says error, a stream that breaks, a part that is none", () =>
    Effect.gen(function* () {
      const ended = yield* failed([{ type: "finish", usage, finishReason: { unified: "error", raw: undefined } }])
      assert.strictEqual(ended.reason, "unknown")
      const { model } = scriptedModel([])
      const broken = new ReadableStream<LanguageModelV4StreamPart>({
        pull: () => Promise.reject(new TypeError("terminated"))
      })
      const chat = chatDriver({ ...model, doStream: async () => ({ stream: broken }) })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(chat(request("p"))))).reason, "cut_off")
      assert.strictEqual((yield* failed([null as never])).reason, "unknown")
    })
  )

  it.effect("what the host's own function throws", () =>
    Effect.gen(function* () {
      const chat = AiSdk.provider({ id: "p", languageModel: () => assert.fail("no such model") }).chat
      const failure = yield* Effect.flip(Stream.runDrain(chat?.(request("p")) ?? Stream.empty))
      assert.strictEqual(failure.reason, "unknown")
    })
  )
})

describe("leaving early", () => {
  const waiting = () => {
    const signals: Array<AbortSignal> = []
    const { model } = scriptedModel([])
    return { signals, model }
  }

  it.effect("aborts the request when nobody listens any more", () =>
    Effect.gen(function* () {
      const { signals, model } = waiting()
      let cancelled = false
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start: (controller) => controller.enqueue({ type: "text-delta", id: "0", delta: "Hi" }),
        cancel: () => void (cancelled = true)
      })
      const chat = chatDriver({
        ...model,
        doStream: async ({ abortSignal }: LanguageModelV4CallOptions) => {
          if (abortSignal !== undefined) signals.push(abortSignal)
          return { stream }
        }
      })
      yield* chat(request("p")).pipe(Stream.take(1), Stream.runDrain)
      assert.isTrue(signals[0]?.aborted)
      assert.isTrue(cancelled)
    })
  )

  it.effect("aborts the request when it is interrupted before the answer", () =>
    Effect.gen(function* () {
      const { signals, model } = waiting()
      const chat = chatDriver({
        ...model,
        doStream: ({ abortSignal }: LanguageModelV4CallOptions) => {
          if (abortSignal !== undefined) signals.push(abortSignal)
          return new Promise<never>(() => {})
        }
      })
      const listening = yield* Effect.forkChild(Stream.runDrain(chat(request("p"))), { startImmediately: true })
      while (signals.length === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(listening)
      assert.isTrue(signals[0]?.aborted)
    })
  )
})

describe("embeddings", () => {
  const wanted: EmbeddingRequest = {
    provider: "p",
    model: "model-1",
    texts: ["a", "b", "c"],
    dimensions: 2,
    purpose: "query",
    apiKey: null
  }
  const embedding = (
    doEmbed: EmbeddingModelV4["doEmbed"],
    maxEmbeddingsPerCall?: EmbeddingModelV4["maxEmbeddingsPerCall"]
  ) => {
    const { embedding: driver } = AiSdk.provider({
      id: "p",
      embeddingModel: () => ({
        specificationVersion: "v4",
        provider: "hand",
        modelId: "made",
        supportsParallelCalls: true,
        maxEmbeddingsPerCall,
        doEmbed
      }),
      embeddingOptions: ({ purpose }) => ({ vendor: { inputType: purpose } })
    })
    return driver ?? assert.fail("no embeddings")
  }

  it.effect("asks as often as the model needs, and adds up", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const driver = embedding(async ({ abortSignal: _, ...options }) => {
        asked.push(options)
        return { embeddings: options.values.map((value) => [value.length, 0]), usage: { tokens: 2 }, warnings: [] }
      }, Promise.resolve(2))
      const answer = yield* driver.embed(wanted)
      const rest = { dimensions: 2, providerOptions: { vendor: { inputType: "query" } } }
      assert.deepEqual(asked, [
        { values: ["a", "b"], ...rest },
        { values: ["c"], ...rest }
      ])
      assert.deepEqual(
        answer.vectors,
        [1, 2, 3].map(() => new Float32Array([1, 0]))
      )
      assert.deepEqual(answer.usage, { ...noUsage, inputTokens: 4 })
    })
  )

  it.effect("tells with an error what the calls before it have used", () =>
    Effect.gen(function* () {
      const driver = embedding(
        ({ values }) =>
          values.includes("c")
            ? Promise.reject(apiError(500))
            : Promise.resolve({ embeddings: values.map(() => [1, 0]), usage: { tokens: 2 }, warnings: [] }),
        Promise.resolve(1)
      )
      const failed = yield* Effect.flip(driver.embed(wanted))
      assert.deepEqual(failed.usage, { ...noUsage, inputTokens: 4 })
    })
  )

  it.effect("counts what the model does not tell, and reports what it throws", () =>
    Effect.gen(function* () {
      const silent = embedding(async ({ values }) => ({ embeddings: values.map(() => [1, 0]), warnings: [] }))
      assert.isTrue((yield* silent.embed(wanted)).usage.estimated)
      const failing = embedding(() => Promise.reject(apiError(429, { responseHeaders: { "retry-after-ms": "5" } })))
      const failure = yield* Effect.flip(failing.embed(wanted))
      assert.deepInclude(failure, { reason: "rate_limited", retryAfterMillis: 5, provider: "p", model: "model-1" })
    })
  )

  it.effect("is aborted when nobody waits any more", () =>
    Effect.gen(function* () {
      const signals: Array<AbortSignal> = []
      const driver = embedding(({ abortSignal }) => {
        if (abortSignal !== undefined) signals.push(abortSignal)
        return new Promise(() => {})
      })
      const waiting = yield* Effect.forkChild(driver.embed(wanted), { startImmediately: true })
      while (signals.length === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(waiting)
      assert.isTrue(signals[0]?.aborted)
    })
  )
})
