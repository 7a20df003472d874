/** Speech to text while somebody speaks, against a server that speaks the wires: the contract, and what each dialect sends in its own words. */
import type { Provider } from "@colloquy/core"
import { type ListeningRequest, ModelError, type SpeechToText, type TranscriptEvent } from "@colloquy/core/adapters"
import { type ListenedTurn, type ListeningVendor, listeningSuite } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { listeningCases } from "../../../testing/src/contracts/ListeningContract.ts"
import { LiveTranscription } from "../../src/realtime/index.ts"
import { startVendor, type VendorSocket } from "./FakeVendor.ts"

type Message = { readonly [field: string]: unknown }

interface Wire {
  readonly sampleRate: number
  readonly isEnd: (message: Message) => boolean
  readonly words: (delta: string) => object
  readonly whole: (text: string) => object
  readonly failure: object
}

const transcription = "conversation.item.input_audio_transcription"
const item = { item_id: "item_1", content_index: 0 }

const wires: { readonly openai: Wire; readonly vllm: Wire } = {
  openai: {
    sampleRate: 24_000,
    isEnd: ({ type }) => type === "input_audio_buffer.commit",
    words: (delta) => ({ type: `${transcription}.delta`, ...item, delta }),
    whole: (transcript) => ({
      type: `${transcription}.completed`,
      ...item,
      transcript,
      usage: { type: "tokens", input_tokens: 14, output_tokens: 3, total_tokens: 17 }
    }),
    failure: { type: "error", error: { type: "server_error", code: "server_error", message: "a secret" } }
  },
  vllm: {
    sampleRate: 16_000,
    isEnd: ({ final, type }) => type === "input_audio_buffer.commit" && final === true,
    words: (delta) => ({ type: "transcription.delta", delta }),
    whole: (text) => ({
      type: "transcription.done",
      text,
      usage: { prompt_tokens: 14, completion_tokens: 3, total_tokens: 17 }
    }),
    failure: { type: "error", error: "a secret", code: "processing_error" }
  }
}

const host: Provider = {
  id: "vendor",
  speechToText: { defaultModel: "ears", maxBytes: 1, transcribe: () => Effect.die("not asked") }
}

const speechToTextDriver = (settings: Parameters<typeof LiveTranscription.add>[1]): SpeechToText =>
  LiveTranscription.add(host, settings).speechToText ?? assert.fail("It hears nothing.")

const receivedSound = (there: VendorSocket): Buffer =>
  Buffer.concat(
    there.received.flatMap(({ audio }) => (typeof audio === "string" ? [Buffer.from(audio, "base64")] : []))
  )

const listened = (there: VendorSocket, wire: Wire): ListenedTurn => ({
  heard: (bytes) =>
    Effect.promise(() => there.message(() => receivedSound(there).length >= bytes)).pipe(
      Effect.map(() => receivedSound(there))
    ),
  tells: (words) => there.say(wire.words(words)),
  writes: (text) =>
    Effect.promise(async () => {
      await there.message(wire.isEnd)
      there.say(wire.whole(text))
    }),
  fails: () => there.say(wire.failure),
  babbles: () => there.socket.send("<html>"),
  closes: () => there.socket.close(1011),
  key: String(there.request.headers.authorization),
  left: Effect.promise(() => there.closed).pipe(Effect.asVoid)
})

const fakeVendor = Effect.acquireRelease(
  Effect.promise(() => startVendor()),
  (fake) => Effect.promise(() => fake.close())
)

const listeningVendor = (
  dialect: "openai" | "vllm",
  change: (sound: SpeechToText) => SpeechToText = (sound) => sound
) =>
  Effect.map(fakeVendor, (fake): ListeningVendor => ({
    driver: change(speechToTextDriver({ url: fake.url, dialect, apiKey: "sk-of-the-host" })),
    model: "ears-1",
    sampleRate: wires[dialect].sampleRate,
    turn: Effect.promise(async () => listened(await fake.connection(), wires[dialect])),
    refuses: (status) => fake.refuse(status, JSON.stringify({ error: { message: "a secret of sk-of-the-host" } }))
  }))

listeningSuite("openai", listeningVendor("openai"))
listeningSuite("vllm", listeningVendor("vllm"))

const telling =
  (change: (event: TranscriptEvent) => ReadonlyArray<TranscriptEvent>) =>
  (driver: SpeechToText): SpeechToText => ({
    ...driver,
    listen: (asked, sound) =>
      Stream.flatMap(driver.listen?.(asked, sound) ?? Stream.empty, (event) => Stream.fromIterable(change(event)))
  })

const inCharacters = telling((event) =>
  event._tag === "Transcribed" ? [event] : ["", ...Array.from(event.text), ""].map((text) => ({ ...event, text }))
)
listeningSuite("one that tells single characters, and nothing between", listeningVendor("vllm", inCharacters))

describe("the contract of listening finds one that", () => {
  const early = "MUST tell words before the sound ends"
  for (const [what, change, foundBy] of [
    [
      "tells other words",
      telling((event) => (event._tag === "Transcribed" ? [event] : [{ ...event, text: "x" }])),
      early
    ],
    [
      "tells the whole text twice",
      telling((event) => (event._tag === "Transcribed" ? [event, event] : [event])),
      early
    ],
    [
      "has words of the vendor in a field of its error",
      (driver: SpeechToText): SpeechToText => ({
        ...driver,
        listen: (asked, sound) =>
          Stream.mapError(
            driver.listen?.(asked, sound) ?? Stream.empty,
            ({ model, provider, reason }) => new ModelError({ model, provider, reason, requestId: "a secret" })
          )
      }),
      "MUST fail, and not with a defect, on an error of the vendor"
    ]
  ] as const) {
    it.live(what, () =>
      Effect.gen(function* () {
        const found: Array<Effect.Effect<void, unknown, Scope.Scope>> = []
        listeningCases(
          (title, run) => {
            if (title.startsWith(foundBy)) found.push(run())
          },
          listeningVendor("vllm", change)
        )
        assert.lengthOf(found, 1)
        for (const each of found) assert.isTrue(Exit.isFailure(yield* Effect.exit(each)))
      })
    )
  }
})

