/**
 * What a broken or malicious provider may send, in the worst form that each protocol has: the work for it must grow with its size and no
 * faster, or a quarter of a megabyte stops the process.
 */
import type { ChatEvent } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import { usedByThread } from "../../../../test/processorTime.ts"
import * as Anthropic from "../../src/protocols/AnthropicMessages.ts"
import { makeAnswer } from "../../src/protocols/BridgedAnswer.ts"
import * as Gemini from "../../src/protocols/Gemini.ts"
import * as OpenAiChat from "../../src/protocols/OpenAiChat.ts"
import { plainDialect } from "../../src/protocols/OpenAiDialect.ts"
import * as OpenAiResponses from "../../src/protocols/OpenAiResponses.ts"
import { makeSseReader } from "../../src/protocols/Sse.ts"
import { makeTagSplitter } from "../../src/protocols/ThinkTags.ts"
import { request } from "./Scenarios.ts"

const asked = request("p")
const newId = () => "made"
const upTo = <A>(size: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: size }, (_, index) => make(index))

/** Feeds what was prepared, from the beginning to the end of an answer. */
type Feed = () => void

const chat =
  (fields: (index: number) => object, split: boolean) =>
  (size: number): Feed => {
    const pieces = upTo(size, fields)
    const chunks = split ? pieces.map((each) => [each]) : [pieces]
    const dialect = { ...plainDialect, replayed: ["reasoning_details"] as const }
    return () => {
      const state = OpenAiChat.start(asked, dialect, newId, Number.POSITIVE_INFINITY)
      const events: Array<ChatEvent> = []
      for (const tool_calls of chunks) OpenAiChat.step(state, { choices: [{ delta: { tool_calls } }] }, events)
      OpenAiChat.end(state, events, true)
    }
  }

const chatDetails = (size: number): Feed => {
  const reasoning_details = upTo(size, (index) => ({ type: "reasoning.text", index, text: "x" }))
  return () => {
    const dialect = { ...plainDialect, replayed: ["reasoning_details"] as const }
    const state = OpenAiChat.start(asked, dialect, newId)
    const events: Array<ChatEvent> = []
    OpenAiChat.step(state, { choices: [{ delta: { reasoning_details } }] }, events)
    OpenAiChat.end(state, events, true)
  }
}

const responses =
  (chunk: (index: number) => object) =>
  (size: number): Feed => {
    const chunks = upTo(size, chunk)
    return () => {
      const state = OpenAiResponses.start(asked, newId)
      const events: Array<ChatEvent> = []
      for (const each of chunks) OpenAiResponses.step(state, each, events)
      OpenAiResponses.step(state, { type: "response.completed", response: {} }, events)
      OpenAiResponses.end(state, events)
    }
  }

const anthropic =
  (chunk: (index: number) => object) =>
  (size: number): Feed => {
    const chunks = upTo(size, chunk)
    return () => {
      const state = Anthropic.start(asked, newId)
      const events: Array<ChatEvent> = []
      for (const each of chunks) Anthropic.step(state, each, events)
      Anthropic.step(state, { type: "message_stop" }, events)
      Anthropic.end(state, events)
    }
  }

const gemini =
  (part: (index: number) => object) =>
  (size: number): Feed => {
    const chunks = upTo(size, (index) => ({ candidates: [{ content: { parts: [part(index)] } }] }))
    return () => {
      const state = Gemini.start(asked, newId)
      const events: Array<ChatEvent> = []
      for (const each of chunks) Gemini.step(state, each, events)
      Gemini.step(state, { candidates: [{ finishReason: "STOP" }] }, events)
      Gemini.end(state, events)
    }
  }

const bridge =
  <A>(
    part: (index: number) => A,
    feed: (answer: ReturnType<typeof makeAnswer>, part: A, events: Array<ChatEvent>) => void
  ) =>
  (size: number): Feed => {
    const parts = upTo(size, part)
    return () => {
      const answer = makeAnswer(asked)
      const events: Array<ChatEvent> = []
      for (const each of parts) feed(answer, each, events)
      answer.finish("stop", null, null, events)
    }
  }

const lines =
  (text: (index: number) => string) =>
  (size: number): Feed => {
    const pieces = upTo(size, text)
    return () => {
      const reader = makeSseReader(Number.POSITIVE_INFINITY)
      for (const piece of pieces) reader.feed(piece)
      reader.end()
    }
  }

