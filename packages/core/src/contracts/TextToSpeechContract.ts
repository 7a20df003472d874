/**
 * The contract of `TextToSpeech`, in the words of the port. It speaks to an adapter through the port alone, and to the vendor behind it
 * (a server that speaks the vendor's wire) through `SpeakingVendor`, in neutral words.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { SpeechRequest, TextToSpeech } from "../models/TextToSpeech.ts"
import { type VoiceVendor, voiceVendorTests } from "./VoiceVendor.ts"

export interface SpeakingVendor extends VoiceVendor {
  /** With the host's key `sk-of-the-host`. */
  readonly driver: TextToSpeech
  /** Answers one request with these pieces of sound. A function is called when all before it has been sent, and is waited for. */
  readonly speaks: (...pieces: ReadonlyArray<Uint8Array | Effect.Effect<void>>) => void
  /** The texts that were to be spoken. */
  readonly texts: Effect.Effect<ReadonlyArray<string>>
  /** It answers in pieces, and not at once. */
  readonly streams: boolean
}

const first = Uint8Array.of(0xff, 0xfb, 0x90, 0, 13, 10, 0, 255)
const second = Uint8Array.of(1, 2, 3)

export const textToSpeechSuite = (name: string, open: Effect.Effect<SpeakingVendor, never, Scope.Scope>): void => {
  describe(`the contract of TextToSpeech: ${name}`, () => {
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

    const bytesOf = (vendor: SpeakingVendor, fields: Partial<SpeechRequest> = {}) =>
      Effect.map(Stream.runCollect(vendor.driver.speak(request(vendor, fields))), (pieces) =>
        pieces.flatMap((piece) => [...piece])
      )

    it.effect("MUST give the bytes as they were sent, for the text as it is", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.speaks(first, second)
        assert.deepStrictEqual(yield* bytesOf(vendor), [...first, ...second])
        assert.deepStrictEqual(yield* vendor.texts, ["Grüße, 世界."])
        assert.include((yield* vendor.keys)[0], "sk-of-the-host")
      })
    )

    it.effect("MUST take every format that it names", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        for (const format of vendor.driver.formats) {
          vendor.speaks(first)
          assert.deepStrictEqual(yield* bytesOf(vendor, { format }), [...first])
        }
      })
    )

    it.effect("MUST give each piece when it comes, where it answers in pieces", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        if (!vendor.streams) return
        const heard = yield* Deferred.make<void>()
        // The vendor goes on when the first piece has been heard, and not before.
        vendor.speaks(first, Deferred.await(heard), second)
        const pieces: Array<number> = []
        yield* Stream.runForEach(vendor.driver.speak(request(vendor)), (piece) => {
          pieces.push(...piece)
          return Deferred.succeed(heard, undefined)
        })
        assert.deepStrictEqual(pieces, [...first, ...second])
      })
    )

    voiceVendorTests(open, {
      ask: (vendor, apiKey) => bytesOf(vendor, { apiKey }),
      answersWell: (vendor) => vendor.speaks(first),
      broken: [["an empty answer", (vendor) => vendor.speaks()]]
    })
  })
}