const request: ListeningRequest = {
  provider: "vendor",
  model: "ears-1",
  language: "pt-BR",
  prompt: "Colloquy",
  apiKey: null,
  sampleRate: 24_000
}

const silence = (millis: number) => new Uint8Array(millis * 48)

const heardBy = Effect.fnUntraced(function* (
  settings: Partial<Parameters<typeof LiveTranscription.add>[1]>,
  sound: Stream.Stream<Uint8Array>,
  play: (there: VendorSocket) => Promise<void>
) {
  const fake = yield* fakeVendor
  const listen = speechToTextDriver({ url: fake.url, ...settings }).listen ?? assert.fail("It does not listen.")
  const events = yield* Effect.forkChild(Stream.runCollect(listen(request, sound)))
  const there = yield* Effect.promise(() => fake.connection())
  yield* Effect.promise(() => play(there))
  return { events: yield* Fiber.join(events), there }
})

const finalTranscript = (events: ReadonlyArray<TranscriptEvent>) => {
  const last = events.at(-1)
  return last?._tag === "Transcribed" ? last.transcript : assert.fail("There is no transcript.")
}

describe("what each dialect sends", () => {
  it.effect("openai: a session of transcription without its own turns, the sound, and a commit", () =>
    Effect.gen(function* () {
      const { events, there } = yield* heardBy(
        { model: "live-1", usdPerMinute: 0.6 },
        Stream.make(silence(1000), silence(500)),
        async (socket) => {
          await socket.message(wires.openai.isEnd)
          socket.say(wires.openai.whole("Olá."))
        }
      )
      assert.deepStrictEqual(there.received[0], {
        type: "session.update",
        session: {
          type: "transcription",
          audio: {
            input: {
              format: { type: "audio/pcm", rate: 24_000 },
              transcription: { model: "live-1", language: "pt", prompt: "Colloquy" },
              turn_detection: null
            }
          }
        }
      })
      assert.strictEqual(receivedSound(there).length, 1500 * 48)
      assert.deepInclude(there.received.at(-1), { type: "input_audio_buffer.commit" })
      assert.strictEqual(there.request.headers.authorization, undefined)
      const { seconds, text, usage } = finalTranscript(events)
      assert.deepInclude({ seconds, text, ...usage }, { seconds: 1.5, text: "Olá.", inputTokens: 14, outputTokens: 3 })
      assert.approximately(usage?.costUsd ?? 0, 0.015, 1e-9)
    })
  )

  it.effect("openai: a server that ends turns itself is heard to the end", () =>
    Effect.gen(function* () {
      const { events } = yield* heardBy({}, Stream.make(silence(100)), async (socket) => {
        await socket.message(({ type }) => type === "session.update")
        socket.say(wires.openai.whole("One."))
        await socket.message(wires.openai.isEnd)
        socket.say({ type: "error", error: { code: "input_audio_buffer_commit_empty", message: "x" } })
      })
      const last = finalTranscript(events)
      assert.strictEqual(last.text, "One.")
    })
  )

  it.effect("vllm: the model, a commit that begins, sound at 16 kHz, and a commit that ends", () =>
    Effect.gen(function* () {
      const { events, there } = yield* heardBy({ dialect: "vllm" }, Stream.make(silence(300)), async (socket) => {
        await socket.message(wires.vllm.isEnd)
        socket.say(wires.vllm.whole(" Olá."))
      })
      assert.deepStrictEqual(there.received.slice(0, 2), [
        { type: "session.update", model: "ears-1" },
        { type: "input_audio_buffer.commit" }
      ])
      assert.approximately(receivedSound(there).length, 300 * 32, 4)
      assert.deepInclude(finalTranscript(events).usage, { inputTokens: 14, outputTokens: 3 })
      assert.strictEqual(finalTranscript(events).text, "Olá.")
    })
  )

  it.effect("words without an end are an error", () =>
    Effect.gen(function* () {
      const fake = yield* fakeVendor
      const listen = speechToTextDriver({ url: fake.url }).listen ?? assert.fail("It does not listen.")
      const listening = yield* Effect.forkChild(Stream.runDrain(listen(request, Stream.never)))
      const there = yield* Effect.promise(() => fake.connection())
      for (let count = 0; count < 3; count++) there.say(wires.openai.words("x".repeat(400_000)))
      assert.deepInclude(yield* Effect.flip(Fiber.join(listening)), { reason: "malformed", code: "oversized_answer" })
    })
  )

  it("a provider without ears, and an address that is no socket, are mistakes of the host", () => {
    assert.throws(() => LiveTranscription.add({ id: "mute" }, { url: "ws://127.0.0.1" }), /mute/u)
    assert.throws(() => speechToTextDriver({ url: "http://127.0.0.1" }), /ws:\/\//u)
    const key = Redacted.make("k")
    assert.isDefined(speechToTextDriver({ ...LiveTranscription.openAi, apiKey: key }).listen)
  })
})
