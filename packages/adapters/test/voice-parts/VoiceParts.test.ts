/** A voice from parts in sessions of the service: tools, interruption, failures, the client's own ends of turns. Time is virtual. */
import { ThreadId } from "@colloquy/core"
import { type ChatEvent, type ChatRequest, joinBytes, ThreadStore, wavHeader } from "@colloquy/core/adapters"
import { TestRealtime } from "@colloquy/testing"
import { assert, describe } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { TestClock } from "effect/testing"
import { VoiceParts } from "../../src/voice-parts/index.ts"
import { failure, finished, type TestParts, voiceParts, writes } from "./Parts.ts"
import { stored, voiceStory } from "./Service.ts"

const model = (parts: TestParts) =>
  Effect.succeed([VoiceParts.model({ models: { house: voiceParts(parts) }, policy: { retries: 0 } })])

const connect = (fields: Parameters<typeof TestRealtime.connect>[0] = {}) =>
  TestRealtime.connect({ provider: "parts", model: "house", ...fields })

const loud = (millis: number) => {
  const samples = Int16Array.from({ length: millis * 24 }, (_, index) => (index % 2 === 0 ? 6000 : -6000))
  return new Uint8Array(samples.buffer)
}
const later = (duration: Duration.Input, text: string): Stream.Stream<ChatEvent> =>
  Stream.fromEffect(Effect.as(Effect.sleep(duration), { _tag: "TextDelta" as const, text }))

const silence = (millis: number) => new Uint8Array(millis * 48)

