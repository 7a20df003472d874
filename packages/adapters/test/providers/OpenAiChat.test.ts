/** The odd corners of the OpenAI chat dialect: what servers were seen to send, and what goes back to them. */
import { assert, describe, it } from "@effect/vitest"
import { type ModelInfo } from "@colloquy/core"
import { type ChatEvent, type ChatRequest, describeModel } from "@colloquy/core/adapters"
import * as OpenAiChat from "../../src/protocols/OpenAiChat.ts"
import { type ChatDialect, plainDialect, reasoningEffort } from "../../src/protocols/OpenAiDialect.ts"
import { model, request } from "./Scenarios.ts"

const read = (chunks: ReadonlyArray<unknown>, dialect: Partial<ChatDialect> = {}, asked: Partial<ChatRequest> = {}) => {
  let made = 0
  const state = OpenAiChat.start(request("p", asked), { ...plainDialect, ...dialect }, () => `made-${++made}`)
  const events: Array<ChatEvent> = []
  const fault = chunks.map((chunk) => OpenAiChat.step(state, chunk, events)).find((each) => each !== undefined)
  if (fault === undefined) OpenAiChat.end(state, events, true)
  return { events, fault }
}

const delta = (fields: object, finish: string | null = null) => ({
  choices: [{ delta: fields, finish_reason: finish }]
})
const piece = (fields: object) => delta({ tool_calls: [fields] })

const readyCalls = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((event) => (event._tag === "ToolCallReady" ? [event.call] : []))
const finishedEvent = (events: ReadonlyArray<ChatEvent>) =>
  events.find((event) => event._tag === "Finished") ?? assert.fail("not finished")
const joinedText = (tag: "TextDelta" | "ReasoningDelta", events: ReadonlyArray<ChatEvent>) =>
  events.map((event) => (event._tag === tag ? event.text : "")).join("")

