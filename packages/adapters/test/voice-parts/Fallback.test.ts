/** A native model that dies in the middle of a session, and parts that go on. */
import type { ChatRequest } from "@colloquy/core/adapters"
import type { PreparedSession, RealtimeModel, VendorCommand, VendorListener } from "@colloquy/core/realtime"
import { ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { TestClock } from "effect/testing"
import { VoiceParts, withFallback } from "../../src/voice-parts/index.ts"
import { voiceParts, writes } from "./Parts.ts"
import { sound } from "../../src/voice-parts/Parts.ts"
import { setup } from "../realtime/Mapped.ts"
import { stored, voiceStory } from "./Service.ts"

const { close, hear, read, refuse, say } = ScriptedRealtime

const asked: Array<ChatRequest> = []
const heard: Array<Uint8Array> = []

const models = (script: ReadonlyArray<ScriptedRealtime.VoiceBeat>) =>
  Effect.gen(function* () {
    asked.length = 0
    heard.length = 0
    const native = yield* ScriptedRealtime.make([script])
    const parts = VoiceParts.model({
      models: {
        house: voiceParts({
          hears: (recording) => {
            heard.push(recording)
            return "Are you there?"
          },
          thinks: (request) => {
            asked.push(request)
            return writes(`Answer ${asked.length}.`)
          }
        })
      }
    })
    const both: ReadonlyArray<RealtimeModel> = [withFallback(native.model, { to: parts, model: "house" })]
    return both
  })

const requestTexts = (request = asked[0]) =>
  request?.messages.flatMap((message) =>
    message.role === "user"
      ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : message.role === "assistant"
        ? [message.content]
        : []
  )

const loud = new Uint8Array(
  Int16Array.from({ length: 500 * 24 }, (_, index) => (index % 2 === 0 ? 6000 : -6000)).buffer
)

describe("a fallback", () => {
  voiceStory(
    "goes on with the conversation so far, in the same session",
    models([read("One"), say("First."), close("The vendor is gone.")]),
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "One" })
      const error = yield* client.next("Error")
      assert.include(error.message, "goes on with another model")
      client.send({ _tag: "Change", settings: { systemPrompt: "Be brief." } })
      yield* client.next("SessionChanged")
      client.send({ _tag: "Text", text: "Two" })
      while ((yield* client.next("TranscriptFinal")).text !== "Answer 1.");
      assert.deepStrictEqual(requestTexts(), ["One", "First.", "Two"])
      assert.strictEqual(asked[0]?.system, "Be brief.")
      yield* TestClock.adjust("5 seconds")
      client.speak(loud)
      client.speak(new Uint8Array(600 * 48))
      while ((yield* client.next("TranscriptFinal")).text !== "Answer 2.");
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* client.end, "ended")
      assert.deepStrictEqual(yield* stored(threadId), [
        ["user", "One"],
        ["assistant", "First."],
        ["user", "Two"],
        ["assistant", "Answer 1."],
        ["user", "Are you there?"],
        ["assistant", "Answer 2."]
      ])
    })
  )

  voiceStory(
    "a question that the vendor did not answer is answered, and stands in the thread once",
    models([hear("Who is there?"), close("Gone.")]),
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(loud)
      while ((yield* client.next("TranscriptFinal")).text !== "Answer 1.");
      assert.deepStrictEqual(requestTexts(), ["Who is there?"])
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual(yield* stored(threadId), [
        ["user", "Who is there?"],
        ["assistant", "Answer 1."]
      ])
    })
  )

  voiceStory(
    "a vendor that cannot be reached is replaced before the session begins",
    models([refuse("Down.")]),
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "Hello" })
      assert.strictEqual((yield* client.next("TranscriptFinal")).text, "Answer 1.")
    })
  )
})

it.effect("a change while the other model is being opened reaches it, before the question", () =>
  Effect.gen(function* () {
    const listeners: Array<VendorListener> = []
    const sent: Array<VendorCommand> = []
    const model = (id: string): RealtimeModel => ({
      id,
      models: [],
      prepare: () =>
        Result.succeed<PreparedSession>({
          inputFormat: sound,
          outputFormat: sound,
          canCancel: true,
          instructions: "Be kind.",
          connect: (listener) =>
            Effect.sync(() => {
              listeners.push(listener)
              return {
                send: (command) => {
                  sent.push(command)
                  return null
                },
                sendAudio: () => {},
                buffered: () => 0,
                pause: () => {},
                resume: () => {},
                finish: () => {}
              }
            })
        })
    })
    const both = withFallback(model("native"), { to: model("other"), model: "house" })
    const link = yield* Result.getOrThrow(both.prepare(setup())).connect({ event: () => {}, audio: () => {} })
    listeners[0]?.event({ _tag: "Ready" })
    listeners[0]?.event({ _tag: "Typed", itemId: "i1", text: "Who is there?" })
    listeners[0]?.event({ _tag: "Closed", reason: "Gone." })
    const change: VendorCommand = { _tag: "Setup", instructions: "Be brief.", tools: [] }
    link.send(change)
    listeners[1]?.event({ _tag: "Ready" })
    assert.deepStrictEqual(sent, [change, { _tag: "Text", text: "Who is there?" }])
  }).pipe(Effect.scoped)
)
