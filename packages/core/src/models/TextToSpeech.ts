/**
 * Port: a provider that reads text aloud. The wing `voice` adds for all providers: splitting an answer into sentences, order, time limits,
 * retries, credit, charges and the recording. `textToSpeechSuite` of the contracts tests this contract.
 *
 * Contract of a driver: bytes in the requested format, as they arrive; a `ModelError` and never a defect for anything the provider sends;
 * an early end of the provider's answer is an error, not a short audio; when the stream is abandoned, the request is closed.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Redacted from "effect/Redacted"
import type * as Stream from "effect/Stream"
import type { ModelError } from "./ModelError.ts"

/**
 * `mp3`: frames of MPEG audio. `pcm`: samples of 16 bit, little endian, one channel, at the driver's `sampleRate`. `wav`: a whole WAV file
 * of such samples; its header contains the rate. Audio in these three formats can be joined from many answers.
 */
export type SpeechFormat = "mp3" | "pcm" | "wav"

/** A text that shall be spoken, in a voice and a format. */
export interface SpeechRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  /** Null: the driver's own choice. */
  readonly voice: string | null
  /** Plain text of one or some sentences, never empty, never longer than `maxCharacters`. */
  readonly text: string
  /** One of the driver's `formats`. */
  readonly format: SpeechFormat
  /** 1 is normal speed; null: not given. */
  readonly speed: number | null
  /** The customer's own key for this provider. It overrides the driver's key. */
  readonly apiKey: Redacted.Redacted<string> | null
}

export interface TextToSpeech {
  /** Used when no model is named. */
  readonly defaultModel: string
  /** The formats that it supports, its usual one first. */
  readonly formats: NonEmptyReadonlyArray<SpeechFormat>
  /** The sample rate of `pcm`. */
  readonly sampleRate: number
  /** The maximum of characters in one request. */
  readonly maxCharacters: number
  /** False: the provider speaks at normal speed only, and a message with another one is refused. Default: true. */
  readonly hasSpeed?: boolean
  readonly speak: (request: SpeechRequest) => Stream.Stream<Uint8Array, ModelError>
}