describe("tool calls in pieces", () => {
  it("without an index, each piece is a call of its own", () => {
    const { events } = read([
      piece({ id: "a", function: { name: "f", arguments: '{"x":1}' } }),
      piece({ id: "b", function: { name: "f", arguments: '{"x":2}' } })
    ])
    assert.deepStrictEqual(readyCalls(events), [
      { id: "a", name: "f", arguments: '{"x":1}' },
      { id: "b", name: "f", arguments: '{"x":2}' }
    ])
  })

  it("without an id, one is made up; an empty one counts as none", () => {
    const { events } = read([
      piece({ index: 0, id: "", function: { name: "f", arguments: "" } }),
      piece({ index: 0, id: "", function: { arguments: "{}" } }),
      piece({ index: 1, function: { name: "g" } })
    ])
    assert.deepStrictEqual(readyCalls(events), [
      { id: "made-1", name: "f", arguments: "{}" },
      { id: "made-2", name: "g", arguments: "{}" }
    ])
  })

  it("with the same index for two calls, another id and a name begin the second", () => {
    const { events } = read([
      piece({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }),
      piece({ index: 0, id: "b", function: { name: "g", arguments: "{}" } })
    ])
    assert.deepStrictEqual(
      readyCalls(events).map((call) => call.id),
      ["a", "b"]
    )
  })

  it("with the same index for two calls without ids, a whole call or another name ends the first", () => {
    const { events } = read([
      piece({ index: 0, id: "", function: { name: "f", arguments: '{"x":1}' } }),
      piece({ index: 0, id: "", function: { name: "f", arguments: '{"x"' } }),
      piece({ index: 0, function: { name: "f", arguments: ":2}" } }),
      piece({ index: 0, id: "", function: { name: "g", arguments: "" } }),
      piece({ index: 0, id: "", function: { name: "h", arguments: "{}" } }),
      piece({ index: 0, id: "", function: { name: "h", arguments: "" } })
    ])
    assert.deepStrictEqual(readyCalls(events), [
      { id: "made-1", name: "f", arguments: '{"x":1}' },
      { id: "made-2", name: "f", arguments: '{"x":2}' },
      { id: "made-3", name: "g", arguments: "{}" },
      { id: "made-4", name: "h", arguments: "{}" }
    ])
  })

  it("with one id for two calls, the second gets another one", () => {
    const signed = (index: number, name: string) => ({
      index,
      id: "a",
      function: { name, arguments: "{}" },
      extra_content: { of: name }
    })
    const { events } = read([piece(signed(0, "f")), piece(signed(1, "g"))])
    assert.deepStrictEqual(
      readyCalls(events).map(({ id, name }) => [id, name]),
      [
        ["a", "f"],
        ["made-1", "g"]
      ]
    )
    assert.deepStrictEqual(finishedEvent(events).providerData, {
      message: {},
      calls: { a: { extra_content: { of: "f" } }, "made-1": { extra_content: { of: "g" } } }
    })
  })

  it("with neither an index nor an id, arguments belong to the last call", () => {
    const { events } = read([
      piece({ function: { name: "f", arguments: "" } }),
      piece({ function: { arguments: '{"x"' } }),
      piece({ function: { arguments: ":1}" } }),
      piece({ function: { name: "g", arguments: "{}" } })
    ])
    assert.deepStrictEqual(readyCalls(events), [
      { id: "made-1", name: "f", arguments: '{"x":1}' },
      { id: "made-2", name: "g", arguments: "{}" }
    ])
  })

  it("with a new id in every piece, they stay one call", () => {
    const { events } = read([
      piece({ index: 0, id: "a", function: { name: "f", arguments: '{"x"' } }),
      piece({ index: 0, id: "zzz", function: { arguments: ":1}" } })
    ])
    assert.deepStrictEqual(readyCalls(events), [{ id: "a", name: "f", arguments: '{"x":1}' }])
  })

  it("with the name after the first arguments, the call starts when the name is known", () => {
    const { events } = read([
      piece({ index: 0, id: "a", function: { arguments: '{"x"' } }),
      piece({ index: 0, function: { name: "f", arguments: ":1}" } })
    ])
    assert.deepStrictEqual(events.slice(0, 2), [
      { _tag: "ToolCallStart", id: "a", name: "f" },
      { _tag: "ToolCallDelta", id: "a", arguments: '{"x":1}' }
    ])
  })

  it("with arguments as an object, they become text", () => {
    const { events } = read([piece({ index: 0, id: "a", function: { name: "f", arguments: { x: 1 } } })])
    assert.deepStrictEqual(readyCalls(events), [{ id: "a", name: "f", arguments: '{"x":1}' }])
  })

  it("a call that never got a name is none", () => {
    const { events } = read([piece({ index: 0, id: "a", function: { arguments: "{}" } })])
    assert.deepStrictEqual(events, [{ _tag: "Finished", reason: "stop", model: null, providerData: null }])
  })

  it("a call that the content filter cut in two is none", () => {
    const half = piece({ index: 0, id: "a", function: { name: "f", arguments: '{"x' } })
    const { events } = read([half, delta({}, "content_filter")])
    assert.deepStrictEqual(readyCalls(events), [])
    assert.strictEqual(finishedEvent(events).reason, "filtered")
  })

  it("the calls decide on the finish reason, and a call that the length cut in two is none", () => {
    const whole = piece({ index: 0, id: "a", function: { name: "f", arguments: "{}" } })
    const half = piece({ index: 1, id: "b", function: { name: "f", arguments: '{"x' } })
    assert.strictEqual(finishedEvent(read([whole, delta({}, "stop")]).events).reason, "tool_calls")
    assert.strictEqual(finishedEvent(read([half, delta({}, "length")]).events).reason, "length")
    const { events } = read([whole, half, delta({}, "length")])
    assert.strictEqual(finishedEvent(events).reason, "tool_calls")
    assert.deepStrictEqual(
      readyCalls(events).map((call) => call.id),
      ["a"]
    )
  })
})

