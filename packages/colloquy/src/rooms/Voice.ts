/** The room of speech: `voice()`. It adds `colloquy.voice`, `voice` and `recording` of messages, `heard` and `spoken` of replies. */
import { Catalog } from "@colloquy/core"
import { type CatalogEntry, maximumLimit } from "@colloquy/core/adapters"
import {
  type CallOptions,
  type Room,
  room,
  type RoomFunctions,
  type RoomTypes,
  withOptions
} from "@colloquy/core/promises"
import {
  type HeardRecord,
  KeptHeard,
  KeptSpoken,
  Recordings,
  type SpokenRecord,
  type VoiceOptions,
  Voice,
  voicePartName,
  type VoiceSettings
} from "@colloquy/core/voice"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"
import { incomingFile, type NamedFile } from "./FileInput.ts"

export type { HeardRecord, SpokenRecord } from "@colloquy/core/voice"

/** The models that hear and that speak: `colloquy.voice`. */
export interface VoiceCalls {
  /** The models that understand and the models that speak. */
  readonly models: (
    options?: CallOptions
  ) => Promise<{ readonly hear: ReadonlyArray<CatalogEntry>; readonly speak: ReadonlyArray<CatalogEntry> }>
}

interface VoiceTypes extends RoomTypes {
  readonly calls: { readonly voice: VoiceCalls }
  readonly request: {
    /** `stt` for a recording, `tts` for an answer that is read aloud; `{}` takes every default. */
    readonly voice?: Omit<VoiceOptions, "recording">
    /** What the user said: it becomes the message's text. */
    readonly recording?: NamedFile
  }
  readonly reply: { readonly heard: HeardRecord | null; readonly spoken: SpokenRecord | null }
  readonly event: {
    readonly _tag: "VoiceTold"
    readonly sequence: number
    /** `stt_text_delta`, `tts_audio_chunk` and the like, as on the wire. */
    readonly type: string
    readonly data: Schema.Json
  }
}

/** What `voice()` gives. */
export type VoiceRoom = Room<VoiceTypes, RoomNeeds>

/** The providers of the kernel hear and speak: `openai`, or `elevenlabs` and `deepgram` of `@colloquy/adapters`. */
export const voice = (given: DeepPartial<VoiceSettings> = {}): VoiceRoom =>
  room<VoiceTypes>()(Voice.layer(given), functions)

const functions = Effect.gen(function* () {
  const recordings = yield* Recordings
  const catalog = yield* Catalog

  const listed = (modelType: "stt" | "tts") =>
    Effect.map(catalog.list({ modelType }, { skip: 0, limit: maximumLimit }), ({ models }) => models)

  const joined: RoomFunctions<VoiceTypes> = {
    name: voicePartName,
    fields: ["voice", "recording"],
    calls: (run) => ({
      voice: { models: (options) => run(() => Effect.all({ hear: listed("stt"), speak: listed("tts") }), options) }
    }),
    begin: ({ recording, voice: wish = {} }, request, next) => {
      if (recording === undefined) return next(withOptions(request, voicePartName, wish))
      return Effect.acquireUseRelease(
        recordings.put(incomingFile(recording)),
        (recorded) => next(withOptions(request, voicePartName, { stt: {}, ...wish, recording: recorded })),
        // Of a message that was refused nothing is kept. A recording whose message was sent stays.
        (recorded, exit) => (exit._tag === "Success" ? Effect.void : Effect.ignore(recordings.discard(recorded)))
      )
    },
    reply: ({ supplements, userSupplements }) =>
      Effect.succeed({
        heard: Option.getOrNull(readHeard(userSupplements[voicePartName]))?.stt ?? null,
        spoken: Option.getOrNull(readSpoken(supplements[voicePartName]))?.tts ?? null
      }),
    event: ({ data, part, sequence, type }) =>
      part === voicePartName ? { _tag: "VoiceTold", sequence, type, data } : null
  }
  return joined
})

const readHeard = Schema.decodeUnknownOption(KeptHeard)
const readSpoken = Schema.decodeUnknownOption(KeptSpoken)
