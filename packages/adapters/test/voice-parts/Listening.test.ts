/** A voice from parts whose ears listen while the user speaks: captions, failures, money, and what it saves. Time is virtual. */
import { ModelError } from "@colloquy/core/adapters"
import { ScriptedHearing, TestRealtime } from "@colloquy/testing"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { VoiceParts } from "../../src/voice-parts/index.ts"
import { voiceParts, writes } from "./Parts.ts"
import { stored, voiceStory } from "./Service.ts"

const { breaksOff, hears } = ScriptedHearing

const ears = (hearing: Pick<ScriptedHearing.ScriptedHearing, "driver">, answer = "Not far.") => {
  const parts = voiceParts({ thinks: () => writes(answer) })
  const provider = { ...parts.hear.provider, speechToText: hearing.driver }
  return [VoiceParts.model({ models: { house: { ...parts, hear: { provider, usdPerMinute: 0.6 } } } })]
}

const connect = (fields: Parameters<typeof TestRealtime.connect>[0] = {}) =>
  TestRealtime.connect({ provider: "parts", model: "house", ...fields })

const loud = (millis: number) => {
  const samples = Int16Array.from({ length: millis * 24 }, (_, index) => (index % 2 === 0 ? 6000 : -6000))
  return new Uint8Array(samples.buffer)
}
const silence = (millis: number) => new Uint8Array(millis * 48)

const captions = ({ events }: TestRealtime.TestClient): ReadonlyArray<string> =>
  events.flatMap((event) => (event._tag === "TranscriptDelta" && event.role === "user" ? [event.text] : []))

const finals = ({ events }: TestRealtime.TestClient): ReadonlyArray<string> =>
  events.flatMap((event) => (event._tag === "TranscriptFinal" && event.role === "user" ? [event.text] : []))

/** Waits until the ears have all of the sound, and the clock may move. */
const heardAll = Effect.fnUntraced(function* (
  { listened, recordings }: ScriptedHearing.ScriptedHearing,
  millis: number
) {
  const hasAll = () => (listened[0]?.length ?? 0) === millis * 48 || recordings.length > 0
  yield* Effect.repeat(Effect.yieldNow, { until: hasAll })
  yield* Effect.repeat(Effect.yieldNow, { times: 10 })
})

/** The figures of the first answer. */
const timed = Effect.fnUntraced(function* (client: TestRealtime.TestClient) {
  return JSON.parse((yield* client.next("ProviderEvent")).json)
})

/** What the sound of a user cost, from the end of its session, without the answers of the test. */
const hearingCost = Effect.fnUntraced(function* (client: TestRealtime.TestClient, answers: number, spoken: string) {
  client.send({ _tag: "Stop" })
  yield* client.end
  const { providerCostUsd } = yield* client.next("SessionEnded")
  return (providerCostUsd ?? 0) - answers * 0.01 - (answers * spoken.length * 15) / 1e6
})