describe("text and reasoning", () => {
  it("come in every form that is known", () => {
    const { events } = read([
      delta({ role: "", content: null, refusal: false }),
      delta({ reasoning_content: "A", reasoning: "not twice" }),
      delta({ reasoning: "B" }),
      delta({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "C" }] },
          { type: "text", text: "1" }
        ]
      }),
      delta({ content: "2" }),
      { choices: [] },
      { choices: [{ message: { content: "3" } }] }
    ])
    assert.strictEqual(joinedText("ReasoningDelta", events), "ABC")
    assert.strictEqual(joinedText("TextDelta", events), "123")
  })

  it("inside think tags is split, and hidden when nobody wants to see it", () => {
    const chunks = [delta({ content: "<think>so</th" }), delta({ content: "ink>\n\nHi" })]
    assert.strictEqual(joinedText("ReasoningDelta", read(chunks, { thinkTags: true }).events), "so")
    const hidden = read(chunks, { thinkTags: true }, { thinking: { excludeReasoning: true } }).events
    assert.deepStrictEqual([joinedText("ReasoningDelta", hidden), joinedText("TextDelta", hidden)], ["", "Hi"])
  })

  it("comes with images and sources", () => {
    const { events } = read([
      delta({
        images: [
          { image_url: { url: "data:image/png;base64,AQI=" } },
          { image_url: { url: "https://example.org/x.png" } }
        ]
      }),
      delta({ annotations: [{ type: "url_citation", url_citation: { url: "https://example.org", title: "" } }] })
    ])
    assert.deepStrictEqual(events.slice(0, 2), [
      { _tag: "Media", mediaType: "image/png", bytes: Uint8Array.of(1, 2) },
      { _tag: "Source", url: "https://example.org", title: null }
    ])
  })
})

describe("usage", () => {
  it("may come on every chunk, in the vendor's own place, and with a cost", () => {
    const { events } = read([
      { ...delta({ content: "a" }), usage: { prompt_tokens: 5, completion_tokens: 1 } },
      { ...delta({}, "stop"), x_groq: { usage: { prompt_tokens: 5, completion_tokens: 2 } } },
      {
        choices: [],
        usage: { prompt_tokens: 5, completion_tokens: 3, cost: 0.25, prompt_tokens_details: { cache_write_tokens: 2 } }
      }
    ])
    const usages = events.flatMap((event) => (event._tag === "Usage" ? [event.usage] : []))
    assert.deepStrictEqual(usages, [
      {
        inputTokens: 5,
        outputTokens: 3,
        cachedInputTokens: 0,
        cacheWriteTokens: 2,
        reasoningTokens: 0,
        costUsd: 0.25,
        estimated: false
      }
    ])
  })

  it.each([
    ["in those of the answer", 12, 10],
    ["beside them, as xAI does, which the total shows", 18, 16]
  ])("counts tokens of reasoning %s", (_, total_tokens, outputTokens) => {
    const completion_tokens_details = { reasoning_tokens: 6 }
    const usage = { prompt_tokens: 2, completion_tokens: 10, total_tokens, completion_tokens_details }
    const { events } = read([{ ...delta({ content: "a" }, "stop"), usage }])
    const [told] = events.flatMap((event) => (event._tag === "Usage" ? [event.usage] : []))
    assert.deepInclude(told, { inputTokens: 2, outputTokens, reasoningTokens: 6 })
  })

  it("is not told when it was not sent or makes no sense", () => {
    for (const usage of [null, {}, { prompt_tokens: "5" }]) {
      const { events } = read([{ ...delta({ content: "a" }, "stop"), usage }])
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        ["TextDelta", "Finished"]
      )
    }
  })
})

describe("errors inside a stream", () => {
  const cases: ReadonlyArray<readonly [error: unknown, reason: string]> = [
    [{ code: 429, message: "slow" }, "rate_limited"],
    [{ code: "server_error" }, "overloaded"],
    [{ type: "server_error", code: null }, "overloaded"],
    [{ code: 502, metadata: { error_type: "provider_overloaded" } }, "overloaded"],
    [{ code: 403, metadata: { reasons: ["violence"] } }, "refused"],
    [{ message: "This model's maximum context length is 10 tokens" }, "context_too_long"],
    ["some text", "unknown"],
    [{}, "unknown"]
  ]
  for (const [error, reason] of cases) {
    it(`${JSON.stringify(error)} means ${reason}`, () => {
      assert.strictEqual(read([{ error }]).fault?.reason, reason)
      assert.strictEqual(read([{ choices: [{ error }] }]).fault?.reason, reason)
    })
  }

  it("an error as the only finish reason", () => {
    assert.strictEqual(read([delta({ content: "" }, "error")]).fault?.reason, "unknown")
  })
})

