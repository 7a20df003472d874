/** The odd corners of Gemini: signed parts and their places, calls without ids, ends that are none, and what may not be sent. */
import { assert, describe, it } from "@effect/vitest"
import { type ModelInfo } from "@colloquy/core"
import { type ChatEvent, type ChatMessage, type ChatRequest, describeModel } from "@colloquy/core/adapters"
import type { Content } from "@google/genai"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { toFault } from "../../src/protocols/GeminiErrors.ts"
import * as Gemini from "../../src/protocols/Gemini.ts"
import * as Provider from "../../src/providers/Gemini.ts"
import { model, request } from "./Scenarios.ts"

const read = (chunks: ReadonlyArray<unknown>, asked: Partial<ChatRequest> = {}) => {
  let made = 0
  const state = Gemini.start(request("p", asked), () => `made-${++made}`)
  const events: Array<ChatEvent> = []
  const fault = chunks.map((chunk) => Gemini.step(state, chunk, events)).find((each) => each !== undefined)
  if (fault === undefined) Gemini.end(state, events)
  return { events, fault }
}

const parts = (...each: ReadonlyArray<unknown>) => ({ candidates: [{ content: { role: "model", parts: each } }] })
const finish = (finishReason: string, more: object = {}) => ({ candidates: [{ finishReason, ...more }] })
const stop = finish("STOP")

const finishedEvent = (events: ReadonlyArray<ChatEvent>) =>
  events.find((event) => event._tag === "Finished") ?? assert.fail("not finished")
const readyCalls = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((event) => (event._tag === "ToolCallReady" ? [event.call] : []))
const lastUsage = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((event) => (event._tag === "Usage" ? [event.usage] : [])).at(-1)
const joinedText = (events: ReadonlyArray<ChatEvent>) =>
  events.map((event) => (event._tag === "TextDelta" ? event.text : "")).join("")

const lower = (given: Partial<ChatRequest>, settings: Partial<Gemini.GeminiDialect> = {}) =>
  Gemini.lower(request("p", given), { thinkingStyle: "level", ...settings })

const user = (text: string): ChatMessage => ({ role: "user", content: [{ type: "text", text }] })
const result = (toolCallId: string, toolName: string, output: string): ChatMessage => ({
  role: "tool",
  toolCallId,
  toolName,
  output
})
/** What the kernel keeps of an answer. */
const storedAnswer = (events: ReadonlyArray<ChatEvent>, provider = "p"): ChatMessage => {
  const data = finishedEvent(events).providerData
  return {
    role: "assistant",
    content: joinedText(events),
    toolCalls: readyCalls(events),
    providerData: data === null ? null : { provider, data }
  }
}

describe("a picture", () => {
  const sent = (mediaType: string) => {
    const content = [{ type: "image", mediaType, filename: "a", source: { bytes: Uint8Array.of(1) } } as const]
    return lower({ messages: [{ role: "user", content }] })
  }
  it("goes inline, and one of a type that the vendor refuses is named in words", () => {
    const inline = { inlineData: { mimeType: "image/webp", data: "AQ==" } }
    assert.deepInclude(sent("image/webp"), { contents: [{ role: "user", parts: [inline] }] })
    const words = { text: '["a" (image/gif) is attached, but this model cannot read it.]' }
    assert.deepInclude(sent("image/gif"), { contents: [{ role: "user", parts: [words] }] })
  })
})

