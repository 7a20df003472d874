/**
 * Voice: speech to text in, text to speech out. `voice` is checked member by member, so that a client is told every problem at once; what the
 * providers of this server can do is checked by the part. A recording is the file of the field `audio_file`.
 */
import { checkVoice, KeptHeard, KeptSpoken, voiceEvents } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { isRecord } from "../wire/Json.ts"
import type { UrlOf } from "../links/Links.ts"
import type { VoiceRecords } from "../wire/Records.ts"
import { isGiven, notAvailable, problem, type Path, type RawFields } from "../bodies/RawFields.ts"
import { plainEvent } from "./PlainEvent.ts"
import type { Kept, PartTold, Wing } from "./Wing.ts"

const titles = { stt: "Speech-to-text", tts: "Text-to-speech" }
const directions = ["stt", "tts"] as const

const optionsIn = ({ voice }: RawFields): RawFields => (isRecord(voice) ? voice : {})

const aboutMembers = ({ voice }: RawFields) =>
  isGiven(voice)
    ? checkVoice(voice).map(({ message, path }) => problem(["voice", ...path], "value_error", message))
    : []

const aboutAudio = (fields: RawFields, count: number) => {
  const isHeard = isGiven(optionsIn(fields)["stt"])
  if (isHeard && count === 0) {
    return [
      problem(["audio_file"], "missing", "Field required when voice.stt is given; send it as multipart/form-data")
    ]
  }
  return !isHeard && count > 0
    ? [
        problem(
          ["audio_file"],
          "value_error",
          "A recording is heard with voice.stt only. Add it, or leave the file out."
        )
      ]
    : []
}

/** The part speaks of a recording, the client of a file. */
const wirePath = (path: Path): Path => (path[0] === "recording" ? ["audio_file"] : ["voice", ...path])

const decodeHeard = Schema.decodeUnknownOption(KeptHeard)
const decodeSpoken = Schema.decodeUnknownOption(KeptSpoken)

const voiceRecords = ({ answer, userMessage }: Kept, urlOf: UrlOf): VoiceRecords | null => {
  const heard = Option.getOrNull(decodeHeard(userMessage))?.stt
  const spoken = Option.getOrNull(decodeSpoken(answer))?.tts
  if (heard === undefined && spoken === undefined) return null
  return {
    stt:
      heard === undefined
        ? null
        : {
            transcript: heard.transcript,
            duration: heard.seconds,
            language: heard.language,
            provider: heard.provider,
            model: heard.model,
            ...recordingAddress(heard.documentId, urlOf)
          },
    tts:
      spoken === undefined
        ? null
        : {
            ...recordingAddress(spoken.documentId, urlOf),
            duration: spoken.seconds,
            content_type: spoken.mimeType,
            provider: spoken.provider,
            model: spoken.model,
            voice: spoken.voice,
            characters: spoken.characters,
            error: spoken.error
          }
  }
}

const recordingAddress = (documentId: string | null, urlOf: UrlOf) => ({
  audio_url: documentId === null ? null : urlOf(documentId),
  document_id: documentId
})

const decodeEnd = Schema.decodeUnknownOption(Schema.Struct({ documentId: Schema.NullOr(Schema.String) }))

const voiceEvent = (event: PartTold, urlOf: UrlOf): Schema.JsonObject => {
  const { data, type } = event
  if (type !== voiceEvents.spoken) return plainEvent(event)
  const documentId = Option.getOrNull(decodeEnd(data))?.documentId ?? null
  return { type, ...recordingAddress(documentId, urlOf) }
}

export const voiceWing: Wing = {
  part: "voice",
  message: {
    concerns: ["voice"],
    asked: (fields) =>
      directions
        .filter((name) => isGiven(optionsIn(fields)[name]))
        .map((name) => ({ path: ["voice", name], title: titles[name] })),
    problems: (fields, { files }, installed) => {
      const sent = files.filter(({ field }) => field === "audio_file")
      if (sent.length > 0 && !installed.has("voice")) return [notAvailable(["audio_file"], "Audio input")]
      return [...aboutMembers(fields), ...aboutAudio(fields, sent.length)]
    },
    options: ({ voice }, { files }) => {
      const [recording] = files.flatMap(({ outcome }) => (outcome._tag === "Recorded" ? [outcome.recorded] : []))
      return recording === undefined ? (voice ?? null) : { ...voice, recording }
    },
    bodyPath: wirePath
  },
  fields: (kept, urlOf) => ({ voice_records: voiceRecords(kept, urlOf) }),
  event: voiceEvent
}
