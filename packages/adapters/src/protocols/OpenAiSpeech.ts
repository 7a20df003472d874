/**
 * `POST /audio/transcriptions` and `POST /audio/speech` of OpenAI and of servers with the same protocol. A setting says which models cannot
 * stream a transcription, because they refuse a request for it. Used by `providers/OpenAi` and `providers/OpenAiCompatible`.
 */
import type { Usage } from "@colloquy/core"
import {
  noUsage,
  type SpeechToText,
  type TextToSpeech,
  type Transcript,
  type TranscriptEvent,
  type TranscriptionRequest
} from "@colloquy/core/adapters"
import * as Stream from "effect/Stream"
import { type FormPart, type Multipart, multipart } from "./Multipart.ts"
import { toFault } from "./OpenAiErrors.ts"
import { bearer, streamAnswer, type StreamDialect } from "./Transport.ts"
import { voiceCall, type SynthesisProtocol, speechToText, textToSpeech, type VoiceSettings } from "./VoiceProtocol.ts"
import { count, finite, isRecord, record, string, text } from "./Wire.ts"

export interface SpeechDialect {
  readonly transcription: {
    readonly defaultModel: string
    /** Models that cannot stream: they return the whole text at once. */
    readonly withoutStreaming: RegExp
  } | null
  readonly synthesis:
    | (Pick<SynthesisProtocol, "defaultModel" | "formats" | "sampleRate"> & { readonly defaultVoice: string })
    | null
}

export const openAiSpeech: SpeechDialect = {
  transcription: { defaultModel: "gpt-4o-mini-transcribe", withoutStreaming: /^whisper/ },
  synthesis: {
    defaultModel: "gpt-4o-mini-tts",
    defaultVoice: "alloy",
    formats: ["mp3", "pcm", "wav"],
    sampleRate: 24_000
  }
}

const errors = { requestIdHeader: "x-request-id", fault: toFault }
/** The largest recording that the vendor accepts. */
const maxBytes = 25 * 1024 * 1024

export const transcription = (
  settings: VoiceSettings,
  dialect: NonNullable<SpeechDialect["transcription"]>
): SpeechToText => {
  const call = (request: TranscriptionRequest, isStreamed: boolean) => ({
    url: `${settings.baseUrl}/audio/transcriptions`,
    secrets: bearer(request.apiKey ?? settings.apiKey),
    body: transcriptionForm(request, isStreamed)
  })
  const atOnce = speechToText(settings, {
    ...errors,
    defaultModel: dialect.defaultModel,
    maxBytes,
    call: (request) => call(request, false),
    read
  })
  return {
    ...atOnce,
    stream: (request) => {
      if (dialect.withoutStreaming.test(request.model)) {
        return Stream.map(Stream.fromEffect(atOnce.transcribe(request)), (transcript): TranscriptEvent => ({
          _tag: "Transcribed",
          transcript
        }))
      }
      return streamAnswer(() => voiceCall(settings, request, call(request, true)), streamDialect, settings).pipe(
        Stream.map((event): ReadonlyArray<TranscriptEvent> => {
          if (event._tag === "TextDelta") return [{ _tag: "TranscriptDelta", text: event.text }]
          if (event._tag !== "Finished") return []
          const transcript = read(event.providerData)
          return transcript === null ? [] : [{ _tag: "Transcribed", transcript }]
        }),
        Stream.flattenIterable
      )
    }
  }
}

const transcriptionForm = (
  { language, model, prompt, recording }: TranscriptionRequest,
  isStreamed: boolean
): Multipart => {
  const { bytes, filename, mimeType } = recording
  const fields: ReadonlyArray<FormPart> = [
    { name: "model", value: model },
    { name: "response_format", value: "json" },
    ...(language === null ? [] : [{ name: "language", value: shortLanguage(language) }]),
    ...(prompt === null ? [] : [{ name: "prompt", value: prompt }]),
    ...(isStreamed ? [{ name: "stream", value: "true" }] : [])
  ]
  return multipart([...fields, { name: "file", filename, mediaType: mimeType, bytes }])
}

/** The language without its region, because OpenAI and ElevenLabs accept `de` and not `de-AT`. */
export const shortLanguage = (language: string): string => language.split(/[-_]/u)[0]?.toLowerCase() ?? language

interface StreamState {
  done: { readonly text: string; readonly usage: unknown } | null
}

/** `streamAnswer` emits events of a chat model: deltas of the transcript are `TextDelta`, and the end carries the whole transcript as data. */
const streamDialect: StreamDialect<StreamState> = {
  ...errors,
  start: () => ({ done: null }),
  step: (state, chunk, events) => {
    const event = record(chunk)
    if (event.error !== undefined) return toFault(null, chunk)
    if (event.type === "transcript.text.delta") {
      const delta = text(event.delta)
      if (delta !== undefined) events.push({ _tag: "TextDelta", text: delta })
      return undefined
    }
    // A server that does not stream returns one whole answer, which has no type.
    const whole = event.type === "transcript.text.done" || event.type === undefined ? string(event.text) : undefined
    if (whole !== undefined) state.done = { text: whole, usage: event.usage }
    return event.type === "transcript.text.done" ? "end" : undefined
  },
  end: ({ done }, events) => {
    if (done === null) return
    const data = { text: done.text, usage: usageFields(done.usage) }
    events.push({ _tag: "Finished", reason: "stop", model: null, providerData: data })
  }
}

const usageFields = (usage: unknown) => {
  const { input_tokens, output_tokens, seconds, type } = record(usage)
  return {
    input_tokens: finite(input_tokens) ?? null,
    output_tokens: finite(output_tokens) ?? null,
    seconds: finite(seconds) ?? null,
    type: string(type) ?? null
  }
}

const read = (body: unknown): Transcript | null => {
  const { duration, language, text: said, usage } = record(body)
  if (typeof said !== "string") return null
  const seconds = finite(duration) ?? finite(record(usage).seconds) ?? null
  return { text: said, seconds, language: string(language) ?? null, usage: readUsage(usage) }
}

/** Null: the provider does not report tokens. */
export const readUsage = (usage: unknown): Usage | null => {
  if (!isRecord(usage) || finite(usage.input_tokens) === undefined) return null
  return { ...noUsage, inputTokens: count(usage.input_tokens), outputTokens: count(usage.output_tokens) }
}

export const synthesis = (settings: VoiceSettings, dialect: NonNullable<SpeechDialect["synthesis"]>): TextToSpeech =>
  textToSpeech(settings, {
    ...errors,
    ...dialect,
    maxCharacters: 4096,
    call: ({ apiKey, format, model, speed, text: input, voice }) => ({
      url: `${settings.baseUrl}/audio/speech`,
      secrets: bearer(apiKey ?? settings.apiKey),
      body: {
        model,
        input,
        voice: voice ?? dialect.defaultVoice,
        response_format: format,
        ...(speed === null ? {} : { speed })
      }
    })
  })