describe("signatures in a tool loop of two rounds", () => {
  const first = read([
    parts({ text: "Two zones.", thought: true }),
    parts({ text: "Let " }),
    parts({ text: "me look." }),
    parts({ functionCall: { id: "fc1", name: "get_time", args: { zone: "UTC" } }, thoughtSignature: "s1" }),
    parts({ functionCall: { id: "fc2", name: "get_zone" } }),
    stop
  ])
  const second = read([parts({ functionCall: { name: "get_time", args: {} }, thoughtSignature: "s2" }), stop])
  const third = read([parts({ text: "It is ten." }), parts({ text: "", thoughtSignature: "s3" }), stop])
  const loop = [
    user("What time is it?"),
    storedAnswer(first.events),
    result("fc1", "get_time", "10:00"),
    result("fc2", "get_zone", '{"zone":"CET"}'),
    storedAnswer(second.events),
    result("made-1", "get_time", "11:00"),
    storedAnswer(third.events),
    user("Thanks")
  ]

  it("go back on their parts, and an id that was made up does not", () => {
    const contents: ReadonlyArray<Content> = [
      { role: "user", parts: [{ text: "What time is it?" }] },
      {
        role: "model",
        parts: [
          { text: "Let me look." },
          { functionCall: { id: "fc1", name: "get_time", args: { zone: "UTC" } }, thoughtSignature: "s1" },
          { functionCall: { id: "fc2", name: "get_zone", args: {} } }
        ]
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "fc1", name: "get_time", response: { output: "10:00" } } },
          { functionResponse: { id: "fc2", name: "get_zone", response: { output: '{"zone":"CET"}' } } }
        ]
      },
      { role: "model", parts: [{ functionCall: { name: "get_time", args: {} }, thoughtSignature: "s2" }] },
      { role: "user", parts: [{ functionResponse: { name: "get_time", response: { output: "11:00" } } }] },
      { role: "model", parts: [{ text: "It is ten." }, { text: "", thoughtSignature: "s3" }] },
      { role: "user", parts: [{ text: "Thanks" }] }
    ]
    assert.deepStrictEqual<unknown>(lower({ messages: loop }).contents, contents)
  })

  it("are the same bytes from step to step", () => {
    const bytes = [1, 4, 6, 8].map((length) =>
      JSON.stringify(lower({ messages: loop.slice(0, length) }).contents).slice(0, -1)
    )
    for (const [index, each] of bytes.slice(1).entries()) assert.isTrue(each.startsWith(bytes[index] ?? "-"))
  })

  it("go neither to another provider nor to another model", () => {
    const elsewhere = [user("?"), storedAnswer(first.events, "another"), result("fc1", "get_time", "")]
    for (const contents of [
      lower({ messages: elsewhere }).contents,
      lower({ model: "m-2", messages: loop }).contents
    ]) {
      assert.deepStrictEqual<unknown>(contents[1]?.parts, [
        { text: "Let me look." },
        { functionCall: { name: "get_time", args: { zone: "UTC" } } },
        { functionCall: { name: "get_zone", args: {} } }
      ])
      assert.notInclude(JSON.stringify(contents[2]), '"id"')
    }
  })

  it("stay on parts of every kind, and are never joined", () => {
    const { events } = read([
      parts({ text: "a", thoughtSignature: "1" }, { text: "b", thoughtSignature: "2" }, { text: "c" }, { text: "d" }),
      parts({ text: "why", thought: true, thoughtSignature: "3" }, { ofTomorrow: { x: 1 }, thoughtSignature: "4" }),
      stop
    ])
    assert.deepStrictEqual<unknown>(lower({ messages: [user("?"), storedAnswer(events)] }).contents[1]?.parts, [
      { text: "a", thoughtSignature: "1" },
      { text: "b", thoughtSignature: "2" },
      { text: "cd" },
      { text: "why", thought: true, thoughtSignature: "3" },
      { ofTomorrow: { x: 1 }, thoughtSignature: "4" }
    ])
  })

  it("answers without any need no data", () => {
    assert.isNull(
      finishedEvent(read([parts({ text: "Hi" }), parts({ text: "hm", thought: true }), stop]).events).providerData
    )
  })
})

