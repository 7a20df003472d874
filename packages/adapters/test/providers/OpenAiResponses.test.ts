/** The odd corners of OpenAI Responses: what an answer keeps for the next request, and what else its events may bring. */
import { assert, describe, it } from "@effect/vitest"
import { type ModelInfo } from "@colloquy/core"
import { type ChatEvent, type ChatMessage, type ChatRequest, describeModel } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import * as OpenAiResponses from "../../src/protocols/OpenAiResponses.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import { model, request } from "./Scenarios.ts"
import { response } from "./vendors/OpenAiResponses.ts"

const read = (chunks: ReadonlyArray<unknown>, asked: Partial<ChatRequest> = {}) => {
  let made = 0
  const state = OpenAiResponses.start(request("p", asked), () => `made-${++made}`)
  const events: Array<ChatEvent> = []
  const stop = chunks.map((chunk) => OpenAiResponses.step(state, chunk, events)).find((each) => each !== undefined)
  if (typeof stop !== "object") OpenAiResponses.end(state, events)
  return { events, fault: typeof stop === "object" ? stop : undefined }
}

const added = (output_index: number, item: object) => ({ type: "response.output_item.added", output_index, item })
const done = (output_index: number, item: object) => ({ type: "response.output_item.done", output_index, item })
const say = (output_index: number, delta: string) => ({
  type: "response.output_text.delta",
  output_index,
  content_index: 0,
  delta
})
const summarize = (summary_index: number, delta: string) => ({
  type: "response.reasoning_summary_text.delta",
  output_index: 0,
  summary_index,
  delta
})
const completed = { type: "response.completed", response: response("completed") }

const reasoning = (id: string) => ({ id, type: "reasoning", summary: [], encrypted_content: `opaque-${id}` })
const message = (id: string, text: string, phase?: string) => ({
  id,
  type: "message",
  role: "assistant",
  status: "completed",
  ...(phase === undefined ? {} : { phase }),
  content: [{ type: "output_text", text, annotations: [] }]
})
const call = (id: string, name: string, written: string) => ({
  id: `fc_${id}`,
  type: "function_call",
  call_id: id,
  name,
  arguments: written,
  status: "completed"
})

const joinedText = (tag: "TextDelta" | "ReasoningDelta", events: ReadonlyArray<ChatEvent>) =>
  events.map((event) => (event._tag === tag ? event.text : "")).join("")
const tagged = <Tag extends ChatEvent["_tag"]>(tag: Tag, events: ReadonlyArray<ChatEvent>) =>
  events.filter((event): event is Extract<ChatEvent, { _tag: Tag }> => event._tag === tag)
const finishedEvent = (events: ReadonlyArray<ChatEvent>) => tagged("Finished", events)[0] ?? assert.fail("not finished")

/** The answer as the kernel stores it and sends it again. */
const stored = (events: ReadonlyArray<ChatEvent>, provider = "p"): ChatMessage => {
  const data: Schema.Json = finishedEvent(events).providerData
  return {
    role: "assistant",
    content: joinedText("TextDelta", events),
    toolCalls: tagged("ToolCallReady", events).map((event) => event.call),
    providerData: data === null ? null : { provider, data }
  }
}

const loweredInput = (...messages: ReadonlyArray<ChatMessage>) =>
  OpenAiResponses.lower(request("p", { messages })).input

