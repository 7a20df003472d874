/**
 * The contract of `TextToSpeech`, in the terms of the port. The suite calls an adapter only through the port, and controls the vendor
 * behind it (a server that speaks the vendor's wire) through `SpeakingVendor`.
 */
import type { SpeechFormat, SpeechRequest, TextToSpeech } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { asLiveTest, type TakeCase, usualPatience } from "./DriverChecks.ts"
import { expectKey, type VoiceVendor, voiceVendorTests } from "./VoiceVendor.ts"

/** A driver of text to speech with a vendor that speaks given bytes. */
export interface SpeakingVendor extends VoiceVendor {
  /** With the host's key `sk-of-the-host`. */
  readonly driver: TextToSpeech
  /** Answers one request with these pieces of sound. An effect is run when everything before it has been sent, and is awaited. */
  readonly speaks: (...pieces: ReadonlyArray<Uint8Array | Effect.Effect<void>>) => void
  /** The texts that the vendor was asked to speak. */
  readonly texts: Effect.Effect<ReadonlyArray<string>>
  /** True if the driver returns pieces while they arrive. */
  readonly streams: boolean
}

const first = Uint8Array.of(0xff, 0xfb, 0x90, 0, 13, 10, 0, 255)
const second = Uint8Array.of(1, 2, 3)

/** A driver may write the header of a WAV file itself. */
const expectSound = (spoken: ReadonlyArray<number>, sent: ReadonlyArray<Uint8Array>, format: SpeechFormat): void => {
  const wanted = sent.flatMap((piece) => [...piece])
  assert.deepStrictEqual(format === "wav" ? spoken.slice(-wanted.length) : spoken, wanted)
}

/** What every driver of text to speech must do. */
export const textToSpeechSuite = (name: string, open: Effect.Effect<SpeakingVendor, never, Scope.Scope>): void => {
  describe(`the contract of TextToSpeech: ${name}`, () => textToSpeechCases(asLiveTest, open))
}

/** Its cases; `patience`: how many milliseconds a driver may take. */
export const textToSpeechCases = (
  test: TakeCase,
  open: Effect.Effect<SpeakingVendor, never, Scope.Scope>,
  patience = usualPatience
): void => {
  const request = ({ driver, model }: SpeakingVendor, fields: Partial<SpeechRequest> = {}): SpeechRequest => ({
    provider: "vendor",
    model,
    voice: null,
    text: "Grüße, 世界.",
    format: driver.formats[0],
    speed: null,
    apiKey: null,
    ...fields
  })

  const speakBytes = (vendor: SpeakingVendor, fields: Partial<SpeechRequest> = {}) =>
    Effect.map(Stream.runCollect(vendor.driver.speak(request(vendor, fields))), (pieces) =>
      pieces.flatMap((piece) => [...piece])
    )

  test("MUST give the bytes as they were sent, for the unchanged text", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      vendor.speaks(first, second)
      expectSound(yield* speakBytes(vendor), [first, second], vendor.driver.formats[0])
      assert.deepStrictEqual(yield* vendor.texts, ["Grüße, 世界."])
      expectKey(yield* vendor.keys, "sk-of-the-host")
    }))

  test("MUST support every format that it lists", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      for (const format of vendor.driver.formats) {
        vendor.speaks(first)
        expectSound(yield* speakBytes(vendor, { format }), [first], format)
      }
    }))

  test("MUST return each piece when it arrives, if the driver streams", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      if (!vendor.streams) return
      const heard = yield* Deferred.make<void>()
      // The vendor sends the second piece only after the first one has been received.
      vendor.speaks(first, Deferred.await(heard), second)
      const pieces: Array<number> = []
      yield* Stream.runForEach(vendor.driver.speak(request(vendor)), (piece) => {
        pieces.push(...piece)
        return Deferred.succeed(heard, undefined)
      })
      expectSound(pieces, [first, second], vendor.driver.formats[0])
    }))

  voiceVendorTests(test, open, {
    patience,
    ask: (vendor, apiKey) => speakBytes(vendor, { apiKey }),
    answersWell: (vendor) => vendor.speaks(first),
    broken: [["an empty answer", (vendor) => vendor.speaks()]]
  })
}