describe("parts", () => {
  it("calls get ids when they have none, or one that is taken", () => {
    const { events } = read([
      parts({ functionCall: { id: "a", name: "f", args: { x: 1 } } }, { functionCall: { id: "a", name: "g" } }),
      parts({ functionCall: { id: "", name: "h", args: null } }, { functionCall: { id: "nameless" } }),
      stop
    ])
    assert.deepStrictEqual(readyCalls(events), [
      { id: "a", name: "f", arguments: '{"x":1}' },
      { id: "made-1", name: "g", arguments: "{}" },
      { id: "made-2", name: "h", arguments: "{}" }
    ])
    assert.strictEqual(finishedEvent(events).reason, "tool_calls")
  })

  it("images and sounds come as media, but not those of its thoughts; sources once each", () => {
    const web = { uri: "https://example.org", title: "T" }
    const grounding = { groundingMetadata: { groundingChunks: [{ web }, { web }, { web: { uri: 7 } }, null] } }
    const { events } = read([
      parts({ inlineData: { mimeType: "image/png", data: "AQI=" }, thought: true }),
      parts(
        { inlineData: { mimeType: "image/png", data: "AQI=" }, thoughtSignature: "s" },
        { inlineData: { data: "" } }
      ),
      { candidates: [{ ...grounding, finishReason: "STOP" }] }
    ])
    assert.deepStrictEqual(events, [
      { _tag: "Media", mediaType: "image/png", bytes: Uint8Array.of(1, 2) },
      { _tag: "Source", url: "https://example.org", title: "T" },
      { _tag: "Finished", reason: "stop", model: null, providerData: null }
    ])
  })

  it("that are broken in every way do not matter", () => {
    const nonsense = [null, 1, "x", {}, { candidates: {} }, { candidates: [null] }, parts(null, 7, { text: 7 }), [[[]]]]
    const { events } = read([...nonsense, parts({ functionCall: [] }, { inlineData: 1 }), finish("toString")])
    assert.deepStrictEqual(events, [{ _tag: "Finished", reason: "stop", model: null, providerData: null }])
  })

  it("may come in one array, as without server-sent events", () => {
    assert.strictEqual(joinedText(read([[parts({ text: "a" }), parts({ text: "b" }), stop]]).events), "ab")
    assert.strictEqual(read([[{ error: { status: "UNAVAILABLE" } }]]).fault?.reason, "overloaded")
  })

  it("without a reason for the end are no answer", () => {
    assert.deepStrictEqual(read([parts({ text: "a" })]).events, [{ _tag: "TextDelta", text: "a" }])
  })
})

describe("ends", () => {
  const call = parts({ functionCall: { name: "f" } })
  const reasons = {
    STOP: "stop",
    MAX_TOKENS: "length",
    SAFETY: "filtered",
    RECITATION: "filtered",
    SPII: "filtered",
    IMAGE_SAFETY: "filtered",
    CONTINUATION: "continue",
    OF_TOMORROW: "stop"
  }
  for (const [word, reason] of Object.entries(reasons)) {
    it(`${word} is ${reason}`, () =>
      assert.strictEqual(finishedEvent(read([parts({ text: "a" }), finish(word)]).events).reason, reason))
  }

  it("a filter takes the calls back", () => {
    const { events } = read([call, finish("SAFETY")])
    assert.deepStrictEqual([readyCalls(events), finishedEvent(events).providerData], [[], null])
  })

  const failures = { MALFORMED_FUNCTION_CALL: "malformed", UNEXPECTED_TOOL_CALL: "malformed", OTHER: "unknown" }
  for (const [code, reason] of Object.entries(failures)) {
    it(`${code} is ${reason}`, () => assert.deepStrictEqual<unknown>(read([finish(code)]).fault, { reason, code }))
  }

  it("a blocked prompt is refused", () => {
    const { fault } = read([{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: {} }])
    assert.deepStrictEqual(fault, { reason: "refused", code: "PROHIBITED_CONTENT" })
  })

  it("an interrupted answer goes on for its token, with what was asked and nothing more", () => {
    const half = read([parts({ text: "a" }), finish("CONTINUATION", { continuationToken: "t1" })])
    const next = read([parts({ text: "b" }), finish("CONTINUATION", { continuationToken: "t2" })])
    const asked = [user("?"), storedAnswer(half.events), storedAnswer(next.events)]
    assert.deepStrictEqual<unknown>(lower({ messages: asked }), {
      contents: [{ role: "user", parts: [{ text: "?" }] }],
      continuationToken: "t2"
    })
    assert.deepStrictEqual<unknown>(lower({ messages: [...asked, user("!")] }).contents[1], {
      role: "model",
      parts: [{ text: "a" }, { text: "b" }]
    })
  })
})

describe("usage", () => {
  it("adds thoughts to the output, and takes the last figures", () => {
    const { events } = read([
      { ...parts({ text: "a" }), usageMetadata: { promptTokenCount: 20 } },
      {
        ...stop,
        usageMetadata: {
          promptTokenCount: 20,
          cachedContentTokenCount: 15,
          toolUsePromptTokenCount: 5,
          candidatesTokenCount: 9,
          thoughtsTokenCount: 40
        }
      }
    ])
    assert.deepStrictEqual(lastUsage(events), {
      inputTokens: 25,
      outputTokens: 49,
      cachedInputTokens: 15,
      cacheWriteTokens: 0,
      reasoningTokens: 40,
      costUsd: null,
      estimated: false
    })
  })

  it("stays when a later chunk has none, and is unknown without any", () => {
    const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 9 }
    const without = { usageMetadata: { trafficType: "ON_DEMAND" } }
    const { events } = read([
      { ...parts({ text: "a" }), usageMetadata },
      { ...stop, ...without }
    ])
    assert.deepInclude(lastUsage(events), { inputTokens: 20, outputTokens: 9 })
    assert.isFalse(read([{ ...parts({ text: "a" }), ...without }, stop]).events.some(({ _tag }) => _tag === "Usage"))
  })
})