describe("what an answer keeps", () => {
  const answer = [
    done(0, { ...reasoning("rs_1"), status: "completed" }),
    done(1, message("msg_1", "Let me look.", "commentary")),
    done(2, reasoning("rs_2")),
    done(3, call("call_1", "get_time", '{"zone":"UTC"}')),
    done(4, call("call_2", "get_zone", "")),
    completed
  ]
  const inOrder = [
    reasoning("rs_1"),
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Let me look." }],
      phase: "commentary"
    },
    reasoning("rs_2"),
    { type: "function_call", call_id: "call_1", name: "get_time", arguments: '{"zone":"UTC"}' },
    { type: "function_call", call_id: "call_2", name: "get_zone", arguments: "{}" }
  ]

  it("reasoning, words and calls go back in the order in which they came", () => {
    const { events } = read(answer)
    assert.strictEqual(finishedEvent(events).reason, "tool_calls")
    assert.deepEqual<unknown>(loweredInput(stored(events)), inOrder)
  })

  it("another provider's items are not sent", () => {
    const { events } = read(answer)
    const plain = inOrder.filter((item) => item.type !== "reasoning").map((item) => ({ ...item }))
    for (const item of plain) delete (item as { phase?: string }).phase
    assert.deepEqual<unknown>(loweredInput(stored(events, "somebody else")), plain)
  })

  it("what one model encrypted is not sent to another", () => {
    const asked = request("p", { model: "model-2", messages: [stored(read(answer).events)] })
    assert.deepEqual(
      OpenAiResponses.lower(asked).input.map((item) => item.type),
      ["message", "function_call", "function_call"]
    )
  })

  it("two messages come apart in the text, and go back as they came", () => {
    const { events } = read([
      done(0, message("msg_1", "I look it up.", "commentary")),
      done(1, message("msg_2", "It is noon.", "final_answer")),
      completed
    ])
    assert.strictEqual(joinedText("TextDelta", events), "I look it up.\n\nIt is noon.")
    assert.deepEqual(
      loweredInput(stored(events)).map(
        (item) => item.type === "message" && [item.content[0], "phase" in item && item.phase]
      ),
      [
        [{ type: "output_text", text: "I look it up." }, "commentary"],
        [{ type: "output_text", text: "It is noon." }, "final_answer"]
      ]
    )
  })

  it("is not used when the message says something else by now", () => {
    const { events } = read(answer)
    const edited = { ...stored(events), content: "Something else." }
    assert.deepEqual<unknown>(loweredInput(edited as ChatMessage), [
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Something else." }] },
      ...inOrder.slice(3)
    ])
  })

  it("reasoning without its secret, or that led to nothing, is left out", () => {
    const open = { id: "rs_1", type: "reasoning", summary: [] }
    assert.isNull(finishedEvent(read([done(0, open), done(1, message("m", "Hi")), completed]).events).providerData)
    const { events } = read([done(0, message("m", "Hi")), done(1, reasoning("rs_1")), completed])
    assert.deepEqual(
      loweredInput(stored(events)).map((item) => item.type),
      ["message"]
    )
  })

  it("the secret of an item that has only begun is not kept", () => {
    const { events } = read([
      added(0, reasoning("rs_1")),
      say(1, "Hi"),
      { type: "response.incomplete", response: response("incomplete") }
    ])
    assert.isNull(finishedEvent(events).providerData)
  })
})

