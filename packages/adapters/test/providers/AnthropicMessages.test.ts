/** The odd corners of Anthropic Messages: thinking and its signatures, blocks in any order, ends that are none, and what may not be sent. */
import type Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { type ModelInfo } from "@colloquy/core"
import { type ChatEvent, type ChatMessage, type ChatRequest, describeModel } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import { toFault } from "../../src/protocols/AnthropicErrors.ts"
import * as AnthropicMessages from "../../src/protocols/AnthropicMessages.ts"
import { record } from "../../src/protocols/Wire.ts"
import { model, request } from "./Scenarios.ts"

const read = (chunks: ReadonlyArray<unknown>, asked: Partial<ChatRequest> = {}) => {
  let made = 0
  const state = AnthropicMessages.start(request("p", asked), () => `made-${++made}`)
  const events: Array<ChatEvent> = []
  const stop = chunks.map((chunk) => AnthropicMessages.step(state, chunk, events)).find((each) => each !== undefined)
  if (typeof stop !== "object") AnthropicMessages.end(state, events)
  return { events, fault: typeof stop === "object" ? stop : undefined }
}

const begin = (usage: object = { input_tokens: 1, output_tokens: 1 }) => ({
  type: "message_start",
  message: { id: "msg_1", role: "assistant", model: "model-1-2026", content: [], stop_reason: null, usage }
})
const open = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block })
const add = (index: number, delta: object) => ({ type: "content_block_delta", index, delta })
const finish = (stop_reason: string | null, usage: object = { output_tokens: 2 }) => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
  { type: "message_stop" }
]

const thinks = (index: number, thought: string, signature: string) => [
  open(index, { type: "thinking", thinking: "", signature: "" }),
  add(index, { type: "thinking_delta", thinking: thought }),
  add(index, { type: "signature_delta", signature })
]
const prose = (index: number, text: string) => [
  open(index, { type: "text", text: "" }),
  add(index, { type: "text_delta", text })
]
const call = (index: number, id: string, ...pieces: ReadonlyArray<string>) => [
  open(index, { type: "tool_use", id, name: "get_time", input: {} }),
  ...pieces.map((partial_json) => add(index, { type: "input_json_delta", partial_json }))
]

const finishedEvent = (events: ReadonlyArray<ChatEvent>) =>
  events.find((event) => event._tag === "Finished") ?? assert.fail("not finished")
const readyCalls = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((event) => (event._tag === "ToolCallReady" ? [event.call] : []))
const lastUsage = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((event) => (event._tag === "Usage" ? [event.usage] : [])).at(-1)

const dialect: AnthropicMessages.MessagesDialect = { maxTokens: 4096, thinkingStyle: "adaptive", promptCache: null }
const lower = (given: Partial<ChatRequest>, settings: Partial<AnthropicMessages.MessagesDialect> = {}) =>
  AnthropicMessages.lower(request("p", given), { ...dialect, ...settings })

const user = (text: string): ChatMessage => ({ role: "user", content: [{ type: "text", text }] })
const result = (toolCallId: string, output: string): ChatMessage => ({
  role: "tool",
  toolCallId,
  toolName: "get_time",
  output
})
/** What the kernel keeps of an answer. */
const storedAnswer = (events: ReadonlyArray<ChatEvent>, provider = "p"): ChatMessage => {
  const data: Schema.Json | null = finishedEvent(events).providerData
  return {
    role: "assistant",
    content: events.map((event) => (event._tag === "TextDelta" ? event.text : "")).join(""),
    toolCalls: readyCalls(events),
    providerData: data === null ? null : { provider, data }
  }
}