describe("the name of a model", () => {
  for (const name of ["models/model-1", "model-1"])
    it.effect(`may have its folder (${name}), in every protocol`, () =>
      Effect.gen(function* () {
        const urls: Array<string> = []
        const { chat, embedding, nextToken } = Provider.provider({
          baseUrl: "http://127.0.0.1/v1",
          fetch: async (url) => {
            urls.push(new Request(url).url)
            return Response.json({ error: { status: "NOT_FOUND" } }, { status: 404 })
          }
        })
        const asked = { ...request("p"), model: name }
        yield* Effect.ignore(Stream.runDrain(chat?.(asked) ?? Stream.empty))
        yield* Effect.ignore(
          embedding?.embed({ ...asked, texts: ["a"], dimensions: null, purpose: "query" }) ?? Effect.void
        )
        yield* Effect.ignore(nextToken?.({ ...asked, system: "s", prompt: "q", maxTokens: 1 }) ?? Effect.void)
        assert.deepStrictEqual(urls, [
          "http://127.0.0.1/v1/models/model-1:streamGenerateContent?alt=sse",
          "http://127.0.0.1/v1/models/model-1:batchEmbedContents",
          "http://127.0.0.1/v1/models/model-1:generateContent"
        ])
      })
    )
})

describe("errors", () => {
  const detail = (type: string, fields: object) => ({ "@type": `type.googleapis.com/google.rpc.${type}`, ...fields })
  const retry = detail("RetryInfo", { retryDelay: "34.5s" })
  const quota = (quotaId: string) => detail("QuotaFailure", { violations: [{ quotaId }] })
  const tooLong = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
  const cases: ReadonlyArray<readonly [status: number | null, error: object, expected: object]> = [
    [429, { status: "RESOURCE_EXHAUSTED", details: [retry] }, { reason: "rate_limited", retryAfterMillis: 34_500 }],
    [429, { status: "RESOURCE_EXHAUSTED", details: [quota("RequestsPerMinute")] }, { reason: "rate_limited" }],
    [429, { status: "RESOURCE_EXHAUSTED", details: [quota("RequestsPerDayPerModel"), retry] }, { reason: "quota" }],
    [400, { status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] }, { reason: "auth" }],
    [400, { status: "INVALID_ARGUMENT", message: tooLong }, { reason: "context_too_long" }],
    [400, { status: "INVALID_ARGUMENT", message: "no" }, { reason: "invalid_request" }],
    [403, { status: "PERMISSION_DENIED" }, { reason: "auth", code: "PERMISSION_DENIED" }],
    [404, { status: "NOT_FOUND" }, { reason: "model_not_found" }],
    [504, { status: "DEADLINE_EXCEEDED" }, { reason: "timeout" }],
    [500, {}, { reason: "overloaded", status: 500 }],
    [null, { code: 503, status: "UNAVAILABLE" }, { reason: "overloaded", code: "UNAVAILABLE" }],
    [null, { code: 500, status: "constructor" }, { reason: "unknown" }],
    [null, { details: [null, { violations: 7, retryDelay: "soon", reason: {} }] }, { reason: "unknown" }]
  ]
  for (const [status, error, expected] of cases) {
    it(`${status} ${JSON.stringify(error)}`, () => {
      assert.deepInclude(toFault(status, { error }), expected)
      assert.deepEqual(toFault(status, [{ error }]), toFault(status, { error }))
      if (status === null) assert.deepInclude(read([{ error }]).fault, expected)
    })
  }
})

