/**
 * Port: a provider that turns speech into text. The wing `voice` adds for all providers: time limits, retries, credit and charges.
 * `speechToTextSuite` of the contracts tests this contract.
 *
 * Contract of a driver: a `ModelError` and never a defect for anything the provider sends; the whole text as the provider gives it, without
 * any markup of the format; an empty text for a recording without speech. `listeningSuite` tests `listen`.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Stream from "effect/Stream"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"

/** An audio file. Its type is determined by its content and not by its name. */
export interface Recording {
  readonly bytes: Uint8Array
  readonly mimeType: string
  /** The name ends in the extension that belongs to the content, because some providers decide by the name. */
  readonly filename: string
}

/** A recording whose words are wanted. */
export interface TranscriptionRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  readonly recording: Recording
  /** A language tag such as `en`; null: the provider detects it. */
  readonly language: string | null
  /** Words and names that are likely to occur; null: none. Providers without this option ignore it. */
  readonly prompt: string | null
  /** The customer's own key for this provider. It overrides the driver's key. */
  readonly apiKey: Redacted.Redacted<string> | null
}

/** A turn of speech whose words are wanted while it is spoken. */
export interface ListeningRequest extends Omit<TranscriptionRequest, "recording"> {
  /** The sound has samples of 16 bit, little endian, one channel, at this rate. */
  readonly sampleRate: number
}

/** What was said in a recording. */
export interface Transcript {
  readonly text: string
  /** Length of the recording, if the provider reports it. */
  readonly seconds: number | null
  /** As the provider names it. */
  readonly language: string | null
  /** Null when the provider does not report it. */
  readonly usage: Usage | null
}

/** A piece of a transcript, or the whole of it at the end. */
export type TranscriptEvent =
  | { readonly _tag: "TranscriptDelta"; readonly text: string }
  /** Comes once, at the end. Its text is complete and replaces the texts of the deltas. */
  | { readonly _tag: "Transcribed"; readonly transcript: Transcript }

export interface SpeechToText {
  /** Used when no model is named. */
  readonly defaultModel: string
  /** The maximum size of a recording that the provider accepts. */
  readonly maxBytes: number
  readonly transcribe: (request: TranscriptionRequest) => Effect.Effect<Transcript, ModelError>
  /** Like `transcribe`, for providers that send the text in pieces while they listen. */
  readonly stream?: (request: TranscriptionRequest) => Stream.Stream<TranscriptEvent, ModelError>
  /**
   * Writes down one turn while it is spoken, for providers that can: `sound` gives pieces as they come, and ends with the turn. Who calls keeps
   * the sound, to give the whole of it to `transcribe` if this fails.
   * - It MUST send each piece as it comes, every sample in its order, and pull no faster than the provider takes them.
   * - It MUST tell words as the provider recognises them, before the sound ends.
   * - The whole text MUST come once, as the last event, and only after the end of the sound.
   * - A connection that ends before that MUST be an error.
   * - An abandoned stream MUST close the connection.
   */
  readonly listen?: (
    request: ListeningRequest,
    sound: Stream.Stream<Uint8Array>
  ) => Stream.Stream<TranscriptEvent, ModelError>
}
