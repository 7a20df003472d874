/**
 * What the contracts of `SpeechToText` and `TextToSpeech` permit and what they find, on drivers without a network: a vendor in the process does what
 * the suite tells it.
 */
import {
  ModelError,
  reasonOfStatus,
  type SpeechFormat,
  type SpeechToText,
  type TextToSpeech,
  type TranscriptEvent
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { HearingVendor, SpeakingVendor, VoiceVendor } from "../src/contracts/index.ts"
import type { TakeCase } from "../src/contracts/DriverChecks.ts"
import { speechToTextCases } from "../src/contracts/SpeechToTextContract.ts"
import { textToSpeechCases } from "../src/contracts/TextToSpeechContract.ts"

type Piece = Uint8Array | Effect.Effect<void>

/** What the vendor does with one request. */
type Deed =
  | { readonly says: ReadonlyArray<string>; readonly isBroken?: true }
  | { readonly sounds: ReadonlyArray<Piece> }
  | { readonly status: number; readonly headers: { readonly [name: string]: string } }
  | { readonly hangs: Deferred.Deferred<void>; readonly left: Deferred.Deferred<void> }

interface Asked {
  readonly apiKey: Redacted.Redacted<string> | null
}

const makeVendor = () => {
  const deeds: Array<Deed> = []
  const keys: Array<string> = []
  const malformed = new ModelError({ reason: "malformed", provider: "vendor", model: "voice-1" })
  const next = ({ apiKey }: Asked): Effect.Effect<Exclude<Deed, { readonly status: number }>, ModelError> =>
    Effect.suspend(() => {
      keys.push(apiKey === null ? "sk-of-the-host" : Redacted.value(apiKey))
      const deed = deeds.shift() ?? { status: 500, headers: {} }
      if ("hangs" in deed) {
        const hanging = Effect.andThen(Deferred.succeed(deed.hangs, undefined), Effect.never)
        return Effect.onInterrupt(hanging, () => Deferred.succeed(deed.left, undefined))
      }
      if (!("status" in deed)) return Effect.succeed(deed)
      if (deed.status === 200) return Effect.fail(malformed)
      const retryAfterMillis = Number(deed.headers["retry-after"]) * 1000
      const { status } = deed
      return Effect.fail(
        new ModelError({
          reason: reasonOfStatus(status),
          status,
          provider: "vendor",
          model: "voice-1",
          retryAfterMillis
        })
      )
    })
  const vendor: VoiceVendor = {
    model: "voice-1",
    answers: (status, headers) => void deeds.push({ status, headers }),
    breaksOff: () => void deeds.push({ status: 200, headers: {} }),
    neverEnds: () => void deeds.push({ status: 200, headers: {} }),
    hangs: () => {
      const [hangs, left] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      deeds.push({ hangs, left })
      return { asked: Deferred.await(hangs), left: Deferred.await(left) }
    },
    keys: Effect.sync(() => keys)
  }
  return { deeds, malformed, next, vendor }
}

const hearing = (change: (sound: SpeechToText) => SpeechToText, isKeyless = false) =>
  Effect.sync((): HearingVendor => {
    const { deeds, malformed, next, vendor } = makeVendor()
    const recordings: Array<Uint8Array> = []
    const whole = (text: string) => ({ text, seconds: null, language: null, usage: null })
    const driver: SpeechToText = {
      defaultModel: "voice-1",
      maxBytes: 1_000_000,
      transcribe: (request) =>
        Effect.flatMap(next(request), (deed) => {
          recordings.push(request.recording.bytes)
          return "says" in deed ? Effect.succeed(whole(deed.says.join(""))) : Effect.fail(malformed)
        }),
      stream: (request) =>
        Stream.unwrap(
          Effect.map(next(request), (deed): Stream.Stream<TranscriptEvent, ModelError> => {
            const says = "says" in deed ? deed.says : []
            const deltas = Stream.fromIterable(says.map((text) => ({ _tag: "TranscriptDelta", text }) as const))
            if ("isBroken" in deed) return Stream.concat(deltas, Stream.fail(malformed))
            return Stream.concat(
              deltas,
              Stream.make({ _tag: "Transcribed", transcript: whole(says.join("")) } as const)
            )
          })
        )
    }
    return {
      ...vendor,
      ...(isKeyless ? { keys: Effect.map(vendor.keys, (keys) => keys.map(() => null)) } : {}),
      driver: change(driver),
      writes: (text) => void deeds.push({ says: [text] }),
      tells: (...says) => void deeds.push({ says }),
      tellsAndBreaks: (...says) => void deeds.push({ says, isBroken: true }),
      recordings: Effect.sync(() => recordings)
    }
  })

const speaking = (change: (sound: TextToSpeech) => TextToSpeech, format: SpeechFormat = "mp3") =>
  Effect.sync((): SpeakingVendor => {
    const { deeds, malformed, next, vendor } = makeVendor()
    const texts: Array<string> = []
    const driver: TextToSpeech = {
      defaultModel: "voice-1",
      formats: [format],
      sampleRate: 24_000,
      maxCharacters: 1000,
      speak: (request) =>
        Stream.unwrap(
          Effect.map(next(request), (deed) => {
            texts.push(request.text)
            if (!("sounds" in deed) || deed.sounds.length === 0) return Stream.fail(malformed)
            return Stream.flatMap(Stream.fromIterable(deed.sounds), (piece) =>
              piece instanceof Uint8Array ? Stream.make(piece) : Stream.fromEffectDrain(piece)
            )
          })
        )
    }
    return {
      ...vendor,
      driver: change(driver),
      streams: true,
      speaks: (...sounds) => void deeds.push({ sounds }),
      texts: Effect.sync(() => texts)
    }
  })

/** The titles of the cases that find something. */
const foundBy = (cases: (test: TakeCase) => void) =>
  Effect.gen(function* () {
    const all: Array<readonly [title: string, run: () => Effect.Effect<void, unknown, Scope.Scope>]> = []
    cases((title, run) => void all.push([title, run]))
    const found: Array<string> = []
    for (const [title, run] of all) {
      const exit = yield* Effect.exit(Effect.scoped(run()))
      if (Exit.isFailure(exit)) found.push(`${title}: ${String(Cause.squash(exit.cause))}`)
    }
    return found
  })

const telling =
  (change: (event: TranscriptEvent) => ReadonlyArray<TranscriptEvent>) =>
  (driver: SpeechToText): SpeechToText => ({
    ...driver,
    stream: (request) =>
      Stream.flatMap(driver.stream?.(request) ?? Stream.empty, (event) => Stream.fromIterable(change(event)))
  })

const inCharacters = telling((event) =>
  event._tag === "Transcribed" ? [event] : ["", ...Array.from(event.text), ""].map((text) => ({ ...event, text }))
)

const slow = (driver: SpeechToText): SpeechToText => ({
  ...driver,
  transcribe: (request) => Effect.delay(driver.transcribe(request), "2 millis")
})

const withHeader = (driver: TextToSpeech): TextToSpeech => ({
  ...driver,
  speak: (request) =>
    Stream.suspend(() => {
      let isBegun = false
      return Stream.flatMap(driver.speak(request), (piece) => {
        const header = isBegun ? [] : [new Uint8Array(44)]
        isBegun = true
        return Stream.fromIterable([...header, piece])
      })
    })
})

const inBytes = (driver: TextToSpeech): TextToSpeech => ({
  ...driver,
  speak: (request) =>
    Stream.flatMap(driver.speak(request), (piece) =>
      Stream.fromIterable([new Uint8Array(), ...Array.from(piece, (byte) => Uint8Array.of(byte))])
    )
})

describe("the contracts of voice", () => {
  for (const [what, cases] of [
    [
      "hears as it should",
      (test: TakeCase) =>
        speechToTextCases(
          test,
          hearing((driver) => driver)
        )
    ],
    ["tells single characters and nothing between", (test: TakeCase) => speechToTextCases(test, hearing(inCharacters))],
    ["is slow, and has no key", (test: TakeCase) => speechToTextCases(test, hearing(slow, true))],
    [
      "speaks as it should",
      (test: TakeCase) =>
        textToSpeechCases(
          test,
          speaking((driver) => driver)
        )
    ],
    ["gives single bytes, and empty pieces", (test: TakeCase) => textToSpeechCases(test, speaking(inBytes))],
    ["writes the header of a WAV file", (test: TakeCase) => textToSpeechCases(test, speaking(withHeader, "wav"))]
  ] as const) {
    it.live(`permit a driver that ${what}`, () =>
      Effect.map(foundBy(cases), (found) => assert.deepStrictEqual(found, []))
    )
  }

  const stream = "MUST return the whole text at the end of a stream, if the driver streams"
  const key = "MUST ask with the customer's own key if there is one"
  const sound = "MUST give the bytes as they were sent, for the unchanged text"
  for (const [what, foundIn, cases] of [
    [
      "loses words of a stream",
      stream,
      (test: TakeCase) =>
        speechToTextCases(
          test,
          hearing(telling((event) => (event._tag === "TranscriptDelta" && event.text === "Done." ? [] : [event])))
        )
    ],
    [
      "tells the whole text twice",
      stream,
      (test: TakeCase) =>
        speechToTextCases(test, hearing(telling((event) => (event._tag === "Transcribed" ? [event, event] : [event]))))
    ],
    [
      "ends where its stream breaks",
      "MUST fail when its stream breaks, after the text that came before",
      (test: TakeCase) =>
        speechToTextCases(
          test,
          hearing((driver) => ({
            ...driver,
            stream: (request) => Stream.catch(driver.stream?.(request) ?? Stream.empty, () => Stream.empty)
          }))
        )
    ],
    [
      "ignores the customer's key",
      key,
      (test: TakeCase) =>
        speechToTextCases(
          test,
          hearing((driver) => ({ ...driver, transcribe: (request) => driver.transcribe({ ...request, apiKey: null }) }))
        )
    ],
    [
      "writes a header where the sound is MP3",
      sound,
      (test: TakeCase) => textToSpeechCases(test, speaking(withHeader))
    ],
    [
      "goes on after an interruption",
      "MUST close the connection when it is interrupted: AssertionError: The driver did not close its connection",
      (test: TakeCase) =>
        speechToTextCases(
          (title, run) => void (title.startsWith("MUST close") && test(title, run)),
          hearing((driver) => ({
            ...driver,
            transcribe: (request) =>
              Effect.flatten(Effect.promise(() => Effect.runPromiseExit(driver.transcribe(request))))
          })),
          20
        )
    ],
    [
      "loses the end of the sound",
      sound,
      (test: TakeCase) =>
        textToSpeechCases(
          test,
          speaking((driver) => ({ ...driver, speak: (request) => Stream.take(driver.speak(request), 1) }), "wav")
        )
    ]
  ] as const) {
    it.live(`find one that ${what}`, () =>
      Effect.map(foundBy(cases), (found) =>
        assert.isTrue(
          found.some((sentence) => sentence.startsWith(foundIn)),
          found.join("\n")
        )
      )
    )
  }
})
