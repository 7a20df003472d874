/**
 * The contract of `SpeechToText.listen`, in the terms of the port. The suite calls a driver only through the port, and plays the vendor behind it
 * (a server that speaks the vendor's wire) through `ListeningVendor`.
 */
import type { ListeningRequest, ModelError, SpeechToText, TranscriptEvent } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { asLiveTest, type TakeCase, usualPatience } from "./DriverChecks.ts"
import { expectQuietError } from "./TextForUsers.ts"
import { expectKey } from "./VoiceVendor.ts"

/** One turn, as the vendor has it. */
export interface ListenedTurn {
  /** The sound that has come, once there are as many bytes: PCM16, mono, at the rate of the vendor. */
  readonly heard: (bytes: number) => Effect.Effect<Uint8Array>
  /** Tells words, while the turn is spoken. */
  readonly tells: (words: string) => void
  /** Waits until it is told that the turn is over, and then tells the whole text. */
  readonly writes: (text: string) => Effect.Effect<void>
  /** Says that it cannot go on, in words with a secret. */
  readonly fails: () => void
  /** Sends a message that is not of its protocol. */
  readonly babbles: () => void
  readonly closes: () => void
  /** What contains the key of the connection; null, if the vendor takes no key. */
  readonly key: string | null
  /** Completes when the connection is closed. */
  readonly left: Effect.Effect<void>
}

/** A driver that listens, with the host's key `sk-of-the-host`. */
export interface ListeningVendor {
  readonly driver: SpeechToText
  readonly model: string
  /** The rate of the sound at the vendor. */
  readonly sampleRate: number
  /** The next connection. */
  readonly turn: Effect.Effect<ListenedTurn>
  /** From now on connections are refused, in words with a secret. */
  readonly refuses: (status: number) => void
}

/** The next words, in deltas of any size. */
const expectWords = Effect.fnUntraced(
  function* (words: Queue.Dequeue<TranscriptEvent>, wanted: string) {
    let heard = ""
    while (heard.length < wanted.length) {
      const event = yield* Queue.take(words)
      heard += event._tag === "TranscriptDelta" ? event.text : assert.fail(`The whole text came before "${wanted}".`)
      assert.isTrue(wanted.startsWith(heard), `The driver told "${heard}" where the vendor told "${wanted}".`)
    }
  },
  (hearing, _, wanted) =>
    Effect.timeoutOrElse(hearing, {
      duration: usualPatience,
      orElse: () => Effect.sync(() => assert.fail(`The driver did not tell "${wanted}" while the turn was spoken.`))
    })
)

/** What every driver that listens must do. */
export const listeningSuite = (name: string, open: Effect.Effect<ListeningVendor, never, Scope.Scope>): void => {
  describe(`the contract of listening: ${name}`, () => listeningCases(asLiveTest, open))
}

