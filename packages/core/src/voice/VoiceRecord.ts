/** The supplements of voice: with the user's message what was heard, with the answer what was spoken. The wire reads them. */
import * as Schema from "effect/Schema"
import { DocumentId } from "../primitives/Ids.ts"

/** The name of this part of turns, of its options and of its supplements. */
export const voicePartName = "voice"

const seconds = Schema.NullOr(Schema.Finite)

/** What a message keeps about its recording. */
export const HeardRecord = Schema.Struct({
  transcript: Schema.String,
  seconds,
  language: Schema.NullOr(Schema.String),
  provider: Schema.String,
  model: Schema.String,
  /** The recording, if it is kept. */
  documentId: Schema.NullOr(DocumentId)
})
export type HeardRecord = typeof HeardRecord.Type

/** What an answer keeps about its sound. */
export const SpokenRecord = Schema.Struct({
  /** Null: nothing of it could be stored. */
  documentId: Schema.NullOr(DocumentId),
  mimeType: Schema.String,
  seconds,
  characters: Schema.Int,
  provider: Schema.String,
  model: Schema.String,
  voice: Schema.NullOr(Schema.String),
  /** Why it ended early; null: it was spoken to its end, or to the end of the written text. */
  error: Schema.NullOr(Schema.String)
})
export type SpokenRecord = typeof SpokenRecord.Type

/** The supplement of a user's message. */
export const KeptHeard = Schema.Struct({ stt: HeardRecord })
/** The supplement of an answer. */
export const KeptSpoken = Schema.Struct({ tts: SpokenRecord })

/** The types of the events for the reader. `chunk` is live only. */
export const voiceEvents = {
  hearing: "stt_stream_start",
  heard: "stt_text_delta",
  transcript: "stt_stream_end",
  speaking: "tts_stream_start",
  chunk: "tts_audio_chunk",
  spoken: "tts_stream_end",
  failed: "tts_error"
} as const
