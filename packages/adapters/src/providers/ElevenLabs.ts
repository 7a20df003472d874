/**
 * ElevenLabs, for speech and transcription. A host registers it with `ElevenLabs.provider({ apiKey })`. A voice is named by the vendor's id; the
 * vendor's list of voices is not read.
 */
import type { ModelInfo, Provider } from "@colloquy/core"
import { describeModel } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { checkedUrl } from "../protocols/Address.ts"
import { type ApiKey, hidden } from "../protocols/ApiKey.ts"
import { type Fault, faultOfStatus, machineCode } from "../protocols/Fault.ts"
import { multipart } from "../protocols/Multipart.ts"
import { shortLanguage } from "../protocols/OpenAiSpeech.ts"
import type { Call, TransportSettings } from "../protocols/Transport.ts"
import { type FormatNames, speechToText, textToSpeech } from "../protocols/VoiceProtocol.ts"
import { finite, lookUp, record, string } from "../protocols/Wire.ts"

/** The key, the address, the models and the usual voice of ElevenLabs. */
export interface ElevenLabsSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `elevenlabs`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  /** The address without the version. Default: `https://api.elevenlabs.io`. */
  readonly baseUrl?: string
  readonly headers?: { readonly [name: string]: string }
  /** The id of the voice for requests that name none. */
  readonly defaultVoice?: string
  /** Prices and more, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
}

const speechModel = "eleven_flash_v2_5"
const transcriptionModel = "scribe_v1"
/** A voice that every account has. */
const voiceOfEveryAccount = "JBFqnCBsd6RMkjVDRZzb"

const formats: FormatNames = { mp3: "mp3_44100_128", pcm: "pcm_24000" }

/** ElevenLabs as a provider of speech. */
export const provider = (settings: ElevenLabsSettings = {}): Provider => {
  const { defaultVoice = voiceOfEveryAccount, id = "elevenlabs", models = {} } = settings
  const full = { ...settings, baseUrl: `${checkedUrl(settings.baseUrl) ?? "https://api.elevenlabs.io"}/v1` }
  const errors = { requestIdHeader: "request-id", fault: faultFromBody }
  const callSecrets = (key: ApiKey | null | undefined): Call["secrets"] =>
    key ? { "xi-api-key": Redacted.make(Redacted.value(hidden(key))) } : {}
  return {
    id,
    speechToText: speechToText(full, {
      ...errors,
      defaultModel: transcriptionModel,
      maxBytes: 1024 * 1024 * 1024,
      call: ({ apiKey, language, model, recording }) => ({
        url: `${full.baseUrl}/speech-to-text`,
        secrets: callSecrets(apiKey ?? settings.apiKey),
        body: multipart([
          { name: "model_id", value: model },
          // Without this, the transcript contains descriptions of sounds such as "(laughter)".
          { name: "tag_audio_events", value: "false" },
          ...(language === null ? [] : [{ name: "language_code", value: shortLanguage(language) }]),
          { name: "file", filename: recording.filename, mediaType: recording.mimeType, bytes: recording.bytes }
        ])
      }),
      read: (body) => {
        const { audio_duration_secs, language_code, text } = record(body)
        if (typeof text !== "string") return null
        return {
          text,
          seconds: finite(audio_duration_secs) ?? null,
          language: string(language_code) ?? null,
          usage: null
        }
      }
    }),
    textToSpeech: textToSpeech(full, {
      ...errors,
      defaultModel: speechModel,
      formats: ["mp3", "pcm"],
      sampleRate: 24_000,
      maxCharacters: 5000,
      call: ({ apiKey, format, model, speed, text, voice }) => ({
        url: `${full.baseUrl}/text-to-speech/${encodeURIComponent(voice ?? defaultVoice)}/stream?output_format=${formats[format] ?? ""}`,
        secrets: callSecrets(apiKey ?? settings.apiKey),
        body: { text, model_id: model, ...(speed === null ? {} : { voice_settings: { speed } }) }
      })
    }),
    describe: (model) => lookUp(models, model),
    listModels: Effect.succeed([
      describeModel({
        ...lookUp(models, transcriptionModel),
        name: transcriptionModel,
        provider: id,
        modelType: "stt"
      }),
      describeModel({ ...lookUp(models, speechModel), name: speechModel, provider: id, modelType: "tts" })
    ])
  }
}

/** A used-up quota has the same HTTP status as a wrong key, so the word decides. */
const faultFromBody = (status: number, body: unknown): Fault => {
  const word = record(record(body).detail).status
  const plain = { ...faultOfStatus(status), ...machineCode(word) }
  return word === "quota_exceeded" ? { ...plain, reason: "quota" } : plain
}
