/**
 * A conversation of ten turns in real speech, made when the test runs: the user's sound goes through the detection of turns, and the answers are
 * spoken by the same program. The ears of the test know the ten questions by their sound, so a turn that is cut wrongly is not understood.
 */
import { makeResampler, ModelError } from "@colloquy/core/adapters"
import { ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { spawnSync } from "node:child_process"
import { espeak } from "../../../server/src/EspeakVoice.ts"
import { VoiceParts, withFallback } from "../../src/voice-parts/index.ts"
import { voiceParts, writes } from "./Parts.ts"
import { stored, voiceStory } from "./Service.ts"

const hasSpeech = spawnSync("espeak-ng", ["--version"]).status === 0
const isSkipped = !hasSpeech && process.env["CI"] !== "true"
const reason = hasSpeech ? "" : " (espeak-ng is not installed; `scripts/install-voices.sh` installs it)"

/** PCM16 at 24 kHz, of the WAV at 22,050 Hz that the program writes. */
const speech = (text: string): Buffer => {
  const { stdout } = spawnSync("espeak-ng", ["--stdout", text], { maxBuffer: 64 * 1024 * 1024 })
  return Buffer.from(makeResampler(stdout.readUInt32LE(24), 24_000)(stdout.subarray(stdout.indexOf("data") + 8)))
}

const questions = [
  "Good morning. Can you hear me?",
  "How far is it to the station?",
  "Is there a bus as well?",
  "When does the first train leave?",
  "And the last one?",
  "Tell me everything about the castle, please.",
  "Wait, that is too long for me.",
  "How much is the ticket?",
  "Can I pay by card?",
  "Thank you very much. Goodbye."
]

const silence = (millis: number) => new Uint8Array(millis * 48)

describe(`a conversation in real speech${reason}`, () => {
  const sounds = new Map(hasSpeech ? questions.map((text) => [text, speech(text)]) : [])
  /** A stretch of a question, in which somebody speaks, and which is in no other one. */
  const mark = (sound: Buffer) => sound.subarray(Math.floor(sound.length * 0.15) * 2).subarray(0, 9600)
  const asked: Array<ReadonlyArray<string>> = []
  const parts = VoiceParts.model({
    models: {
      house: {
        ...voiceParts({
          hears: (recording) => {
            const found = [...sounds].filter(([, sound]) => Buffer.from(recording).includes(mark(sound)))
            const [only] = found
            return found.length === 1 && only !== undefined
              ? only[0]
              : new ModelError({ reason: "unknown", provider: "ears", model: `${found.length} questions` })
          },
          thinks: ({ messages }) => {
            asked.push(messages.flatMap((message) => (message.role === "assistant" ? [message.content] : [])))
            const number = messages.filter(({ role }) => role === "user").length
            return writes(`This is answer number ${number}. `, "It has a second sentence, ", "so that it is longer.")
          }
        }),
        speak: { provider: espeak, usdPerMillionCharacters: 0 }
      }
    }
  })
  const whole = (number: number) => `This is answer number ${number}. It has a second sentence, so that it is longer.`

  const talk = Effect.fnUntraced(function* (client: TestRealtime.TestClient, text: string) {
    const sound = sounds.get(text) ?? Buffer.alloc(0)
    for (let at = 0; at < sound.length; at += 960) client.speak(new Uint8Array(sound.subarray(at, at + 960)))
    client.speak(silence(700))
    let heard = yield* client.next("TranscriptFinal")
    while (heard.role === "assistant") heard = yield* client.next("TranscriptFinal")
    assert.strictEqual(heard.text, text)
    const before = client.audio().byteLength
    yield* client.next("ResponseDone")
    return client.audio().byteLength - before
  })

  const conversation = Effect.fnUntraced(function* (client: TestRealtime.TestClient) {
    const { threadId } = yield* client.next("SessionBegin")
    for (const text of questions) {
      yield* talk(client, text)
      // The next question comes when the answer was heard, only the seventh one interrupts.
      yield* TestClock.adjust(text === questions[5] ? "1500 millis" : "20 seconds")
    }
    client.send({ _tag: "Stop" })
    assert.strictEqual(yield* client.end, "ended")
    return threadId
  })

  voiceStory(
    "of ten turns: each is understood, answered in sound, and kept; one answer is interrupted",
    Effect.succeed([parts]),
    Effect.gen(function* () {
      asked.length = 0
      const client = yield* TestRealtime.connect({ provider: "parts", model: "house" })
      const threadId = yield* conversation(client)
      const messages = yield* stored(threadId)
      assert.deepStrictEqual(
        messages.filter(([role]) => role === "user").map(([, text]) => text),
        questions
      )
      const answers = messages.flatMap(([role, text]) => (role === "assistant" ? [text ?? ""] : []))
      const cut = answers[5] ?? ""
      assert.deepStrictEqual(
        answers,
        questions.map((_, index) => (index === 5 ? cut : whole(index + 1)))
      )
      // A second and a half of about four.
      assert.isTrue(whole(6).startsWith(cut) && cut.length > 10 && cut.length < 60, cut)
      assert.deepStrictEqual(asked.at(-1), answers.slice(0, -1))
      // 4 seconds for each answer, at least.
      assert.isAbove(client.audio().byteLength, 10 * 3 * 48_000)
      const timed = client.events.flatMap((event) => (event._tag === "ProviderEvent" ? [JSON.parse(event.json)] : []))
      assert.strictEqual(timed.length, 10)
      assert.isTrue(timed.every(({ first_sound_ms, transcript_ms }) => first_sound_ms >= transcript_ms))
    }),
    isSkipped
  )

  voiceStory(
    "goes on in parts when the native vendor dies after a turn",
    Effect.gen(function* () {
      const { close, hear, say } = ScriptedRealtime
      const beats = [hear("First."), say(whole(1)), close("The vendor is gone.")]
      const native = yield* ScriptedRealtime.make([beats])
      return [withFallback(native.model, { to: parts, model: "house" })]
    }),
    Effect.gen(function* () {
      asked.length = 0
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      client.speak(silence(20))
      yield* client.next("TranscriptFinal")
      yield* client.next("ResponseDone")
      yield* client.next("Error")
      assert.isAbove(yield* talk(client, questions[1] ?? ""), 48_000)
      assert.deepStrictEqual(asked, [[whole(1)]])
    }),
    isSkipped
  )
})