describe("thinking in a tool loop of two rounds", () => {
  const first = read([
    begin(),
    ...thinks(0, "Two zones.", "sig-1"),
    open(1, { type: "redacted_thinking", data: "opaque" }),
    ...prose(2, "Let me look."),
    ...call(3, "toolu_1", '{"zone":', '"UTC"}'),
    ...call(4, "toolu_2", ""),
    ...finish("tool_use")
  ])
  const second = read([begin(), ...thinks(0, "", "sig-2"), ...call(1, "toolu_3"), ...finish("tool_use")])
  const loop = [
    user("What time is it?"),
    storedAnswer(first.events),
    result("toolu_1", "10:00"),
    result("toolu_2", "11:00"),
    storedAnswer(second.events),
    result("toolu_3", "12:00")
  ]

  it("goes back as it came, in its place, with all results in one message", () => {
    const messages: ReadonlyArray<Anthropic.MessageParam> = [
      { role: "user", content: [{ type: "text", text: "What time is it?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Two zones.", signature: "sig-1" },
          { type: "redacted_thinking", data: "opaque" },
          { type: "text", text: "Let me look." },
          { type: "tool_use", id: "toolu_1", name: "get_time", input: { zone: "UTC" } },
          { type: "tool_use", id: "toolu_2", name: "get_time", input: {} }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "10:00" },
          { type: "tool_result", tool_use_id: "toolu_2", content: "11:00" }
        ]
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "", signature: "sig-2" },
          { type: "tool_use", id: "toolu_3", name: "get_time", input: {} }
        ]
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_3", content: "12:00" }] }
    ]
    assert.deepStrictEqual<unknown>(lower({ messages: loop }).messages, messages)
  })

  it("is the same bytes from step to step", () => {
    const bytes = [1, 4, 6].map((length) =>
      JSON.stringify(lower({ messages: loop.slice(0, length) }).messages).slice(0, -1)
    )
    assert.isTrue(bytes[1]?.startsWith(bytes[0] ?? "-") && bytes[2]?.startsWith(bytes[1] ?? "-"))
  })

  it("goes neither to another provider nor to another model", () => {
    const plain = [
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "toolu_1", name: "get_time", input: { zone: "UTC" } },
      { type: "tool_use", id: "toolu_2", name: "get_time", input: {} }
    ]
    const elsewhere = [user("?"), storedAnswer(first.events, "another"), result("toolu_1", "")]
    assert.deepStrictEqual<unknown>(lower({ messages: elsewhere }).messages[1]?.content, plain)
    assert.deepStrictEqual<unknown>(lower({ model: "model-2", messages: loop }).messages[1]?.content, plain)
  })

  it("comes before what the user says next", () => {
    const { messages } = lower({ messages: [...loop.slice(0, 4), user("Hurry!")] })
    assert.deepStrictEqual(
      messages[2]?.content.map(({ type }) => type),
      ["tool_result", "tool_result", "text"]
    )
  })
})

describe("what an answer keeps", () => {
  it("nothing, when the message itself tells all of it", () => {
    const { events } = read([begin(), ...prose(0, "Hi"), ...call(1, "toolu_1"), ...finish("tool_use")])
    assert.isNull(finishedEvent(events).providerData)
  })

  it("blocks of the vendor's own tools, unknown ones included, and citations", () => {
    const found = { type: "web_search_tool_result", tool_use_id: "srv_1", content: [{ encrypted_content: "x" }] }
    const citation = {
      type: "web_search_result_location",
      url: "https://example.org",
      title: "T",
      encrypted_index: "i"
    }
    const { events } = read([
      begin(),
      open(0, { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} }),
      add(0, { type: "input_json_delta", partial_json: '{"query":"x"}' }),
      open(1, found),
      ...prose(2, "So it is."),
      add(2, { type: "citations_delta", citation }),
      open(3, { type: "of_tomorrow", data: 1 }),
      open(4, { type: "of_the_day_after" }),
      add(4, { type: "unknown_delta", more: 1 }),
      ...finish("pause_turn")
    ])
    assert.strictEqual(finishedEvent(events).reason, "continue")
    assert.deepStrictEqual<unknown>(lower({ messages: [user("?"), storedAnswer(events)] }).messages[1]?.content, [
      { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "x" } },
      found,
      { type: "text", text: "So it is.", citations: [citation] },
      { type: "of_tomorrow", data: 1 }
    ])
    assert.deepInclude(events, { _tag: "Source", url: "https://example.org", title: "T" })
    assert.isEmpty(readyCalls(events))
  })

  it("no call of the vendor's own tool without its result, once the answer does not go on", () => {
    const search = (id: string) => open(1, { type: "server_tool_use", id, name: "web_search", input: { query: "x" } })
    const found = { type: "web_search_tool_result", tool_use_id: "srv_1", content: [] }
    const cut = (stop: string) =>
      storedAnswer(
        read([begin(), ...thinks(0, "Hm", "sig"), search("srv_1"), open(2, found), search("srv_2"), ...finish(stop)])
          .events
      )
    const types = (messages: ReadonlyArray<ChatMessage>) =>
      lower({ messages }).messages.map(({ content }) => content.map((block) => block.type))
    const whole = ["thinking", "server_tool_use", "web_search_tool_result"]
    assert.deepStrictEqual(types([user("?"), cut("max_tokens"), user("Go on")]), [["text"], whole, ["text"]])
    assert.deepStrictEqual(types([user("?"), cut("pause_turn")]), [["text"], [...whole, "server_tool_use"]])
    const mute = storedAnswer(
      read([begin(), ...thinks(0, "Hm", "sig"), search("srv_3"), ...finish("max_tokens")]).events
    )
    assert.deepStrictEqual(types([user("?"), mute, user("Go on")]), [["text", "text"]])
  })

  it("no thinking that was cut before its signature, or that led to nothing", () => {
    const cut = read([begin(), ...thinks(0, "Hm", ""), ...prose(1, "Hi"), ...finish("max_tokens")])
    assert.isNull(finishedEvent(cut.events).providerData)
    const mute = read([begin(), ...thinks(0, "Hm", "sig"), ...finish("max_tokens")])
    const { messages } = lower({ messages: [user("a"), storedAnswer(mute.events), user("b")] })
    assert.deepStrictEqual<unknown>(messages, [
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" }
        ]
      }
    ])
  })
})

