/**
 * Chunks that are taken without being parsed: whatever a server sends, and wherever the network cuts it, the events are those of a reader
 * that parses everything.
 */
import type { ChatEvent } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Anthropic from "../../src/protocols/AnthropicMessages.ts"
import * as OpenAiChat from "../../src/protocols/OpenAiChat.ts"
import { plainDialect } from "../../src/protocols/OpenAiDialect.ts"
import { RepeatedChunk } from "../../src/protocols/RepeatedChunk.ts"
import { type StreamDialect, streamAnswer } from "../../src/protocols/Transport.ts"
import { parseJson, record, string } from "../../src/protocols/Wire.ts"
import { request } from "./Scenarios.ts"

type Random = (below: number) => number

/** The same numbers for the same seed (mulberry32). */
const seededRandom = (seed: number): Random => {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

const pick = <A>(random: Random, from: readonly [A, ...ReadonlyArray<A>]): A => from[random(from.length)] ?? from[0]

const texts = [
  " word",
  "",
  "a",
  "c",
  "content",
  "text",
  "longer than a copied piece",
  'a "quote" and a \\',
  "line\nend\ttab\u0000",
  "\u2028\u2029\u0085",
  "Grüße, 你好 👋",
  "<think>",
  "</think>",
  "colloquyprobe",
  '"},"finish_reason":null}]}',
  '{"content":"'
] as const

const escaped = (json: string): string =>
  json.replace(/[^ -~]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
    ).join("")
  )

/** A delta of a vendor, whose other fields are now and then unlike those of the one before. */
type Delta = (random: Random, text: string) => object

const chatDelta: Delta = (random, content) => {
  const delta = pick<(text: string) => object>(random, [
    (text) => ({ content: text }),
    (text) => ({ content: text }),
    (text) => ({ content: text, role: "assistant", refusal: null, tool_calls: [] }),
    (text) => ({ reasoning_content: "hm", content: text }),
    (text) => ({ reasoning: text }),
    (text) => ({ refusal: text }),
    (text) => ({ content: [{ type: "text", text }] }),
    (text) => ({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: text } }] })
  ])
  const more = pick<object>(random, [
    {},
    {},
    {},
    { usage: { prompt_tokens: random(9) } },
    { model: "other" },
    { error: null }
  ])
  const finish_reason = random(40) === 0 ? "stop" : null
  return { id: "c", model: "m", choices: [{ index: 0, delta: delta(content), finish_reason }], ...more }
}

const anthropicDelta: Delta = (random, text) =>
  pick<object>(random, [
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_delta", index: random(3), delta: { type: "text_delta", text } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: text } },
    { type: "content_block_start", index: random(3), content_block: { type: "text", text } },
    { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "a", name: "f", input: {} } },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: text } },
    { type: "message_start", message: { model: "m", usage: { input_tokens: random(9) } } },
    { type: "ping" }
  ])

/** What is no JSON any more, though it looks like its neighbours. */
const broken = (random: Random, json: string): string =>
  pick(random, [
    json.replace(" word", ' wo"rd'),
    json.replace(" word", " wo\\rd"),
    json.replace(" word", " wo\trd"),
    json.replace(" word", ' wo","x":"rd'),
    json.replace(" word", " word\\"),
    json.slice(0, -1)
  ])

/** The data of an answer, event by event: runs of deltas of one form, for only those can be repetitions. */
const randomAnswer = (random: Random, delta: Delta): ReadonlyArray<string> => {
  const events: Array<string> = []
  for (let run = 1 + random(6); run > 0; run--) {
    const seed = random(1_000_000)
    for (let left = random(12); left > 0; left--) {
      const json = JSON.stringify(delta(seededRandom(seed), pick(random, texts)))
      events.push(random(30) === 0 ? broken(random, json) : random(8) === 0 ? escaped(json) : json)
    }
  }
  return random(3) === 0 ? events : [...events, "[DONE]"]
}

const cut = (random: Random, bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
  const pieces: Array<Uint8Array> = []
  for (let from = 0; from < bytes.length;) {
    const to = from + 1 + random(random(2) === 0 ? 40 : 2000)
    pieces.push(bytes.slice(from, to))
    from = to
  }
  return pieces
}

/** Of the events, and whether there was an error. */
type Heard = readonly [events: ReadonlyArray<ChatEvent>, isBroken: boolean]

