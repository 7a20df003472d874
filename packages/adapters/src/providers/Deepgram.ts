/**
 * Deepgram, for transcription and speech. A host registers it with `Deepgram.provider({ apiKey })`. For this vendor a voice is a model, so a
 * message may name it in either of the two fields.
 */
import type { ModelInfo, Provider } from "@colloquy/core"
import { describeModel } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { checkedUrl } from "../protocols/Address.ts"
import { type ApiKey, hidden } from "../protocols/ApiKey.ts"
import { type Fault, faultOfStatus, machineCode } from "../protocols/Fault.ts"
import type { Call, TransportSettings } from "../protocols/Transport.ts"
import { type FormatNames, speechToText, textToSpeech } from "../protocols/VoiceProtocol.ts"
import { finite, list, lookUp, record, string } from "../protocols/Wire.ts"

/** The key, the address and the models of Deepgram. */
export interface DeepgramSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `deepgram`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  /** The address without the version. Default: `https://api.deepgram.com`. */
  readonly baseUrl?: string
  readonly headers?: { readonly [name: string]: string }
  /** Prices and more, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
}

const transcriptionModel = "nova-3"
const speechModel = "aura-2-thalia-en"

const formats: FormatNames = { mp3: "encoding=mp3", pcm: "encoding=linear16&sample_rate=24000&container=none" }

/** Deepgram as a provider of speech to text and text to speech. */
export const provider = (settings: DeepgramSettings = {}): Provider => {
  const { id = "deepgram", models = {} } = settings
  const full = { ...settings, baseUrl: `${checkedUrl(settings.baseUrl) ?? "https://api.deepgram.com"}/v1` }
  const errors = { requestIdHeader: "dg-request-id", fault: faultFromBody }
  const callSecrets = (key: ApiKey | null | undefined): Call["secrets"] =>
    key ? { authorization: Redacted.make(`Token ${Redacted.value(hidden(key))}`) } : {}
  return {
    id,
    speechToText: speechToText(full, {
      ...errors,
      defaultModel: transcriptionModel,
      maxBytes: 1024 * 1024 * 1024,
      call: ({ apiKey, language, model, prompt, recording }) => {
        const query = new URLSearchParams({ model, smart_format: "true" })
        if (language === null) query.set("detect_language", "true")
        else query.set("language", language)
        for (const term of keyterms(prompt)) query.append(model.startsWith("nova-3") ? "keyterm" : "keywords", term)
        return {
          url: `${full.baseUrl}/listen?${query.toString()}`,
          secrets: callSecrets(apiKey ?? settings.apiKey),
          body: { contentType: recording.mimeType, bytes: new Uint8Array(recording.bytes) }
        }
      },
      read
    }),
    textToSpeech: textToSpeech(full, {
      ...errors,
      defaultModel: speechModel,
      formats: ["mp3", "pcm"],
      sampleRate: 24_000,
      maxCharacters: 2000,
      hasSpeed: false,
      call: ({ apiKey, format, model, text, voice }) => ({
        url: `${full.baseUrl}/speak?model=${encodeURIComponent(voice ?? model)}&${formats[format] ?? ""}`,
        secrets: callSecrets(apiKey ?? settings.apiKey),
        body: { text }
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

/** The vendor takes single terms instead of a text. */
const keyterms = (prompt: string | null): ReadonlyArray<string> =>
  (prompt ?? "")
    .split(/[,;\n]/u)
    .map((term) => term.trim())
    .filter((term) => term !== "")
    .slice(0, mostTerms)

const mostTerms = 100

/** Each channel of a recording has a transcript of its own; they are joined. */
const read = (body: unknown) => {
  const { metadata, results } = record(body)
  const channels = list(record(results).channels).map(record)
  const texts = channels.map(({ alternatives }) => string(record(list(alternatives)[0]).transcript))
  if (channels.length === 0 || texts.includes(undefined)) return null
  return {
    text: texts.join("\n"),
    seconds: finite(record(metadata).duration) ?? null,
    language: string(channels[0]?.detected_language) ?? null,
    usage: null
  }
}

const faultFromBody = (status: number, body: unknown): Fault => ({
  ...faultOfStatus(status),
  ...machineCode(record(body).err_code)
})