describe("blocks", () => {
  it("may interleave, come without an id, and share one", () => {
    const { events } = read([
      begin(),
      open(0, { type: "tool_use", id: "a", name: "f", input: {} }),
      open(1, { type: "tool_use", id: "a", name: "g", input: { x: 1 } }),
      open(2, { type: "tool_use", name: "h" }),
      open(3, { type: "tool_use", id: "nameless" }),
      add(1, { type: "unknown_delta" }),
      add(0, { type: "input_json_delta", partial_json: "{}" }),
      add(9, { type: "text_delta", text: "to nobody" }),
      ...finish("tool_use")
    ])
    assert.deepStrictEqual(readyCalls(events), [
      { id: "a", name: "f", arguments: "{}" },
      { id: "made-1", name: "g", arguments: '{"x":1}' },
      { id: "made-2", name: "h", arguments: "{}" }
    ])
  })

  it("a call that the length cut in two is none, and one that a refusal took back neither", () => {
    const cut = read([begin(), ...call(0, "a"), ...call(1, "b", '{"zo'), ...finish("max_tokens")])
    assert.deepStrictEqual(readyCalls(cut.events), [{ id: "a", name: "get_time", arguments: "{}" }])
    assert.strictEqual(finishedEvent(cut.events).reason, "tool_calls")
    const alone = read([begin(), ...call(0, "b", '{"zo'), ...finish("model_context_window_exceeded")])
    assert.strictEqual(finishedEvent(alone.events).reason, "length")
    const refused = read([begin(), ...call(0, "a", "{}"), ...finish("refusal")])
    assert.deepStrictEqual([readyCalls(refused.events), finishedEvent(refused.events).reason], [[], "filtered"])
  })

  it("that are broken in every way do not matter", () => {
    const nonsense = [null, [], "x", 1, {}, { type: "constructor" }, { type: "content_block_start" }]
    const more = [
      open(0, { type: 7 }),
      { type: "content_block_delta", index: {}, delta: null },
      { type: "message_start" }
    ]
    const { events } = read([...nonsense, ...more, ...prose(1, "Hi"), ...finish("toString")])
    assert.deepStrictEqual(
      events.map((event) => event._tag),
      ["TextDelta", "Usage", "Finished"]
    )
    assert.strictEqual(finishedEvent(events).reason, "stop")
  })

  it("come all at once from a gateway that does not stream", () => {
    const content = [
      { type: "thinking", thinking: "Hm", signature: "sig" },
      { type: "text", text: "Hi", citations: null },
      { type: "tool_use", id: "a", name: "f", input: { x: 1 } }
    ]
    const usage = { input_tokens: 3, output_tokens: 4 }
    const { events } = read([{ type: "message", model: "m", content, stop_reason: "tool_use", usage }])
    assert.deepStrictEqual(
      events.map((event) => event._tag),
      ["ReasoningDelta", "TextDelta", "ToolCallStart", "ToolCallDelta", "ToolCallReady", "Usage", "Finished"]
    )
  })

  it("without the vendor's end mark are no answer", () => {
    const { events } = read([begin(), ...prose(0, "Hi"), finish("end_turn")[0]])
    assert.deepStrictEqual(
      events.map((event) => event._tag),
      ["TextDelta"]
    )
  })
})

