/**
 * Port: a provider that writes down what is said. Time limits, retries, credit and charges are added once for all providers by the wing
 * `voice`. `speechToTextSuite` of the contracts tests what is promised here.
 *
 * Promises of a driver: a `ModelError` and never a defect for anything the provider sends; the whole text as the provider gives it, without
 * a trace of the format; empty for a recording in which nothing is said.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Stream from "effect/Stream"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"

/** A file of sound, decided by its content and not by its name. */
export interface Recording {
  readonly bytes: Uint8Array
  readonly mimeType: string
  /** Ends in the extension that belongs to the content: some providers decide by it. */
  readonly filename: string
}

export interface TranscriptionRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  readonly recording: Recording
  /** A language tag such as `en`; null: the provider finds out. */
  readonly language: string | null
  /** Words and names that are likely; null, or a provider that takes none: nothing. */
  readonly prompt: string | null
  /** The customer's own key for this provider; beats the driver's. */
  readonly apiKey: Redacted.Redacted<string> | null
}

export interface Transcript {
  readonly text: string
  /** Length of the recording, where the provider tells it. */
  readonly seconds: number | null
  /** As the provider names it. */
  readonly language: string | null
  /** Null when the provider does not tell. */
  readonly usage: Usage | null
}

export type TranscriptEvent =
  | { readonly _tag: "TranscriptDelta"; readonly text: string }
  /** Once, at the end. Its text is the whole one, and beats what the deltas say. */
  | { readonly _tag: "Transcribed"; readonly transcript: Transcript }

export interface SpeechToText {
  /** Used where no model is named. */
  readonly defaultModel: string
  /** Bytes of a recording that the provider takes. */
  readonly maxBytes: number
  readonly transcribe: (request: TranscriptionRequest) => Effect.Effect<Transcript, ModelError>
  /** The same while it is heard, for providers that tell it in pieces. */
  readonly stream?: (request: TranscriptionRequest) => Stream.Stream<TranscriptEvent, ModelError>
}
