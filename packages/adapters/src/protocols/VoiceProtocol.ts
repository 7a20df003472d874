/**
 * The common part of the voice protocols. Speech to text sends a recording and gets its text in one answer; text to speech sends a text and
 * gets its audio in pieces. A protocol defines how its request is written and where the text is in the answer. Used by `OpenAiSpeech`,
 * `XaiSpeech`, and the providers `ElevenLabs` and `Deepgram`.
 */
import {
  ModelError,
  type SpeechFormat,
  type SpeechRequest,
  type SpeechToText,
  type TextToSpeech,
  type Transcript,
  type TranscriptionRequest
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ApiKey } from "./ApiKey.ts"
import { isMultipart, type Multipart } from "./Multipart.ts"
import { type Call, type ErrorDialect, fetchJson, streamBytes, type TransportSettings } from "./Transport.ts"

export interface VoiceSettings extends TransportSettings {
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

type CallTarget = Pick<Call, "url" | "secrets">

export interface TranscriptionProtocol extends ErrorDialect, Pick<SpeechToText, "defaultModel" | "maxBytes"> {
  readonly call: (request: TranscriptionRequest) => CallTarget & { readonly body: Multipart }
  /** Null when the answer contains no text. */
  readonly read: (body: unknown) => Transcript | null
}

export interface SynthesisProtocol
  extends ErrorDialect, Pick<TextToSpeech, "defaultModel" | "formats" | "hasSpeed" | "sampleRate" | "maxCharacters"> {
  readonly call: (request: SpeechRequest) => CallTarget & { readonly body: object }
}

/** The response begins only after the whole recording has been transcribed. */
const transcriptionTimeouts = { headTimeout: "3 minutes", bodyTimeout: "1 minute" } as const

export const voiceCall = (
  { headers }: VoiceSettings,
  { model, provider }: Pick<TranscriptionRequest, "provider" | "model">,
  { body, ...target }: CallTarget & { readonly body: Multipart | object }
): Call => ({
  provider,
  model,
  headers: { ...headers },
  ...target,
  body: isMultipart(body) ? body : JSON.stringify(body)
})

export const speechToText = (settings: VoiceSettings, protocol: TranscriptionProtocol): SpeechToText => ({
  defaultModel: protocol.defaultModel,
  maxBytes: protocol.maxBytes,
  transcribe: (request) =>
    Effect.suspend(() =>
      fetchJson(voiceCall(settings, request, protocol.call(request)), protocol, {
        ...transcriptionTimeouts,
        ...settings
      })
    ).pipe(
      Effect.flatMap((body) => {
        const transcript = protocol.read(body)
        return transcript === null ? malformed(request) : Effect.succeed(transcript)
      })
    )
})

const malformed = ({ model, provider }: Pick<TranscriptionRequest, "provider" | "model">) =>
  Effect.fail(new ModelError({ reason: "malformed", code: "malformed_answer", shouldRetry: false, provider, model }))

/** In bytes. A minute of samples at 24 kHz has 3 MB, and one text lasts a few minutes at most. */
const defaultMaxSpeech = 32 * 1024 * 1024

export const textToSpeech = (settings: VoiceSettings, protocol: SynthesisProtocol): TextToSpeech => ({
  defaultModel: protocol.defaultModel,
  formats: protocol.formats,
  sampleRate: protocol.sampleRate,
  maxCharacters: protocol.maxCharacters,
  ...(protocol.hasSpeed === undefined ? {} : { hasSpeed: protocol.hasSpeed }),
  speak: (request) =>
    Stream.suspend(() => {
      const most = settings.maxAnswerBytes ?? defaultMaxSpeech
      let size = 0
      return streamBytes(voiceCall(settings, request, protocol.call(request)), ["audio/"], protocol, settings).pipe(
        Stream.tap((bytes) => ((size += bytes.length) > most ? tooLarge(request) : Effect.void)),
        Stream.concat(Stream.suspend(() => (size === 0 ? Stream.fromEffect(noAudio(request)) : Stream.empty)))
      )
    })
})

const tooLarge = ({ model, provider }: SpeechRequest) =>
  Effect.fail(new ModelError({ reason: "malformed", code: "oversized_answer", shouldRetry: false, provider, model }))

const noAudio = ({ model, provider }: SpeechRequest) =>
  Effect.fail(new ModelError({ reason: "malformed", code: "malformed_answer", provider, model }))

/** The vendor's names of the audio formats. */
export type FormatNames = { readonly [Format in SpeechFormat]?: string }