describe("what a server wants back", () => {
  const details = [
    { type: "reasoning.text", index: 0, text: "so ", format: "f" },
    { type: "reasoning.text", index: 0, text: "what", signature: null },
    { type: "reasoning.text", index: 0, signature: "s1" },
    { type: "reasoning.encrypted", index: 1, data: "xx" }
  ]
  const call = {
    index: 0,
    id: "a",
    function: { name: "f", arguments: "{}" },
    extra_content: { google: { thought_signature: "t" } }
  }
  const { events } = read(
    [...details.map((each) => delta({ reasoning_details: [each], reasoning_content: "r" })), piece(call)],
    {
      replayed: ["reasoning_details", "reasoning_content"]
    }
  )
  const data = finishedEvent(events).providerData

  it("is collected from the pieces", () => {
    assert.deepStrictEqual(data, {
      message: {
        reasoning_content: "rrrr",
        reasoning_details: [
          { type: "reasoning.text", index: 0, text: "so what", format: "f", signature: "s1" },
          { type: "reasoning.encrypted", index: 1, data: "xx" }
        ]
      },
      calls: { a: { extra_content: { google: { thought_signature: "t" } } } }
    })
  })

  const answer = (provider: string) =>
    OpenAiChat.lower(
      request("p", {
        messages: [
          {
            role: "assistant",
            content: "",
            toolCalls: [{ id: "a", name: "f", arguments: "{}" }],
            providerData: { provider, data }
          }
        ]
      }),
      plainDialect
    ).messages[0]

  it("goes back to the provider that sent it", () => {
    assert.deepStrictEqual<unknown>(answer("p"), {
      role: "assistant",
      content: null,
      reasoning_content: "rrrr",
      reasoning_details: [
        { type: "reasoning.text", index: 0, text: "so what", format: "f", signature: "s1" },
        { type: "reasoning.encrypted", index: 1, data: "xx" }
      ],
      tool_calls: [
        {
          id: "a",
          type: "function",
          function: { name: "f", arguments: "{}" },
          extra_content: { google: { thought_signature: "t" } }
        }
      ]
    })
  })

  it("and to nobody else", () => {
    assert.deepStrictEqual<unknown>(answer("another"), {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }]
    })
  })
})

describe("reasoningEffort", () => {
  const controls = (...efforts: ReadonlyArray<string>): Partial<ModelInfo> => ({
    thinkingControls: { efforts, budget: false, style: null }
  })
  const cases: ReadonlyArray<
    readonly [thinking: ChatRequest["thinking"], info: Partial<ModelInfo>, effort: string | undefined]
  > = [
    [{ effort: "max" }, controls("low", "high", "xhigh", "max"), "max"],
    [{ effort: "max" }, controls("low", "high", "xhigh"), "xhigh"],
    [{ effort: "max" }, controls("low", "high"), "high"],
    [{ effort: "max" }, {}, "high"],
    [{ effort: "low" }, controls("medium"), undefined],
    [{ effort: "low" }, { supportsThinking: false }, undefined],
    [{ budgetTokens: 0, effort: "high" }, {}, "none"],
    [{ budgetTokens: 0 }, controls("minimal", "low"), "minimal"],
    [{ budgetTokens: 0 }, controls("low"), undefined],
    [{ budgetTokens: 100 }, {}, undefined],
    [{}, {}, undefined],
    [null, {}, undefined]
  ]
  for (const [thinking, known, effort] of cases) {
    it(`${JSON.stringify(thinking)} for ${JSON.stringify(known)}`, () => {
      const info = describeModel({ name: model, provider: "p", modelType: "llm", ...known })
      const asked = reasoningEffort(request("p", { thinking, info }))
      assert.deepStrictEqual(asked, effort === undefined ? {} : { reasoning_effort: effort })
    })
  }
})