describe("a voice from parts", () => {
  const asked: Array<ChatRequest> = []
  voiceStory(
    "hears a turn, answers it sentence by sentence, and says how long each stage took",
    model({ hears: () => "How far is it?", thinks: () => writes("Seven hundred metres. ", "Turn left.") }),
    Effect.gen(function* () {
      const client = yield* connect({ systemPrompt: "Be brief." })
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(loud(500))
      client.speak(silence(600))
      const heard = yield* client.next("TranscriptFinal")
      assert.deepInclude(heard, { role: "user", text: "How far is it?" })
      yield* client.next("ResponseDone")
      const words = client.events.flatMap((event) =>
        event._tag === "TranscriptDelta" && event.role === "assistant" ? [event.text] : []
      )
      assert.deepStrictEqual(words, ["Seven hundred metres.", " Turn left."])
      assert.strictEqual(client.audio().byteLength, 5 * 4800)
      const timed = JSON.parse((yield* client.next("ProviderEvent")).json)
      assert.deepStrictEqual(timed, {
        type: "turn.timed",
        item_id: heard.itemId,
        pause_ms: 500,
        transcript_ms: 0,
        first_token_ms: 0,
        first_sentence_ms: 0,
        first_sound_ms: 0,
        live: false
      })
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual(yield* stored(threadId), [
        ["user", "How far is it?"],
        ["assistant", "Seven hundred metres. Turn left."]
      ])
      const { providerCostUsd } = yield* client.next("SessionEnded")
      assert.approximately(providerCostUsd ?? 0, 0.01 + (31 * 15) / 1e6 + (1.3 / 60) * 0.006, 0.0001)
    })
  )

  const words = ["First minute.", "The end."]
  const heard: Array<ChatRequest["messages"]> = []
  voiceStory(
    "hears all of a speech without pauses that is longer than a minute, and answers after it",
    model({
      hears: () => words.shift() ?? "",
      thinks: (request) => {
        heard.push(request.messages)
        return writes("Understood.")
      }
    }),
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      for (let second = 0; second < 70; second++) client.speak(loud(1000))
      client.speak(silence(600))
      yield* client.next("ResponseDone")
      const said = ["First minute.", "The end."].map((text) => ({
        role: "user" as const,
        content: [{ type: "text" as const, text }]
      }))
      assert.deepStrictEqual(heard, [said])
    })
  )

  voiceStory(
    "speaks the first sentence while the rest is written; the answer keeps how long each stage took",
    model({
      hears: () => "How far is it?",
      thinks: () =>
        Stream.concat(
          Stream.concat(later("100 millis", "Seven hundred "), later("200 millis", "metres. Then")),
          Stream.concat(later("1 minute", " left."), Stream.make(finished))
        )
    }),
    Effect.gen(function* () {
      const client = yield* connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(loud(500))
      client.speak(silence(600))
      yield* client.next("TranscriptFinal")
      yield* TestClock.adjust("300 millis")
      yield* client.next("ProviderEvent")
      assert.strictEqual(client.audio().byteLength, 3 * 4800)
      assert.isFalse(client.events.some(({ _tag }) => _tag === "ResponseDone"))
      yield* TestClock.adjust("1 minute")
      yield* client.next("ResponseDone")
      assert.strictEqual(client.audio().byteLength, 5 * 4800)
      client.send({ _tag: "Stop" })
      yield* client.end
      const messages = yield* ThreadStore.use((store) => store.messages([ThreadId.make(threadId)]))
      assert.deepStrictEqual(
        messages.map(({ metadata }) => metadata),
        [
          null,
          {
            voice_times: {
              pause_ms: 500,
              transcript_ms: 0,
              first_token_ms: 100,
              first_sentence_ms: 300,
              first_sound_ms: 300,
              live: false
            }
          }
        ]
      )
    })
  )

  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  voiceStory(
    "the trace has the span of a turn with the times of its stages, beside those of its parts",
    model({
      hears: () => "How far is it?",
      thinks: () => Stream.concat(later("100 millis", "Not far. "), Stream.make(finished))
    }),
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      client.speak(loud(500))
      client.speak(silence(600))
      yield* client.next("TranscriptFinal")
      yield* TestClock.adjust("100 millis")
      const { itemId } = yield* client.next("TranscriptStarted")
      yield* client.next("ResponseDone")
      const turn = spans.find(({ name }) => name === "voice turn")
      assert.deepStrictEqual(Object.fromEntries(turn?.attributes ?? []), {
        "colloquy.voice.item_id": itemId,
        "colloquy.voice.pause_ms": 500,
        "colloquy.voice.transcript_ms": 0,
        "colloquy.voice.first_token_ms": 100,
        "colloquy.voice.first_sentence_ms": 100,
        "colloquy.voice.first_sound_ms": 100,
        "colloquy.voice.live": false
      })
      assert.includeMembers(
        spans.map(({ name }) => name),
        ["transcribe ears", "answer by voice", "chat m", "speak mouth"]
      )
    }).pipe(Effect.withTracer(tracer))
  )

  const long = "One two three four. Five six seven eight. Nine ten."
  voiceStory(
    "an interruption before the first sound leaves nothing of the answer, and charges what was asked",
    model({ hears: () => "Stop.", thinks: () => Stream.concat(later("1 second", long), Stream.make(finished)) }),
    Effect.gen(function* () {
      const client = yield* connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "Count." })
      yield* TestClock.adjust("500 millis")
      client.speak(loud(200))
      yield* client.next("Interrupted")
      yield* client.next("ResponseDone")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(client.audio().byteLength, 0)
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual(yield* stored(threadId), [["user", "Count."]])
    })
  )

  voiceStory(
    "an interruption while the model still writes keeps what was heard, and the rest is never spoken",
    model({
      hears: () => "Stop.",
      thinks: () => Stream.concat(later("1 second", long), later("30 seconds", " Never."))
    }),
    Effect.gen(function* () {
      const client = yield* connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "Count." })
      yield* TestClock.adjust("1600 millis")
      const before = client.audio().byteLength
      client.speak(loud(200))
      yield* client.next("Interrupted")
      yield* client.next("ResponseDone")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(client.audio().byteLength, before)
      client.send({ _tag: "Stop" })
      yield* client.end
      const [, answer] = yield* stored(threadId)
      assert.isTrue(long.startsWith(answer?.[1] ?? "none"))
      assert.notStrictEqual(answer?.[1], long)
    })
  )

  voiceStory(
    "speech after the last sound was played interrupts nothing",
    model({ hears: () => "Thanks.", thinks: () => writes("one two three.") }),
    Effect.gen(function* () {
      const client = yield* connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "Count." })
      yield* client.next("ResponseDone")
      yield* TestClock.adjust("301 millis")
      client.speak(loud(200))
      client.speak(silence(600))
      yield* client.next("ResponseDone")
      assert.isFalse(client.events.some(({ _tag }) => _tag === "Interrupted"))
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual((yield* stored(threadId))[1], ["assistant", "one two three."])
    })
  )

  voiceStory(
    "other instructions and tools hold from the next answer on",
    model({
      thinks: (request) => {
        asked.push(request)
        return writes("Well.")
      }
    }),
    Effect.gen(function* () {
      asked.length = 0
      const client = yield* connect({ systemPrompt: "Be brief." })
      yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "One" })
      yield* client.next("ResponseDone")
      const tools = [{ name: "weather", description: null, parameters: null }]
      client.send({ _tag: "Change", settings: { systemPrompt: "Be long.", tools } })
      yield* client.next("SessionChanged")
      client.send({ _tag: "Text", text: "Two" })
      yield* client.next("ResponseDone")
      assert.deepStrictEqual(
        asked.map(({ system, tools: offered }) => [system, offered.map(({ name }) => name)]),
        [
          ["Be brief.", []],
          ["Be long.", ["weather"]]
        ]
      )
    })
  )

  voiceStory(
    "an interruption cuts the answer to what was heard, for the client, the thread and the model",
    model({
      hears: () => "Stop.",
      thinks: (request) => {
        asked.push(request)
        return writes("one two three four five six seven eight nine ten.")
      }
    }),
    Effect.gen(function* () {
      asked.length = 0
      const client = yield* connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "Count." })
      yield* client.next("ResponseDone")
      yield* TestClock.adjust("500 millis")
      client.speak(loud(200))
      yield* client.next("Interrupted")
      client.speak(silence(600))
      yield* client.next("ResponseDone")
      assert.deepInclude(asked[1]?.messages.slice(0, 2).at(-1), {
        role: "assistant",
        content: "one two three four five"
      })
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual((yield* stored(threadId))[1], ["assistant", "one two three four five"])
    })
  )

  voiceStory(
    "calls tools, and answers with their outputs",
    model({
      thinks: ({ messages }) => {
        const last = messages.at(-1)
        return last?.role === "tool"
          ? writes(`It is ${last.output}.`)
          : Stream.make(
              { _tag: "ToolCallReady" as const, call: { id: "c1", name: "weather", arguments: "{}" } },
              { ...finished, reason: "tool_calls" as const }
            )
      }
    }),
    Effect.gen(function* () {
      const client = yield* connect({ tools: [{ name: "weather", description: null, parameters: null }] })
      yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "How is the weather?" })
      const { name, toolCallId } = yield* client.next("ToolCall")
      client.send({ _tag: "ToolOutputs", outputs: [{ toolCallId, name, output: "sunny" }] })
      assert.strictEqual((yield* client.next("TranscriptFinal")).text, "It is sunny.")
    })
  )

  voiceStory(
    "the client ends turns itself, and nothing said is no message",
    model({ hears: () => " ", thinks: () => writes("Never.") }),
    Effect.gen(function* () {
      const client = yield* connect({ providerOptions: { turn_detection: null } })
      const { threadId } = yield* client.next("SessionBegin")
      // The session is told of first, and then open: what is sent at the same moment waits, and sound does not.
      yield* Effect.yieldNow
      client.speak(loud(1000))
      client.send({ _tag: "ProviderEvent", event: { type: "input_audio_buffer.clear" } })
      client.send({ _tag: "Commit" })
      client.speak(loud(5000))
      client.send({ _tag: "Commit" })
      yield* client.next("TranscriptStarted")
      client.send({ _tag: "ProviderEvent", event: { type: "session.update" } })
      assert.strictEqual((yield* client.next("Error")).code, "unsupported_frame")
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* client.end, "ended")
      assert.deepStrictEqual(yield* stored(threadId), [])
      assert.strictEqual(client.events.filter(({ _tag }) => _tag === "TranscriptStarted").length, 1)
    })
  )

  const spoken: Array<string> = []
  voiceStory(
    "a sentence above the limit is spoken in parts, cut between words, and only the samples of their WAV files are played",
    model({
      thinks: () => writes("Seven hundred metres and 😀😀😀😀😀😀 left."),
      speech: { formats: ["wav"], maxCharacters: 11 },
      speaks: (text) => {
        spoken.push(text)
        const samples = new Uint8Array(480).fill(1)
        return joinBytes([wavHeader({ sampleRate: 24_000, channels: 1 }, 480), samples, Buffer.from("LIST\0\0\0\0")])
      }
    }),
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "How far?" })
      yield* client.next("ResponseDone")
      assert.deepStrictEqual(spoken, ["Seven", "hundred", "metres and", "😀😀😀😀😀", "😀 left."])
      assert.deepStrictEqual(client.audio(), new Uint8Array(5 * 480).fill(1))
    })
  )

  voiceStory(
    "a part that fails is told, and the words of an answer stay without their sound",
    model({ thinks: () => writes("Hello. ", "How are you?"), speaks: () => failure("overloaded") }),
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "Hi" })
      assert.strictEqual((yield* client.next("Error")).code, "provider_error")
      assert.strictEqual((yield* client.next("TranscriptFinal")).text, "Hello. How are you?")
      yield* client.next("ResponseDone")
      assert.isNull(client.closed())
    })
  )

  /** Its parts answer nothing at all when they are asked for the first time. */
  const hanging = Effect.sync(() => {
    const begun = new Set<string>()
    const isFirst = (part: string) => begun.size < begun.add(part).size
    const parts = voiceParts({ hears: () => "Hello?", thinks: () => writes("Hi.") })
    const { provider } = parts.hear
    const { speechToText, textToSpeech } = provider
    if (speechToText === undefined || textToSpeech === undefined) throw new Error("The test has parts that speak.")
    const slow = {
      ...provider,
      speechToText: {
        ...speechToText,
        transcribe: (...given: Parameters<typeof speechToText.transcribe>) =>
          isFirst("ears") ? Effect.never : speechToText.transcribe(...given)
      },
      textToSpeech: {
        ...textToSpeech,
        speak: (...given: Parameters<typeof textToSpeech.speak>) =>
          isFirst("mouth") ? Stream.never : textToSpeech.speak(...given)
      }
    }
    const house = { hear: { provider: slow }, think: { provider: slow }, speak: { provider: slow } }
    return [VoiceParts.model({ models: { house }, policy: { retries: 0 } })]
  })

  voiceStory(
    "a part that never answers does not keep the session from going on",
    hanging,
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      client.speak(loud(500))
      client.speak(silence(600))
      yield* client.next("TranscriptStarted")
      yield* TestClock.adjust("31 seconds")
      client.speak(loud(500))
      client.speak(silence(600))
      assert.strictEqual((yield* client.next("TranscriptFinal")).text, "Hello?")
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual((yield* client.next("TranscriptFinal")).text, "Hi.")
      yield* client.next("ResponseDone")
      assert.isNull(client.closed())
    })
  )

  voiceStory(
    "a conversation model that refuses the key ends the session",
    model({ thinks: () => Stream.fail(failure("auth")) }),
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "Hi" })
      assert.strictEqual((yield* client.next("Error")).code, "provider_closed")
      assert.strictEqual(yield* client.end, "fault")
    })
  )

  voiceStory(
    "settings that it does not have are refused",
    model({ thinks: () => writes("Never.") }),
    Effect.gen(function* () {
      const client = yield* connect({ providerOptions: { speed: 2 } })
      assert.strictEqual((yield* client.next("Error")).code, "invalid_first_frame")
      assert.strictEqual(yield* client.end, "refused")
    })
  )
})
