/**
 * What the voice protocols have in common: a recording in one request and its text in one answer; a text in one request and its sound in
 * pieces. A protocol says how its request is written and where the text stands. Used by `OpenAiSpeech`, `ElevenLabs`, `Deepgram` and `XaiSpeech`.
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
import type { Multipart } from "./Multipart.ts"
import { type Call, type ErrorDialect, fetchJson, streamBytes, type TransportSettings } from "./Transport.ts"

export interface VoiceSettings extends TransportSettings {
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

type Place = Pick<Call, "url" | "secrets">

export interface HearingProtocol extends ErrorDialect, Pick<SpeechToText, "defaultModel" | "maxBytes"> {
  readonly call: (request: TranscriptionRequest) => Place & { readonly body: Multipart }
  /** Null: there is no text in the answer. */
  readonly read: (body: unknown) => Transcript | null
}

export interface SpeakingProtocol
  extends ErrorDialect, Pick<TextToSpeech, "defaultModel" | "formats" | "sampleRate" | "maxCharacters"> {
  readonly call: (request: SpeechRequest) => Place & { readonly body: object }
}

/** Nothing comes before the whole recording was heard. */
const patience = { headTimeout: "3 minutes", bodyTimeout: "1 minute" } as const

export const callOf = (
  { headers }: VoiceSettings,
  { model, provider }: Pick<TranscriptionRequest, "provider" | "model">,
  { body, ...place }: Place & { readonly body: Multipart | object }
): Call => ({
  provider,
  model,
  headers: { ...headers },
  ...place,
  body: "bytes" in body && "contentType" in body ? body : JSON.stringify(body)
})

export const speechToText = (settings: VoiceSettings, protocol: HearingProtocol): SpeechToText => ({
  defaultModel: protocol.defaultModel,
  maxBytes: protocol.maxBytes,
  transcribe: (request) =>
    Effect.suspend(() =>
      fetchJson(callOf(settings, request, protocol.call(request)), protocol, { ...patience, ...settings })
    ).pipe(
      Effect.flatMap((body) => {
        const transcript = protocol.read(body)
        return transcript === null ? malformed(request) : Effect.succeed(transcript)
      })
    )
})

const malformed = ({ model, provider }: Pick<TranscriptionRequest, "provider" | "model">) =>
  Effect.fail(new ModelError({ reason: "malformed", code: "malformed_answer", shouldRetry: false, provider, model }))

/** A minute of samples at 24 kHz has 3 MB; a sentence is no longer than some minutes. */
const defaultMaxSpeech = 32 * 1024 * 1024

export const textToSpeech = (settings: VoiceSettings, protocol: SpeakingProtocol): TextToSpeech => ({
  defaultModel: protocol.defaultModel,
  formats: protocol.formats,
  sampleRate: protocol.sampleRate,
  maxCharacters: protocol.maxCharacters,
  speak: (request) =>
    Stream.suspend(() => {
      const most = settings.maxAnswerBytes ?? defaultMaxSpeech
      let size = 0
      return streamBytes(callOf(settings, request, protocol.call(request)), ["audio/"], protocol, settings).pipe(
        Stream.tap((bytes) => ((size += bytes.length) > most ? tooLarge(request) : Effect.void)),
        Stream.concat(Stream.suspend(() => (size === 0 ? Stream.fromEffect(noAudio(request)) : Stream.empty)))
      )
    })
})

const tooLarge = ({ model, provider }: SpeechRequest) =>
  Effect.fail(new ModelError({ reason: "malformed", code: "oversized_answer", shouldRetry: false, provider, model }))

const noAudio = ({ model, provider }: SpeechRequest) =>
  Effect.fail(new ModelError({ reason: "malformed", code: "malformed_answer", provider, model }))

/** What a vendor calls each format. */
export type FormatNames = { readonly [Format in SpeechFormat]?: string }