describe("thinking parameters", () => {
  const controls = (style: string, budget: boolean, ...efforts: ReadonlyArray<string>): Partial<ModelInfo> => ({
    thinkingControls: { style, budget, efforts }
  })
  const byBudget = controls("budget", true, "none", "low", "medium", "high", "max")
  const byLevel = controls("level", false, "minimal", "low", "high")
  const cases: ReadonlyArray<
    readonly [thinking: ChatRequest["thinking"], info: Partial<ModelInfo>, sent: object | undefined]
  > = [
    [null, byLevel, undefined],
    [{}, { supportsThinking: false }, undefined],
    [{}, byLevel, { includeThoughts: true }],
    [{ effort: "max" }, byLevel, { thinkingLevel: "HIGH", includeThoughts: true }],
    [{ effort: "medium", budgetTokens: 99 }, byLevel, { includeThoughts: true }],
    [{ effort: "low", excludeReasoning: true }, byLevel, { thinkingLevel: "LOW", includeThoughts: false }],
    [{ budgetTokens: 0 }, byLevel, { thinkingLevel: "MINIMAL" }],
    [{ budgetTokens: 0 }, controls("level", false, "low"), undefined],
    [{}, byBudget, { thinkingBudget: -1, includeThoughts: true }],
    [{ effort: "max" }, byBudget, { thinkingBudget: 24_576, includeThoughts: true }],
    [{ budgetTokens: 500, effort: "max" }, byBudget, { thinkingBudget: 500, includeThoughts: true }],
    [{ maxTokens: 600 }, byBudget, { thinkingBudget: 600, includeThoughts: true }],
    [{ budgetTokens: 0 }, byBudget, { thinkingBudget: 0 }],
    [{ budgetTokens: 0 }, controls("budget", true, "low"), undefined],
    [{ budgetTokens: 500 }, controls("budget", false), { thinkingBudget: -1, includeThoughts: true }]
  ]
  for (const [thinking, known, sent] of cases) {
    it(`${JSON.stringify(thinking)} for ${JSON.stringify(known)}`, () => {
      const info = describeModel({ name: model, provider: "p", modelType: "llm", ...known })
      const expected = sent === undefined ? undefined : { thinkingConfig: sent }
      assert.deepStrictEqual(lower({ thinking, info }).generationConfig, expected)
    })
  }

  it("are known of the models from before the levels", () => {
    const { describe: known } = Provider.provider({ models: { "gemini-2.5-flash": { contextLimit: 7 } } })
    assert.deepInclude(known?.("gemini-2.5-flash"), { contextLimit: 7 })
    assert.strictEqual(known?.("gemini-2.5-flash")?.thinkingControls?.style, "budget")
    assert.notInclude(known?.("gemini-2.5-pro")?.thinkingControls?.efforts ?? ["none"], "none")
    assert.deepStrictEqual(known?.("gemini-of-tomorrow"), {})
  })
})

describe("the request", () => {
  it("asks for JSON by its type where there are no functions beside it", () => {
    const tools = [{ name: "f", description: null, parameters: null }]
    assert.deepStrictEqual(lower({ jsonOutput: true }).generationConfig, { responseMimeType: "application/json" })
    assert.isUndefined(lower({ jsonOutput: true, tools }).generationConfig)
    assert.include(JSON.stringify(lower({ jsonOutput: true, tools }).systemInstruction), "JSON")
  })

  it("asks a model for images when its entry says so", () => {
    const details = { response_modalities: ["TEXT", "IMAGE"] }
    const info = describeModel({ name: model, provider: "p", modelType: "llm", details })
    assert.deepStrictEqual(lower({ info }).generationConfig, { responseModalities: ["TEXT", "IMAGE"] })
  })

  it("begins with the user, keeps answers to calls apart from words, and holds no empty text", () => {
    const hi: ChatMessage = { role: "assistant", content: "Hi", toolCalls: [], providerData: null }
    const mute: ChatMessage = { ...hi, content: "" }
    const calling: ChatMessage = { ...mute, toolCalls: [{ id: "x", name: "f", arguments: "{broken" }] }
    const { contents } = lower({ messages: [hi, calling, result("x", "f", ""), user("a"), mute, user("")] })
    assert.deepStrictEqual<unknown>(contents, [
      { role: "user", parts: [{ text: "[What came before is left out.]" }] },
      { role: "model", parts: [{ text: "Hi" }, { functionCall: { name: "f", args: {} } }] },
      { role: "user", parts: [{ functionResponse: { name: "f", response: { output: "" } } }] },
      { role: "user", parts: [{ text: "a" }, { text: "[This message is empty.]" }] }
    ])
  })
})