describe("events", () => {
  it("what is repeated is said once", () => {
    const { events } = read([
      added(0, { ...message("m", ""), content: [] }),
      say(0, "Good "),
      say(0, "morning."),
      { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Good morning." },
      done(0, message("m", "Good morning.")),
      { type: "response.completed", response: response("completed", { output: [message("m", "Good morning.")] }) }
    ])
    assert.strictEqual(joinedText("TextDelta", events), "Good morning.")
  })

  it("an item whose id changes on the way is found by its place", () => {
    const { events } = read([
      added(0, { ...call("call_1", "f", ""), id: "one" }),
      { type: "response.function_call_arguments.delta", output_index: 0, item_id: "two", delta: '{"a"' },
      { type: "response.function_call_arguments.done", output_index: 0, item_id: "three", arguments: '{"a":1}' },
      completed
    ])
    assert.deepEqual(tagged("ToolCallReady", events)[0]?.call, { id: "call_1", name: "f", arguments: '{"a":1}' })
  })

  it("two calls with one id are two calls", () => {
    const { events } = read([done(0, call("a", "f", "{}")), done(1, call("a", "f", "{}")), completed])
    assert.deepEqual(
      tagged("ToolCallReady", events).map((event) => event.call.id),
      ["a", "made-1"]
    )
  })

  it("items of different kinds in one place are items of their own, as LiteLLM sends them", () => {
    const thought = { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] }
    const { events } = read([
      added(0, { ...thought, summary: null }),
      { type: "response.reasoning_summary_text.delta", output_index: 0, item_id: "rs_1", delta: "Hm." },
      { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 0, item_id: "rs_1", text: "Hm." },
      done(0, thought),
      say(0, "Good "),
      say(0, "morning."),
      added(0, call("call_1", "f", "")),
      { type: "response.function_call_arguments.delta", output_index: 0, item_id: "call_1", delta: '{"a":1}' },
      { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Good morning." },
      done(0, message("m", "Good morning.")),
      completed
    ])
    assert.strictEqual(joinedText("ReasoningDelta", events), "Hm.")
    assert.strictEqual(joinedText("TextDelta", events), "Good morning.")
    assert.deepEqual(tagged("ToolCallReady", events)[0]?.call, { id: "call_1", name: "f", arguments: '{"a":1}' })
  })

  it("two calls in one place are two calls", () => {
    const { events } = read([
      added(0, call("a", "f", "")),
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"x":1}' },
      done(0, call("a", "f", '{"x":1}')),
      added(0, call("b", "g", "")),
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"x":2}' },
      done(0, call("b", "g", '{"x":2}')),
      completed
    ])
    assert.deepEqual(
      tagged("ToolCallReady", events).map((event) => event.call),
      [
        { id: "a", name: "f", arguments: '{"x":1}' },
        { id: "b", name: "g", arguments: '{"x":2}' }
      ]
    )
  })

  it("without places, items are found by their ids", () => {
    const { events } = read([
      { type: "response.output_item.added", item: call("a", "f", "") },
      { type: "response.output_item.added", item: call("b", "f", "") },
      { type: "response.function_call_arguments.delta", item_id: "fc_a", delta: '{"x":1}' },
      { type: "response.function_call_arguments.delta", item_id: "fc_b", delta: '{"x":2}' },
      completed
    ])
    assert.deepEqual(
      tagged("ToolCallReady", events).map((event) => event.call.arguments),
      ['{"x":1}', '{"x":2}']
    )
  })

  it("parts of a summary are paragraphs", () => {
    const { events } = read([summarize(0, "First"), summarize(0, " this."), summarize(1, "Then that."), completed])
    assert.strictEqual(joinedText("ReasoningDelta", events), "First this.\n\nThen that.")
  })

  it("the reasoning text of an open model is reasoning", () => {
    const { events } = read([
      { type: "response.reasoning_text.delta", output_index: 0, content_index: 0, delta: "Hm." },
      completed
    ])
    assert.strictEqual(joinedText("ReasoningDelta", events), "Hm.")
  })

  it("a cited page is a source, once; a cited file is none", () => {
    const citation = {
      type: "url_citation",
      url: "https://example.org/",
      title: "Example",
      start_index: 0,
      end_index: 2
    }
    const { events } = read([
      { type: "response.output_text.annotation.added", output_index: 0, annotation: citation },
      {
        type: "response.output_text.annotation.added",
        output_index: 0,
        annotation: { type: "file_citation", file_id: "f" }
      },
      done(0, { ...message("m", ""), content: [{ type: "output_text", text: "Hi", annotations: [citation] }] }),
      completed
    ])
    assert.deepEqual(tagged("Source", events), [{ _tag: "Source", url: "https://example.org/", title: "Example" }])
  })

  it("a finished image is media, once", () => {
    const image = {
      id: "ig_1",
      type: "image_generation_call",
      status: "completed",
      result: "AAEC",
      output_format: "webp"
    }
    const { events } = read([
      added(0, { ...image, result: null, status: "in_progress" }),
      { type: "response.image_generation_call.partial_image", output_index: 0, partial_image_b64: "AA" },
      done(0, image),
      completed
    ])
    assert.deepEqual(tagged("Media", events), [
      { _tag: "Media", mediaType: "image/webp", bytes: new Uint8Array([0, 1, 2]) }
    ])
  })

  it("unknown events and items mean nothing", () => {
    const { events } = read([
      { type: "response.something.new", output_index: 0, delta: "?" },
      { type: "constructor" },
      { type: "response.mcp_call_arguments.delta", item_id: "m", delta: "{}" },
      done(0, { type: "web_search_call", id: "ws_1", status: "completed" }),
      done(1, { type: "something_new" }),
      null,
      [],
      "text",
      say(2, "Hi"),
      completed
    ])
    assert.deepEqual(
      events.map((event) => event._tag),
      ["TextDelta", "Finished"]
    )
  })

  it("a whole response in place of a stream is read like one", () => {
    const output = [reasoning("rs_1"), message("m", "Hi"), call("call_1", "f", "{}")]
    const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
    const { events } = read([response("completed", { output, usage })])
    assert.strictEqual(joinedText("TextDelta", events), "Hi")
    assert.deepInclude(tagged("Usage", events)[0]?.usage, { inputTokens: 3, outputTokens: 2, estimated: false })
    assert.deepEqual(stored(events).role === "assistant" && loweredInput(stored(events)).map((item) => item.type), [
      "reasoning",
      "message",
      "function_call"
    ])
  })
})

describe("a broken server", () => {
  const junk = [
    undefined,
    null,
    7,
    -1,
    1e300,
    "",
    "text",
    true,
    [],
    [null],
    {},
    { type: "message" },
    { object: "response" }
  ]
  const types = ["created", "completed", "incomplete", "failed", "output_item.added", "output_item.done"]
  const texts = ["output_text", "refusal", "reasoning_summary_text", "reasoning_text", "function_call_arguments"]
  const parts = texts.flatMap((each) => [`${each}.delta`, `${each}.done`])
  const every = [...types, ...parts, "output_text.annotation.added"].map((each) => `response.${each}`)
  const fields = [
    "response",
    "item",
    "delta",
    "text",
    "arguments",
    "refusal",
    "annotation",
    "output_index",
    "content_index"
  ]

  it.each([...every, "error"])("cannot break the reading of %s", (type) => {
    for (const value of junk) {
      for (const field of fields)
        read([
          { type, [field]: value },
          { type, ...Object.fromEntries(fields.map((f) => [f, value])) }
        ])
      for (const kind of ["message", "reasoning", "function_call", "image_generation_call"]) {
        const inner = [
          "id",
          "call_id",
          "name",
          "arguments",
          "content",
          "summary",
          "result",
          "phase",
          "encrypted_content"
        ]
        for (const field of inner) read([{ type, output_index: 0, item: { type: kind, [field]: value } }, completed])
      }
    }
  })
})