const worst: ReadonlyArray<readonly [string, (size: number) => Feed]> = [
  ["OpenAI Chat: calls by index, one piece a chunk", chat((index) => ({ index, function: { name: "f" } }), true)],
  [
    "OpenAI Chat: calls by id, all in one chunk",
    chat((index) => ({ id: `c${index}`, function: { name: "f" } }), false)
  ],
  ["OpenAI Chat: pieces without index, id and name", chat(() => ({ function: { arguments: "x" } }), true)],
  [
    "OpenAI Chat: one call of many pieces",
    chat(() => ({ index: 0, id: "a", function: { name: "f", arguments: "x" } }), true)
  ],
  ["OpenAI Chat: details of reasoning", chatDetails],
  [
    "OpenAI Responses: calls with one id",
    responses((index) => ({
      type: "response.output_item.added",
      output_index: index,
      item: { type: "function_call", call_id: "same", name: "f" }
    }))
  ],
  [
    "OpenAI Responses: one message of many parts",
    responses((index) => ({ type: "response.output_text.delta", output_index: 0, content_index: index, delta: "x" }))
  ],
  [
    "Anthropic: calls with one id",
    anthropic((index) => ({
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id: "same", name: "f", input: {} }
    }))
  ],
  [
    "Anthropic: figures under ever new names",
    anthropic((index) => ({ type: "message_delta", delta: {}, usage: { [`tokens_${index}`]: 1 } }))
  ],
  ["Gemini: calls with one id", gemini(() => ({ functionCall: { id: "same", name: "f", args: {} } }))],
  ["Gemini: plain texts", gemini(() => ({ text: "x" }))],
  ["Gemini: signed texts", gemini((index) => ({ text: "x", thoughtSignature: `s${index}` }))],
  [
    "a bridge: calls",
    bridge(
      (index) => `c${index}`,
      (answer, id, events) => answer.openCall(id, "f", undefined, events)
    )
  ],
  [
    "a bridge: data under ever new names",
    bridge(
      (index) => ({ p: { [`f${index}`]: 1 } }),
      (answer, data, events) => answer.add("text", "1", "x", data, events)
    )
  ],
  ["server-sent events: lines of one event", lines(() => "data: x\n")],
  ["server-sent events: one line in pieces", lines(() => "x")],
  [
    "think tags: pieces of a tag that never closes",
    (size) => () => {
      const splitter = makeTagSplitter()
      const events: Array<ChatEvent> = []
      splitter.feed("<think>", events)
      for (let index = 0; index < size; index++) splitter.feed("</think", events)
      splitter.end(events)
    }
  ]
]

/** Three doublings, so that one collection of garbage does not decide. */
const doublings = 3
/** Between two, which is in line, and four, which is the square: where memory is slow, twice as much work in line takes up to 2.8 times. */
const most = 2.83
/** Milliseconds: the clock of a thread moves in steps of some milliseconds. */
const shortest = 40

/** The processor time of one run, by as many runs as the clock of a thread needs. */
const timed = (feed: Feed, runs: number): number => {
  const before = usedByThread()
  for (let run = 0; run < runs; run++) feed()
  return (usedByThread() - before) / runs
}

/** How the time grows with each doubling, by the least processor time of up to five measurements of either size. It ends early where that is in line. */
const growth = (prepare: (size: number) => Feed, size: number): number => {
  const [small, large] = [prepare(size), prepare(size * 2 ** doublings)]
  // The first runs pay for what the engine compiles.
  large()
  let runs = 1
  while (timed(large, runs) * runs < shortest) runs *= 2
  const least = { small: Number.POSITIVE_INFINITY, large: Number.POSITIVE_INFINITY }
  const factor = () => (least.large / least.small) ** (1 / doublings)
  for (let measured = 0; measured < 5 && !(measured > 1 && factor() <= most); measured++) {
    least.small = Math.min(least.small, timed(small, runs * 2 ** doublings))
    least.large = Math.min(least.large, timed(large, runs))
  }
  return factor()
}

describe("twice the size of the worst that a provider can send", () => {
  it.each(worst)("%s: takes time in line with its size", { timeout: 60_000 }, (_name, prepare) => {
    const measured: Array<number> = []
    // What few events leave behind is collected at once, and what many leave is copied first. So more of them are measured again; work that
    // grows with the square stays near four times at every size.
    for (let size = 1000; size <= 64_000 && Math.min(...measured) > most; size *= 2)
      measured.push(growth(prepare, size))
    assert.isAtMost(Math.min(...measured), most, `measured ${measured.join(", ")}`)
  })

  it("sees growth with the square as such", { timeout: 60_000 }, () => {
    const squared = (size: number): Feed => {
      const numbers = upTo(size, (index) => index)
      return () => {
        const seen: Array<number> = []
        for (const each of numbers) if (!seen.includes(each)) seen.push(each)
      }
    }
    assert.isAbove(growth(squared, 500), most)
  })
})

describe("pieces of calls without a name", () => {
  it("are given up after so many", () => {
    const state = OpenAiChat.start(asked, plainDialect, newId)
    const nameless = { choices: [{ delta: { tool_calls: [{ function: { arguments: "x" } }] } }] }
    for (let index = 0; index < 1024; index++) assert.isUndefined(OpenAiChat.step(state, nameless, []))
    assert.deepInclude(OpenAiChat.step(state, nameless, []), { reason: "malformed", code: "nameless_tool_calls" })
  })

  it("as many as the host allows", () => {
    const state = OpenAiChat.start(asked, plainDialect, newId, 1)
    const nameless = { choices: [{ delta: { tool_calls: [{ index: 0 }, { index: 0 }] } }] }
    assert.deepInclude(OpenAiChat.step(state, nameless, []), { code: "nameless_tool_calls" })
  })
})
