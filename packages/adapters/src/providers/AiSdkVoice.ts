/**
 * Speech and transcription models of the AI SDK as drivers. They take models with the SDK's interface of version 3 or 4 and do not need the SDK
 * itself. These models return a whole result and no stream; the kernel sends them one sentence at a time. Used by `AiSdk`.
 */
import type { SpeechModelV3, SpeechModelV4, TranscriptionModelV3, TranscriptionModelV4 } from "@ai-sdk/provider"
import {
  ModelError,
  type SpeechRequest,
  type SpeechToText,
  type TextToSpeech,
  type Transcript,
  type TranscriptionRequest
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { fromBase64 } from "../protocols/Wire.ts"

type Key = Redacted.Redacted<string> | null
type SpeechModel = SpeechModelV3 | SpeechModelV4
type TranscriptionModel = TranscriptionModelV3 | TranscriptionModelV4

export interface AiSdkVoiceSettings {
  readonly speechModel?: (model: string, apiKey: Key) => SpeechModel
  readonly transcriptionModel?: (model: string, apiKey: Key) => TranscriptionModel
  /** The model for requests that name none. */
  readonly defaultSpeechModel?: string
  readonly defaultTranscriptionModel?: string
  /** The formats that the speech model supports, the preferred one first. Default: mp3 and wav. */
  readonly speechFormats?: TextToSpeech["formats"]
}

/** Fails with the `ModelError` for an error that a model of the SDK has thrown. */
export type FailWith = (
  thrown: { readonly error: unknown },
  request: { readonly provider: string; readonly model: string }
) => Effect.Effect<never, ModelError>

export const transcription = (
  makeModel: NonNullable<AiSdkVoiceSettings["transcriptionModel"]>,
  { defaultTranscriptionModel = "default" }: AiSdkVoiceSettings,
  failWith: FailWith
): SpeechToText => ({
  defaultModel: defaultTranscriptionModel,
  maxBytes: 25 * 1024 * 1024,
  transcribe: (request) =>
    Effect.tryPromise({
      try: (signal) => transcribe(makeModel(request.model, request.apiKey), request, signal),
      catch: (error) => ({ error })
    }).pipe(Effect.catch((thrown) => failWith(thrown, request)))
})

const transcribe = async (
  model: TranscriptionModel,
  { recording }: TranscriptionRequest,
  abortSignal: AbortSignal
): Promise<Transcript> => {
  const { durationInSeconds, language, text } = await model.doGenerate({
    audio: recording.bytes,
    mediaType: recording.mimeType,
    abortSignal
  })
  return { text, seconds: durationInSeconds ?? null, language: language ?? null, usage: null }
}

export const synthesis = (
  makeModel: NonNullable<AiSdkVoiceSettings["speechModel"]>,
  { defaultSpeechModel = "default", speechFormats = ["mp3", "wav"] }: AiSdkVoiceSettings,
  failWith: FailWith
): TextToSpeech => ({
  defaultModel: defaultSpeechModel,
  formats: speechFormats,
  sampleRate: 24_000,
  maxCharacters: 4096,
  speak: (request) =>
    Stream.fromEffect(
      Effect.tryPromise({
        try: (signal) => speak(makeModel(request.model, request.apiKey), request, signal),
        catch: (error) => ({ error })
      }).pipe(
        Effect.catch((thrown) => failWith(thrown, request)),
        Effect.flatMap((bytes) =>
          bytes.length > 0
            ? Effect.succeed(bytes)
            : Effect.fail(
                new ModelError({
                  reason: "malformed",
                  code: "malformed_answer",
                  provider: request.provider,
                  model: request.model
                })
              )
        )
      )
    )
})

const speak = async (
  model: SpeechModel,
  { format, speed, text, voice }: SpeechRequest,
  abortSignal: AbortSignal
): Promise<Uint8Array> => {
  const { audio } = await model.doGenerate({
    text,
    outputFormat: format,
    abortSignal,
    ...(voice === null ? {} : { voice }),
    ...(speed === null ? {} : { speed })
  })
  return typeof audio === "string" ? fromBase64(audio) : audio
}
