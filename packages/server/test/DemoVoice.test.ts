/** The demo voice inside of a kernel: what it hears, says and keeps, in virtual time. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { TestRealtime } from "@colloquy/testing"
import { HostedTools, Kernel, Principal, Providers, ThreadId, Threads } from "@colloquy/core"
import { joinBytes } from "@colloquy/core/adapters"
import { Realtime, RealtimeModels } from "@colloquy/core/realtime"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { clock } from "../src/demo/Clock.ts"
import { demoModelName, demoProvider } from "../src/demo/DemoModel.ts"
import { soundMillis, silence, tone } from "../src/demo/DemoSound.ts"
import { demoVoice, demoVoiceName } from "../src/demo/DemoVoice.ts"

const service = Layer.merge(Realtime.layer(), HostedTools.tools([clock])).pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provide([
    RealtimeModels.layer([demoVoice]),
    Providers.layer({ providers: [demoProvider()], defaults: { provider: "demo", model: demoModelName } })
  ]),
  Layer.provideMerge(InMemory.layer)
)

type Wanted = Parameters<typeof TestRealtime.connect>[0]

const connect = (fields: Wanted = {}) =>
  Effect.gen(function* () {
    const client = yield* TestRealtime.connect({ provider: "demo", model: demoVoiceName, ...fields })
    return { client, begin: yield* client.next("SessionBegin") }
  })

const threadMessages = (threadId: string) =>
  Effect.map(
    Threads.use((threads) => threads.get(ThreadId.make(threadId))),
    ({ messages }) => messages.map(({ content, metadata, role }) => ({ role, content, metadata }))
  )

/** In pieces of 20 ms, as a microphone sends it. */
const audioPieces = (audio: Uint8Array) =>
  Array.from({ length: Math.ceil(audio.byteLength / 960) }, (_, index) => audio.slice(index * 960, index * 960 + 960))

describe("the demo voice", () => {
  it.effect("plays back what was spoken, byte by byte, once there is silence", () =>
    Effect.gen(function* () {
      const { begin, client } = yield* connect()
      const spoken = tone(300, 400)
      for (const piece of audioPieces(joinBytes([silence(200), spoken, silence(600)]))) client.speak(piece)
      yield* TestClock.adjust("1 minute")
      yield* client.next("ResponseDone")
      const heard = client.audio()
      const echo = Buffer.from(heard).subarray(heard.byteLength - spoken.byteLength)
      assert.isTrue(echo.equals(Buffer.from(spoken)))
      assert.strictEqual(soundMillis(heard), 740)
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* client.end, "ended")
      assert.deepStrictEqual(yield* threadMessages(begin.threadId), [
        { role: "user", content: "(0.4 seconds of sound)", metadata: null },
        { role: "assistant", content: "I heard 0.4 seconds of sound. Here it is again.", metadata: null }
      ])
    }).pipe(Effect.scoped, Principal.provide("ada"), Effect.provide(service))
  )

  it.effect("answers a text with a note for each word, and stops when somebody speaks", () =>
    Effect.gen(function* () {
      const { begin, client } = yield* connect()
      client.send({ _tag: "Text", text: "Sing a song" })
      yield* TestClock.adjust("1 second")
      client.speak(tone(300, 20))
      yield* client.next("Interrupted")
      assert.isBelow(soundMillis(client.audio()), 1300)
      client.send({ _tag: "Stop" })
      yield* TestClock.adjust("1 minute")
      yield* client.end
      const [typed, answer] = yield* threadMessages(begin.threadId)
      assert.deepInclude(typed, { role: "user", content: "Sing a song" })
      assert.deepStrictEqual(answer?.metadata, { interrupted: true })
      const said = String(answer?.content)
      assert.match(said, /^You wrote: "Sing/)
      assert.notInclude(said, "melody for it.")
    }).pipe(Effect.scoped, Principal.provide("ada"), Effect.provide(service))
  )

  it.effect("calls the client's tool that is named, and the service's clock", () =>
    Effect.gen(function* () {
      const weather = { name: "weather", description: null, parameters: null }
      const { client } = yield* connect({ tools: [weather] })
      client.send({ _tag: "Text", text: "How is the weather?" })
      const call = yield* client.next("ToolCall")
      assert.deepInclude(call, { name: "weather", hosted: false })
      client.send({ _tag: "ToolOutputs", outputs: [{ toolCallId: call.toolCallId, name: "weather", output: "sun" }] })
      yield* TestClock.adjust("1 minute")
      const texts = () => client.events.flatMap((event) => (event._tag === "TranscriptFinal" ? [event.text] : []))
      assert.include(texts(), "weather says: sun")
      client.send({ _tag: "Text", text: "What time is it?" })
      assert.deepInclude(yield* client.next("ToolCall"), { name: "server_clock", hosted: true })
      yield* client.next("ToolCompleted")
      yield* TestClock.adjust("1 minute")
      assert.include(texts().at(-1), "server_clock says: 1970-01-01")
    }).pipe(Effect.scoped, Principal.provide("ada"), Effect.provide(service))
  )

  it.effect("takes turns by hand where turn_detection is null, and refuses other settings", () =>
    Effect.gen(function* () {
      const { client } = yield* connect({ providerOptions: { turn_detection: null } })
      client.send({ _tag: "Commit" })
      assert.strictEqual((yield* client.next("Error")).code, "invalid_frame")
      for (const piece of audioPieces(joinBytes([tone(300, 200), silence(5000)]))) client.speak(piece.slice(0, 959))
      yield* TestClock.adjust("2 seconds")
      assert.lengthOf(client.audio(), 0)
      client.send({ _tag: "Commit" })
      yield* TestClock.adjust("1 minute")
      assert.isAbove(soundMillis(client.audio()), 5000)
      const other = yield* TestRealtime.connect({
        provider: "demo",
        model: demoVoiceName,
        providerOptions: { voice: "x" }
      })
      assert.strictEqual((yield* other.next("Error")).code, "invalid_first_frame")
    }).pipe(Effect.scoped, Principal.provide("ada"), Effect.provide(service))
  )
})