/** Parses every chunk. */
const heardByParsing = <State>(dialect: StreamDialect<State>, answer: ReadonlyArray<string>): Heard => {
  const state = dialect.start()
  const events: Array<ChatEvent> = []
  for (const data of answer) {
    const chunk = data === "[DONE]" ? undefined : parseJson(data)
    if (chunk === undefined && data !== "[DONE]") return [events, true]
    const stop = data === "[DONE]" ? "end" : dialect.step(state, chunk, events)
    if (stop === "end") dialect.end(state, events, true)
    if (stop !== undefined) return [events, typeof stop === "object"]
  }
  dialect.end(state, events, false)
  return [events, false]
}

const heardOverTheWire = <State>(dialect: StreamDialect<State>, pieces: ReadonlyArray<Uint8Array>) =>
  Effect.gen(function* () {
    const events: Array<ChatEvent> = []
    const fetch = () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (const piece of pieces) controller.enqueue(piece)
          controller.close()
        }
      })
      return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }))
    }
    const call = { provider: "p", model: "m", url: "http://vendor", headers: {}, secrets: {}, body: "{}" }
    const exit = yield* Effect.exit(
      Stream.runForEach(
        streamAnswer(() => call, dialect, { fetch }),
        (event) => Effect.sync(() => event._tag !== "KeepAlive" && events.push(event))
      )
    )
    const heard: Heard = [events, exit._tag === "Failure"]
    return heard
  })

const asked = request("p")
const hidden = request("p", { thinking: { effort: "low", excludeReasoning: true } })
const rest = { requestIdHeader: "x-request-id", fault: () => ({ reason: "unknown" as const }) }
const chat = (thinkTags: boolean, of = asked): StreamDialect<OpenAiChat.AnswerState> => ({
  ...rest,
  step: OpenAiChat.step,
  toTextChunk: OpenAiChat.toTextChunk,
  end: OpenAiChat.end,
  start: () => OpenAiChat.start(of, { ...plainDialect, thinkTags, replayed: ["reasoning_content"] }, () => "made")
})
const anthropic: StreamDialect<Anthropic.AnswerState> = {
  ...rest,
  step: Anthropic.step,
  toTextChunk: Anthropic.toTextChunk,
  end: Anthropic.end,
  start: () => Anthropic.start(asked, () => "made")
}

const same = <State>(dialect: StreamDialect<State>, delta: Delta) =>
  Effect.gen(function* () {
    for (let seed = 0; seed < 400; seed++) {
      const random = seededRandom(seed)
      const answer = randomAnswer(random, delta)
      const bytes = new TextEncoder().encode(answer.map((data) => `data: ${data}\n\n`).join(""))
      const heard = yield* heardOverTheWire(dialect, cut(random, bytes))
      assert.deepStrictEqual(heard, heardByParsing(dialect, answer), `seed ${seed}`)
    }
  })

describe("an answer in random chunks, cut at random bytes, is heard as if each chunk was parsed", () => {
  it.effect("in the chat dialect", () => same(chat(false), chatDelta))
  it.effect("in the chat dialect, with thought between tags", () => same(chat(true), chatDelta))
  it.effect("in the chat dialect, with thought that nobody wants", () => same(chat(true, hidden), chatDelta))
  it.effect("in Anthropic's", () => same(anthropic, anthropicDelta))
})

describe("RepeatedChunk", () => {
  const heardBy = (answer: ReadonlyArray<string>) => {
    const repeated = new RepeatedChunk((chunk) => {
      const said = string(record(chunk).say)
      return said === undefined
        ? null
        : { text: said, apply: (text, events) => events.push({ _tag: "TextDelta", text }) }
    })
    const events: Array<ChatEvent> = []
    let parsed = 0
    for (const data of answer) {
      if (repeated.take(data, events)) continue
      parsed++
      repeated.learn(data, parseJson(data))
    }
    return { parsed, said: events.map((event) => (event._tag === "TextDelta" ? event.text : null)) }
  }

  it("parses the first of many that are alike", () => {
    const answer = texts.map((text) => JSON.stringify({ id: 1, say: text, more: null }))
    assert.deepStrictEqual(heardBy(answer), { parsed: 1, said: texts.slice(1) })
  })

  it("does not take the same characters for the text where they stand elsewhere", () => {
    assert.deepStrictEqual(heardBy(['{"id":"x","say":"x"}', '{"id":"y","say":"x"}']).said, [])
    assert.deepStrictEqual(heardBy(['{"say":"say"}', '{"say":"x"}', '{"say":"y"}']).said, ["y"])
  })

  it("gives up on a server whose chunks are never alike", () => {
    let looks = 0
    const repeated = new RepeatedChunk(() => {
      looks++
      return { text: "a", apply: () => {} }
    })
    for (let at = 0; at < 100; at++) {
      const data = JSON.stringify({ say: "a", at })
      if (!repeated.take(data, [])) repeated.learn(data, {})
    }
    assert.isBelow(looks, 10)
  })
})
