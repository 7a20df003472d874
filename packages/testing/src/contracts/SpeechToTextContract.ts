/**
 * The contract of `SpeechToText`, in the terms of the port. The suite calls an adapter only through the port, and controls the vendor
 * behind it (a server that speaks the vendor's wire) through `HearingVendor`.
 */
import type { SpeechToText, TranscriptionRequest } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { asLiveTest, type TakeCase, usualPatience } from "./DriverChecks.ts"
import { expectKey, type VoiceVendor, voiceVendorTests } from "./VoiceVendor.ts"

/** A driver of speech to text with a vendor that writes what a test says. */
export interface HearingVendor extends VoiceVendor {
  /** With the host's key `sk-of-the-host`. */
  readonly driver: SpeechToText
  /** Answers one request with a text. The body is sent in pieces that are split at any byte. */
  readonly writes: (text: string) => void
  /** Answers one request for a stream with these deltas, in network pieces that split characters. Absent: the vendor does not stream. */
  readonly tells?: (...deltas: ReadonlyArray<string>) => void
  /** Like `tells`, but the connection breaks before the end. */
  readonly tellsAndBreaks?: (...deltas: ReadonlyArray<string>) => void
  /** The recordings that arrived, byte for byte. */
  readonly recordings: Effect.Effect<ReadonlyArray<Uint8Array>>
}

const bytes = Uint8Array.of(82, 73, 70, 70, 0, 255, 13, 10, 45, 45)
const spoken = "Grüße, 世界 🎙️. Done."
const noWords = "The driver has `stream`. Give `tells` and `tellsAndBreaks` of its vendor."

/** What every driver of speech to text must do. */
export const speechToTextSuite = (name: string, open: Effect.Effect<HearingVendor, never, Scope.Scope>): void => {
  describe(`the contract of SpeechToText: ${name}`, () => speechToTextCases(asLiveTest, open))
}

/** Its cases; `patience`: how many milliseconds a driver may take. */
export const speechToTextCases = (
  test: TakeCase,
  open: Effect.Effect<HearingVendor, never, Scope.Scope>,
  patience = usualPatience
): void => {
  const request = ({ model }: HearingVendor, fields: Partial<TranscriptionRequest> = {}): TranscriptionRequest => ({
    provider: "vendor",
    model,
    recording: { bytes, mimeType: "audio/wav", filename: "recording.wav" },
    language: null,
    prompt: null,
    apiKey: null,
    ...fields
  })

  test("MUST give the whole text as it was written, and send the recording unchanged", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      vendor.writes(spoken)
      const { text } = yield* vendor.driver.transcribe(request(vendor))
      assert.strictEqual(text, spoken)
      assert.deepStrictEqual(yield* vendor.recordings, [bytes])
      expectKey(yield* vendor.keys, "sk-of-the-host")
    }))

  test("MUST give an empty text for a recording without speech", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      vendor.writes("")
      assert.strictEqual((yield* vendor.driver.transcribe(request(vendor))).text.trim(), "")
    }))

  voiceVendorTests(test, open, {
    patience,
    ask: (vendor, apiKey) => vendor.driver.transcribe(request(vendor, { apiKey })),
    answersWell: (vendor) => vendor.writes("Hello."),
    broken: [["JSON of another kind", (vendor) => vendor.answers(200, {}, '{"text":7,"results":{"channels":[{}]}}')]]
  })

  test("MUST return the whole text at the end of a stream, if the driver streams", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const { stream } = vendor.driver
      if (stream === undefined || vendor.tells === undefined) return assert.isUndefined(stream, noWords)
      vendor.tells("Grüße, ", "世界 🎙️. ", "Done.")
      const events = yield* Stream.runCollect(stream(request(vendor)))
      const deltas = events.flatMap((event) => (event._tag === "TranscriptDelta" ? [event.text] : []))
      assert.strictEqual(deltas.join(""), spoken)
      const ends = events.flatMap((event) => (event._tag === "Transcribed" ? [event.transcript.text] : []))
      assert.deepStrictEqual(ends, [spoken])
      assert.strictEqual(events.at(-1)?._tag, "Transcribed")
    }))

  test("MUST fail when its stream breaks, after the text that came before", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const { stream } = vendor.driver
      if (stream === undefined || vendor.tellsAndBreaks === undefined) return assert.isUndefined(stream, noWords)
      vendor.tellsAndBreaks("Half")
      const heard: Array<string> = []
      const error = yield* stream(request(vendor)).pipe(
        Stream.runForEach((event) =>
          Effect.sync(() => heard.push(event._tag === "TranscriptDelta" ? event.text : "the whole text"))
        ),
        Effect.flip
      )
      assert.strictEqual(error._tag, "ModelError")
      assert.strictEqual(heard.join(""), "Half")
    }))
}