describe("ends", () => {
  const incomplete = (reason: string | null) => ({
    type: "response.incomplete",
    response: response("incomplete", { incomplete_details: reason === null ? null : { reason } })
  })

  it("tells why an answer is incomplete", () => {
    const finishReason = (reason: string | null) =>
      finishedEvent(read([say(0, "Once"), incomplete(reason)]).events).reason
    assert.deepEqual(["max_output_tokens", "content_filter", "max_messages", null].map(finishReason), [
      "length",
      "filtered",
      "length",
      "length"
    ])
  })

  it("a call that the length cut in two is none", () => {
    const { events } = read([
      added(0, call("a", "f", "")),
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"x":' },
      incomplete("max_output_tokens")
    ])
    assert.isEmpty(tagged("ToolCallReady", events))
    assert.strictEqual(finishedEvent(events).reason, "length")
  })

  it("an answer without its last event, or that was cancelled, is not finished", () => {
    assert.isEmpty(tagged("Finished", read([say(0, "Hi")]).events))
    assert.isEmpty(tagged("Finished", read([say(0, "Hi"), response("cancelled")]).events))
  })

  it.each([
    [{ type: "error", code: "rate_limit_exceeded", message: "wait", param: null }, "rate_limited"],
    [
      { type: "error", error: { type: "invalid_request_error", code: "context_length_exceeded", message: "no" } },
      "context_too_long"
    ],
    [{ type: "error", code: null, message: "no" }, "unknown"],
    [
      { type: "response.failed", response: response("failed", { error: { code: "server_error", message: "no" } }) },
      "overloaded"
    ],
    [
      { type: "response.failed", response: response("failed", { error: { code: "bio_policy", message: "no" } }) },
      "refused"
    ],
    [{ type: "response.failed", response: response("failed") }, "unknown"],
    [{ error: { message: "no", type: "server_error", code: null } }, "overloaded"]
  ])("%j is the error %s", (chunk, reason) => {
    assert.strictEqual(read([say(0, "Hi"), chunk]).fault?.reason, reason)
  })
})

describe("requests", () => {
  const lowered = (asked: Partial<ChatRequest>, info: Partial<ModelInfo> = {}) =>
    OpenAiResponses.lower(
      request("p", { info: describeModel({ name: model, provider: "p", modelType: "llm", ...info }), ...asked })
    )
  const controls = (...efforts: ReadonlyArray<string>) => ({
    thinkingControls: { efforts, budget: false, style: null }
  })

  it.each([
    ["max, where it is known", { effort: "max" }, controls("high", "xhigh", "max"), { effort: "max", summary: "auto" }],
    ["the highest that is known", { effort: "max" }, controls("high", "xhigh"), { effort: "xhigh", summary: "auto" }],
    ["no word for it", { effort: "low" }, controls("high"), { summary: "auto" }],
    ["nothing to say", { excludeReasoning: true }, {}, undefined],
    ["no reasoning", { budgetTokens: 0 }, {}, { effort: "none" }],
    ["a model that does not reason", { effort: "low" }, { supportsThinking: false }, undefined]
  ] as const)("thinking: %s", (_name, thinking, info, expected) => {
    assert.deepEqual((lowered({ thinking }, info) as { reasoning?: unknown }).reasoning, expected)
  })

  it("a model that is known not to reason is not asked for what it would refuse", () => {
    assert.notProperty(lowered({}, { supportsThinking: false }), "include")
    const describeByName = OpenAi.provider().describe ?? assert.fail("no descriptions")
    assert.strictEqual(describeByName("gpt-4o-mini")?.supportsThinking, false)
    assert.isUndefined(describeByName("gpt-9")?.supportsThinking)
    const host = OpenAi.provider({ models: { "gpt-4x": { supportsThinking: true } } })
    assert.strictEqual(host.describe?.("gpt-4x")?.supportsThinking, true)
  })

  it("a model with ears gets sound, in the forms that the wire has", () => {
    const sound = (mediaType: string) => ({
      type: "audio" as const,
      mediaType,
      filename: null,
      source: { bytes: new Uint8Array([1]) }
    })
    const content = [sound("audio/x-wav"), sound("audio/mpeg"), sound("audio/ogg")]
    const [item] = lowered({ messages: [{ role: "user", content }] }, { supportsAudioInput: true }).input
    assert.deepEqual(
      item?.type === "message" &&
        item.content.map((part) => ("input_audio" in part ? part.input_audio.format : part.type)),
      ["wav", "mp3", "input_text"]
    )
  })
})
