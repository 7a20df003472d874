/**
 * Port: a provider that reads text aloud. Cutting an answer into sentences, order, time limits, retries, credit, charges and the recording
 * are added once for all providers by the wing `voice`. `textToSpeechSuite` of the contracts tests what is promised here.
 *
 * Promises of a driver: bytes in the format that was asked for, as they come; a `ModelError` and never a defect for anything the provider
 * sends; an early end of the provider's answer is an error and no short audio; the request is left when the stream is.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Redacted from "effect/Redacted"
import type * as Stream from "effect/Stream"
import type { ModelError } from "./ModelError.ts"

/**
 * `mp3`: frames of MPEG audio. `pcm`: samples of 16 bit, little endian, one channel, at the driver's `sampleRate`. `wav`: a whole WAV file
 * of such samples; its header says the rate. These three can be put together from many answers.
 */
export type SpeechFormat = "mp3" | "pcm" | "wav"

export interface SpeechRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  /** Null: the driver's own choice. */
  readonly voice: string | null
  /** Plain text of one or some sentences, never empty, never longer than `maxCharacters`. */
  readonly text: string
  /** One of the driver's. */
  readonly format: SpeechFormat
  /** 1 is the usual one; null: not given. */
  readonly speed: number | null
  /** The customer's own key for this provider; beats the driver's. */
  readonly apiKey: Redacted.Redacted<string> | null
}

export interface TextToSpeech {
  /** Used where no model is named. */
  readonly defaultModel: string
  /** What it can give, its usual one first. */
  readonly formats: NonEmptyReadonlyArray<SpeechFormat>
  /** Of `pcm`. */
  readonly sampleRate: number
  /** Characters of one request. */
  readonly maxCharacters: number
  readonly speak: (request: SpeechRequest) => Stream.Stream<Uint8Array, ModelError>
}