describe("usage", () => {
  it("adds what the cache read and wrote, and takes later figures for totals", () => {
    const { events } = read([
      begin({ input_tokens: 5, cache_creation_input_tokens: 100, cache_read_input_tokens: 1000, output_tokens: 1 }),
      ...prose(0, "Hi"),
      { type: "message_delta", delta: {}, usage: { output_tokens: 8 } },
      ...finish("end_turn", {
        output_tokens: 20,
        cache_read_input_tokens: 1001,
        input_tokens: null,
        output_tokens_details: { thinking_tokens: 12 }
      })
    ])
    assert.deepStrictEqual(lastUsage(events), {
      inputTokens: 1106,
      outputTokens: 20,
      cachedInputTokens: 1001,
      cacheWriteTokens: 100,
      reasoningTokens: 12,
      costUsd: null,
      estimated: false
    })
  })

  it("is not told when it was not sent", () => {
    assert.isUndefined(lastUsage(read([...prose(0, "Hi"), { type: "message_stop" }]).events))
  })
})

describe("errors", () => {
  const cases: ReadonlyArray<readonly [status: number | null, error: object, reason: string]> = [
    [null, { type: "overloaded_error" }, "overloaded"],
    [null, { type: "api_error" }, "overloaded"],
    [null, { type: "of_tomorrow" }, "unknown"],
    [null, { type: "constructor" }, "unknown"],
    [400, { type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" }, "context_too_long"],
    [400, { type: "invalid_request_error", message: "Your credit balance is too low" }, "quota"],
    [400, { type: "invalid_request_error", message: "no" }, "invalid_request"],
    [413, { type: "request_too_large" }, "context_too_long"],
    [429, { type: "rate_limit_error" }, "rate_limited"],
    [429, { type: "rate_limit_error", details: { error_code: "enforced_spend_limit_reached" } }, "quota"],
    [502, {}, "overloaded"],
    [504, { type: "timeout_error" }, "timeout"]
  ]
  for (const [status, error, reason] of cases) {
    it(`${status} ${JSON.stringify(error)}`, () => {
      assert.strictEqual(toFault(status, { type: "error", error }).reason, reason)
      if (status === null) assert.strictEqual(read([begin(), { type: "error", error }]).fault?.reason, reason)
    })
  }

  it("a conflict passes", () => {
    assert.isTrue(toFault(409, { error: { type: "conflict_error" } }).shouldRetry)
    assert.isTrue(toFault(null, { error: { type: "conflict_error" } }).shouldRetry)
  })

  it("nothing of the sentence is told", () => {
    const fault = toFault(400, { error: { type: "invalid_request_error", message: "sk-secret" } })
    assert.deepStrictEqual(fault, { reason: "invalid_request", status: 400, code: "invalid_request_error" })
  })
})

describe("thinking parameters", () => {
  const controls = (style: string, budget: boolean, ...efforts: ReadonlyArray<string>): Partial<ModelInfo> => ({
    thinkingControls: { style, budget, efforts }
  })
  const byBudget = controls("budget", true, "low", "medium", "high", "max")
  const enabled = (budget_tokens: number) => ({ thinking: { type: "enabled", budget_tokens } })
  const adaptive = { thinking: { type: "adaptive", display: "summarized" } }
  const cases: ReadonlyArray<readonly [thinking: ChatRequest["thinking"], info: Partial<ModelInfo>, sent: object]> = [
    [null, byBudget, {}],
    [{}, { supportsThinking: false }, {}],
    [{ effort: "max" }, controls("adaptive", false, "low", "high"), { ...adaptive, output_config: { effort: "high" } }],
    [{ effort: "medium" }, controls("adaptive", false), adaptive],
    [{ budgetTokens: 5000, maxTokens: 9 }, controls("adaptive", true), adaptive],
    [{ budgetTokens: 0 }, controls("adaptive", true, "none", "low"), { thinking: { type: "disabled" } }],
    [{ budgetTokens: 0 }, controls("adaptive", true, "low"), {}],
    [{ budgetTokens: 0 }, byBudget, { thinking: { type: "disabled" } }],
    [{}, byBudget, enabled(5000)],
    [{ effort: "low" }, byBudget, enabled(2500)],
    [{ effort: "max" }, byBudget, enabled(9500)],
    [{ budgetTokens: 2000, effort: "max" }, byBudget, enabled(2000)],
    [{ maxTokens: 3000 }, byBudget, enabled(3000)],
    [{ budgetTokens: 5 }, byBudget, enabled(1024)],
    [{ budgetTokens: 1_000_000 }, byBudget, enabled(9500)],
    [{ budgetTokens: 2000 }, { ...byBudget, maxOutputTokens: 1024 }, {}],
    [
      { effort: "high", excludeReasoning: true },
      byBudget,
      { thinking: { type: "enabled", budget_tokens: 8000, display: "omitted" } }
    ]
  ]
  for (const [thinking, known, sent] of cases) {
    it(`${JSON.stringify(thinking)} for ${JSON.stringify(known)}`, () => {
      const info = describeModel({ name: model, provider: "p", modelType: "llm", maxOutputTokens: 10_000, ...known })
      const body = lower({ thinking, info })
      const fields = Object.entries(body).filter(([field]) => field === "thinking" || field === "output_config")
      assert.deepStrictEqual<unknown>(Object.fromEntries(fields), sent)
    })
  }

  it("a budget does not begin in the middle of a tool loop", () => {
    const { events } = read([begin(), ...call(0, "toolu_1"), ...finish("tool_use")])
    const thought = read([begin(), ...thinks(0, "Hm", "sig"), ...call(1, "toolu_1"), ...finish("tool_use")])
    const ask = (answer: ChatMessage) =>
      lower(
        { thinking: {}, messages: [user("?"), answer, result("toolu_1", "")] },
        { thinkingStyle: "budget", maxTokens: 10_000 }
      ).thinking
    assert.isUndefined(ask(storedAnswer(events)))
    assert.deepStrictEqual(ask(storedAnswer(thought.events)), { type: "enabled", budget_tokens: 5000 })
  })
})

describe("the request", () => {
  it("begins with the user, joins neighbours and holds no empty text", () => {
    const hi: ChatMessage = { role: "assistant", content: "Hi", toolCalls: [], providerData: null }
    const mute: ChatMessage = { role: "assistant", content: " \n", toolCalls: [], providerData: null }
    const { messages } = lower({ messages: [hi, mute, hi, user("  "), user("x")] })
    assert.deepStrictEqual<unknown>(
      messages.map(({ role, content }) => [role, content.map((block) => record(block).text)]),
      [
        ["user", ["[What came before is left out.]"]],
        ["assistant", ["Hi", "Hi"]],
        ["user", ["[This message is empty.]", "x"]]
      ]
    )
  })

  it("has ids that the vendor takes, different ones for different calls", () => {
    const toolCalls = ["functions.f:0", "functions.f.0"].map((id) => ({ id, name: "f", arguments: "{}" }))
    const calls: ChatMessage = { role: "assistant", content: "", toolCalls, providerData: null }
    const { messages } = lower({ messages: [user("?"), calls, ...toolCalls.map(({ id }) => result(id, ""))] })
    const sent = messages[1]?.content.map((block) => String(record(block).id)) ?? []
    assert.strictEqual(new Set(sent).size, 2)
    for (const id of sent) assert.match(id, /^[a-zA-Z0-9_-]+$/)
    assert.deepStrictEqual(
      messages[2]?.content.map((block) => record(block).tool_use_id),
      sent
    )
  })

  it("has a limit: the request's, the model's, or the setting's", () => {
    const info = describeModel({ name: model, provider: "p", modelType: "llm", maxOutputTokens: 777 })
    assert.strictEqual(lower({ info, maxOutputTokens: 55 }).max_tokens, 55)
    assert.strictEqual(lower({ info }).max_tokens, 777)
    assert.strictEqual(lower({}).max_tokens, 4096)
  })

  it("marks the beginning that stays the same, and the end of the history", () => {
    const tools = ["f", "g"].map((name) => ({ name, description: null, parameters: null }))
    const mark = { type: "ephemeral" }
    const both: Pick<Anthropic.MessageCreateParams, "cache_control" | "system" | "tools"> = {
      cache_control: { ...mark, type: "ephemeral", ttl: "1h" },
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral", ttl: "1h" } }],
      tools: [
        { name: "f", input_schema: { type: "object" } },
        { name: "g", input_schema: { type: "object" } }
      ]
    }
    assert.deepInclude<unknown>(lower({ system: "Be brief.", tools }, { promptCache: "1h" }), both)
    const alone = lower({ tools }, { promptCache: "5m" })
    assert.deepStrictEqual<unknown>(alone.tools, [
      { name: "f", input_schema: { type: "object" } },
      { name: "g", input_schema: { type: "object" }, cache_control: mark }
    ])
    assert.notInclude(JSON.stringify(lower({ system: "Be brief.", tools })), "cache_control")
  })
})