/** Its cases. */
export const listeningCases = (test: TakeCase, open: Effect.Effect<ListeningVendor, never, Scope.Scope>): void => {
  const speak = Effect.fnUntraced(function* (fields: Partial<ListeningRequest> = {}) {
    const vendor = yield* open
    const sound = yield* Queue.make<Uint8Array, Cause.Done>()
    const told: Array<TranscriptEvent> = []
    const request: ListeningRequest = {
      provider: "vendor",
      model: vendor.model,
      language: null,
      prompt: null,
      apiKey: null,
      sampleRate: vendor.sampleRate,
      ...fields
    }
    const words = yield* Queue.make<TranscriptEvent>()
    const events = vendor.driver.listen?.(request, Stream.fromQueue(sound)) ?? Stream.die("It does not listen.")
    const listening = yield* Effect.forkChild(
      Stream.runForEach(events, (event) => {
        told.push(event)
        return Queue.offer(words, event)
      })
    )
    return { vendor, sound, told, words, listening }
  })

  const pieces = [Uint8Array.of(1, 2, 3, 4), Uint8Array.of(5, 6), Uint8Array.of(7, 8, 9, 10)]
  const failed = (listening: Fiber.Fiber<void, ModelError>) => Effect.flip(Fiber.join(listening))

  test("MUST send each piece while the turn is spoken, every sample in its order", () =>
    Effect.gen(function* () {
      const { sound, vendor } = yield* speak()
      const turn = yield* vendor.turn
      for (const [index, piece] of pieces.entries()) {
        yield* Queue.offer(sound, piece)
        const sent = Buffer.concat(pieces.slice(0, index + 1))
        assert.deepStrictEqual(Buffer.from(yield* turn.heard(sent.length)), sent)
      }
    }))

  test("MUST tell words before the sound ends, and the whole text once, as the last event", () =>
    Effect.gen(function* () {
      const { listening, sound, told, vendor, words } = yield* speak()
      const turn = yield* vendor.turn
      yield* Queue.offer(sound, pieces[0] ?? new Uint8Array())
      for (const said of ["Grüße, ", "世界 🎙️"]) {
        turn.tells(said)
        yield* expectWords(words, said)
      }
      yield* Queue.end(sound)
      yield* turn.writes("Grüße, 世界 🎙️!")
      yield* Fiber.join(listening)
      assert.lengthOf(
        told.filter(({ _tag }) => _tag === "Transcribed"),
        1
      )
      const last = told.at(-1)
      assert.strictEqual(last?._tag === "Transcribed" ? last.transcript.text : null, "Grüße, 世界 🎙️!")
    }))

  test("MUST give an empty text for a turn without speech", () =>
    Effect.gen(function* () {
      const { listening, sound, told, vendor } = yield* speak()
      const turn = yield* vendor.turn
      yield* Queue.offer(sound, pieces[0] ?? new Uint8Array())
      yield* Queue.end(sound)
      yield* turn.writes("")
      yield* Fiber.join(listening)
      const last = told.at(-1)
      assert.strictEqual(last?._tag === "Transcribed" ? last.transcript.text.trim() : null, "")
    }))

  test("MUST connect with the customer's own key if there is one", () =>
    Effect.gen(function* () {
      const { vendor } = yield* speak({ apiKey: Redacted.make("sk-of-the-customer") })
      expectKey([(yield* vendor.turn).key], "sk-of-the-customer")
    }))

  for (const [status, reason] of [
    [401, "auth"],
    [429, "rate_limited"],
    [503, "overloaded"]
  ] as const) {
    test(`MUST fail with ${reason} on status ${status}, without any text of the vendor`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.refuses(status)
        const request = { provider: "vendor", model: vendor.model, language: null, prompt: null, apiKey: null }
        const events = vendor.driver.listen?.({ ...request, sampleRate: vendor.sampleRate }, Stream.never)
        const error = yield* Effect.flip(Stream.runDrain(events ?? Stream.die("It does not listen.")))
        assert.deepInclude(error, { _tag: "ModelError", reason, status })
        expectQuietError(error, /secret/u)
      }))
  }

  const ends: ReadonlyArray<readonly [string, (turn: ListenedTurn) => void]> = [
    ["a connection that ends before the whole text", (turn) => turn.closes()],
    ["an error of the vendor", (turn) => turn.fails()],
    ["a message of another protocol", (turn) => turn.babbles()]
  ]
  for (const [what, end] of ends) {
    test(`MUST fail, and not with a defect, on ${what}, while the turn is spoken`, () =>
      Effect.gen(function* () {
        const { listening, vendor } = yield* speak()
        end(yield* vendor.turn)
        const error = yield* failed(listening)
        assert.strictEqual(error._tag, "ModelError")
        expectQuietError(error, /secret/u)
      }))
  }

  test("MUST fail when the connection ends after the sound and before the whole text", () =>
    Effect.gen(function* () {
      const { listening, sound, vendor } = yield* speak()
      const turn = yield* vendor.turn
      yield* Queue.offer(sound, pieces[0] ?? new Uint8Array())
      yield* turn.heard(4)
      yield* Queue.end(sound)
      turn.closes()
      assert.strictEqual((yield* failed(listening))._tag, "ModelError")
    }))

  test("MUST close the connection when the stream is abandoned", () =>
    Effect.gen(function* () {
      const { listening, vendor } = yield* speak()
      const turn = yield* vendor.turn
      yield* Fiber.interrupt(listening)
      yield* turn.left
    }))

  test("MUST pull no sound while the vendor has not accepted the connection", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      vendor.refuses(503)
      let pulled = 0
      const sound = Stream.fromEffect(Effect.sync(() => ++pulled)).pipe(Stream.map(() => new Uint8Array(4)))
      const request = { provider: "vendor", model: vendor.model, language: null, prompt: null, apiKey: null }
      const events = vendor.driver.listen?.({ ...request, sampleRate: vendor.sampleRate }, sound)
      yield* Effect.flip(Stream.runDrain(events ?? Stream.die("It does not listen.")))
      assert.strictEqual(pulled, 0)
    }))
}