describe("a voice from parts that listens", () => {
  const one = ScriptedHearing.make([hears("How ", "far ", "is it?")])
  voiceStory(
    "tells words while the user speaks, under the item of the turn, and sends each sample of it up once",
    Effect.succeed(ears(one)),
    Effect.gen(function* () {
      const client = yield* connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(loud(700))
      const { isOpen, itemId } = yield* client.next("TranscriptStarted")
      assert.isTrue(isOpen)
      yield* client.next("TranscriptDelta")
      yield* client.next("TranscriptDelta")
      assert.deepStrictEqual(finals(client), [])
      client.speak(silence(600))
      assert.deepInclude(yield* client.next("TranscriptFinal"), { itemId, text: "How far is it?" })
      assert.deepStrictEqual(captions(client), ["How ", "far ", "is it?"])
      assert.isTrue((yield* timed(client)).live)
      yield* client.next("ResponseDone")
      const [sound = new Uint8Array()] = one.listened
      assert.deepStrictEqual(Buffer.from(sound), Buffer.concat([loud(700), silence(500)]))
      assert.deepStrictEqual(one.recordings, [])
      assert.approximately(yield* hearingCost(client, 1, "Not far."), 1.2 * 0.01, 1e-6)
      assert.deepStrictEqual(yield* stored(threadId), [
        ["user", "How far is it?"],
        ["assistant", "Not far."]
      ])
    })
  )

  for (const [listens, transcriptMillis] of [
    [true, 80],
    [false, 1050]
  ] as const) {
    // A recording takes a tenth of its length to write down, and a connection that has heard it already 80 ms.
    const slow = ScriptedHearing.make([hears("Long.")], { listens, settles: 80, slowness: 0.1 })
    voiceStory(
      `ten seconds of speech are written down ${transcriptMillis} ms after their end, ${listens ? "with" : "without"} listening`,
      Effect.succeed(ears(slow)),
      Effect.gen(function* () {
        const client = yield* connect()
        yield* client.next("SessionBegin")
        client.speak(loud(10_000))
        client.speak(silence(600))
        yield* heardAll(slow, 10_500)
        yield* TestClock.adjust("2 seconds")
        const { first_sound_ms, live, transcript_ms } = yield* timed(client)
        assert.deepStrictEqual(
          { live, first_sound_ms, transcript_ms },
          { live: listens, first_sound_ms: transcriptMillis, transcript_ms: transcriptMillis }
        )
      })
    )
  }

  const broken = ScriptedHearing.make([breaksOff("How ", "far ", "is it?"), hears("Thanks.")])
  voiceStory(
    "a connection that breaks while the user speaks is replaced by the whole of the sound, and both are charged",
    Effect.succeed(ears(broken)),
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      client.speak(loud(700))
      const { itemId } = yield* client.next("TranscriptDelta")
      client.speak(silence(600))
      assert.deepInclude(yield* client.next("TranscriptFinal"), { itemId, text: "How far is it?" })
      assert.isFalse((yield* timed(client)).live)
      yield* client.next("ResponseDone")
      const wav = broken.recordings[0] ?? new Uint8Array()
      assert.deepStrictEqual(Buffer.from(wav.subarray(44)), Buffer.concat([loud(700), silence(500)]))
      // The next turn is listened to again.
      yield* TestClock.adjust("10 seconds")
      client.speak(loud(700))
      client.speak(silence(600))
      yield* client.next("ResponseDone")
      assert.strictEqual(broken.listened.length, 2)
      const tokens = yield* hearingCost(client, 2, "Not far.")
      assert.isAbove(tokens, 2.4 * 0.01 + 0.004)
    })
  )

  for (const reason of ["auth", "model_not_found", "connection"] as const) {
    const plain = ScriptedHearing.make([hears("One."), hears("Two.")], { listens: false })
    const asked: Array<string> = []
    const listen = () => {
      asked.push("listen")
      return Stream.fail(new ModelError({ reason, provider: "house", model: "ears" }))
    }
    const again = reason === "connection"
    voiceStory(
      `what fails with ${reason} is ${again ? "tried again" : "not tried again"} with the next turn, and costs nothing`,
      Effect.succeed(ears({ driver: { ...plain.driver, listen } })),
      Effect.gen(function* () {
        asked.length = 0
        const client = yield* connect()
        yield* client.next("SessionBegin")
        for (const text of ["One.", "Two."]) {
          client.speak(loud(500))
          client.speak(silence(600))
          yield* client.next("ResponseDone")
          assert.strictEqual(finals(client).at(-1), text)
          yield* TestClock.adjust("10 seconds")
        }
        assert.strictEqual(asked.length, again ? 2 : 1)
        assert.isFalse(client.events.some(({ _tag }) => _tag === "Error"))
        const spoken = plain.recordings.reduce((sum, wav) => sum + wav.length - 44, 0) / 48_000
        assert.approximately(yield* hearingCost(client, 2, "Not far."), spoken * 0.01, 1e-6)
      })
    )
  }

  const silent = ScriptedHearing.make([hears("Late.")], { settles: "1 hour" })
  voiceStory(
    "a connection that does not write in time is replaced by the whole of the sound",
    Effect.succeed(ears(silent)),
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      client.speak(loud(500))
      client.speak(silence(600))
      yield* heardAll(silent, 1000)
      yield* TestClock.adjust("2900 millis")
      assert.deepStrictEqual(finals(client), [])
      yield* TestClock.adjust("200 millis")
      yield* client.next("ResponseDone")
      assert.deepInclude(yield* timed(client), { live: false, transcript_ms: 3000 })
    })
  )

  const talk = ScriptedHearing.make([hears(...Array.from({ length: 60 }, (_, index) => `${index} `))])
  voiceStory(
    "a turn that lasts longer than a transcript may take is not late",
    Effect.succeed(ears(talk)),
    Effect.gen(function* () {
      const client = yield* connect()
      yield* client.next("SessionBegin")
      client.speak(loud(1000))
      yield* client.next("TranscriptDelta")
      yield* TestClock.adjust("30 seconds")
      client.speak(loud(1000))
      client.speak(silence(600))
      yield* client.next("TranscriptFinal")
      assert.isFalse(client.events.some(({ _tag }) => _tag === "TranscriptFailed"))
    })
  )

  const cleared = ScriptedHearing.make([hears("Never ", "mind."), hears("Yes.")])
  voiceStory(
    "sound that the client takes back is no turn: its words are taken back, and what was heard is charged",
    Effect.succeed(ears(cleared)),
    Effect.gen(function* () {
      const client = yield* connect({ providerOptions: { turn_detection: null } })
      const { threadId } = yield* client.next("SessionBegin")
      yield* Effect.yieldNow
      client.speak(loud(400))
      const { itemId } = yield* client.next("TranscriptDelta")
      client.send({ _tag: "ProviderEvent", event: { type: "input_audio_buffer.clear" } })
      assert.deepInclude(yield* client.next("TranscriptFinal"), { itemId, text: "" })
      assert.approximately(yield* hearingCost(client, 0, ""), 0.4 * 0.01, 1e-6)
      assert.deepStrictEqual(yield* stored(threadId), [])
    })
  )

  const stopped = ScriptedHearing.make([hears("Wait, ", "I")])
  voiceStory(
    "a client that leaves while it speaks keeps what it has said, without an answer",
    Effect.succeed(ears(stopped)),
    Effect.gen(function* () {
      const client = yield* connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(loud(700))
      yield* client.next("TranscriptDelta")
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* client.end, "ended")
      assert.deepStrictEqual(yield* stored(threadId), [["user", "Wait, I"]])
    })
  )

  const interrupting = ScriptedHearing.make([hears("Count."), hears("Stop ", "now.")])
  voiceStory(
    "words of a turn that interrupts an answer come behind what was heard of it",
    Effect.succeed(ears(interrupting, "one two three four five six seven eight nine ten.")),
    Effect.gen(function* () {
      const client = yield* connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(loud(500))
      client.speak(silence(600))
      yield* client.next("ResponseDone")
      yield* TestClock.adjust("500 millis")
      client.speak(loud(700))
      yield* client.next("Interrupted")
      yield* client.next("TranscriptStarted")
      client.speak(silence(600))
      yield* client.next("ResponseDone")
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual((yield* stored(threadId)).slice(0, 3), [
        ["user", "Count."],
        ["assistant", "one two three four five"],
        ["user", "Stop now."]
      ])
    })
  )
})
