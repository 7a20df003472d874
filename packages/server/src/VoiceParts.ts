/**
 * `VOICE_PARTS`: voices that are made of three ordinary models, as JSON or as the path of a file. A part is a provider of the environment, or the
 * address of a server with OpenAI's dialect, so that open models on a machine of the operator need no key.
 */
import * as OpenAiCompatible from "@colloquy/adapters/openai-compatible"
import { LiveTranscription } from "@colloquy/adapters/realtime"
import { VoiceParts, withFallback } from "@colloquy/adapters/voice-parts"
import type { Provider } from "@colloquy/core"
import type { RealtimeModel } from "@colloquy/core/realtime"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isAddress } from "./Addresses.ts"
import { readJsonOrFile } from "./JsonOrFile.ts"

const Price = Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)))
const Name = Schema.optionalKey(Schema.NonEmptyString)
const Key = Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString))
const address = (form: RegExp) => Schema.String.check(Schema.makeFilter(isAddress(form)))

const endpoint = {
  model: Name,
  provider: Name,
  url: Schema.optionalKey(address(/^https?:\/\/[^\s/]\S*$/u)),
  apiKey: Key
}
const Live = Schema.Struct({
  url: address(/^wss?:\/\/[^\s/]\S*$/u),
  dialect: Schema.optionalKey(Schema.Literals(["openai", "vllm"])),
  model: Name,
  apiKey: Key,
  usdPerMinute: Price
}).pipe(Schema.encodeKeys({ apiKey: "api_key", usdPerMinute: "usd_per_minute" }))
const Hear = Schema.Struct({ ...endpoint, language: Name, usdPerMinute: Price, live: Schema.optionalKey(Live) }).pipe(
  Schema.encodeKeys({ apiKey: "api_key", usdPerMinute: "usd_per_minute" })
)
const Think = Schema.Struct(endpoint).pipe(Schema.encodeKeys({ apiKey: "api_key" }))
const Speak = Schema.Struct({ ...endpoint, voice: Name, usdPerMillionCharacters: Price }).pipe(
  Schema.encodeKeys({ apiKey: "api_key", usdPerMillionCharacters: "usd_per_million_characters" })
)
const Voice = Schema.Struct({ hear: Hear, think: Think, speak: Speak })
const Voices = Schema.Record(Schema.String, Voice)
const decode = Schema.decodeUnknownOption(Voices, { onExcessProperty: "error" })

export type NamedVoices = typeof Voices.Type

export const voicePartsForm =
  'a JSON object such as {"house": {"hear": {"provider": "openai"}, "think": {"provider": "ollama", "model": "…"}, "speak": {"url": "http://…", "model": "…"}}}, or a file with one'

/** None: the value is invalid. The reason is not printed, because the value may contain keys. */
export const readVoiceParts = (text: string): Option.Option<NamedVoices> => {
  try {
    return decode(readJsonOrFile(text))
  } catch {
    return Option.none()
  }
}

/** The id under which these voices are offered. */
const partsId = "parts"

/** Failure: what to change, for the operator. Null: there are no such voices. */
export const makeVoiceParts = (
  voices: NamedVoices,
  providers: ReadonlyArray<Provider>
): Result.Result<RealtimeModel | null, string> => {
  if (Object.keys(voices).length === 0) return Result.succeed(null)
  const told = (error: unknown) => `VOICE_PARTS: ${error instanceof Error ? error.message : "it cannot be used"}`
  return Result.try({
    try: () => {
      const models = Object.entries(voices).map(([name, voice]) => [name, voiceParts(name, voice, providers)] as const)
      return VoiceParts.model({ id: partsId, models: Object.fromEntries(models) })
    },
    catch: told
  })
}

/** When the vendor of a native voice fails, its sessions go on with this voice. */
export const withPartsBehind = (
  natives: ReadonlyArray<RealtimeModel>,
  parts: RealtimeModel | null,
  fallback: string | null
): ReadonlyArray<RealtimeModel> =>
  parts === null || fallback === null
    ? natives
    : natives.map((native) => withFallback(native, { to: parts, model: fallback }))

const voiceParts = (
  name: string,
  { hear, speak, think }: (typeof Voices.Type)[string],
  all: ReadonlyArray<Provider>
) => {
  const { live, ...heard } = hear
  const hearing = findProvider(`${name}: hear`, hear, all)
  return {
    hear: { ...heard, provider: live === undefined ? hearing : LiveTranscription.add(hearing, live) },
    think: { ...think, provider: findProvider(`${name}: think`, think, all) },
    speak: { ...speak, provider: findProvider(`${name}: speak`, speak, all) }
  }
}

const findProvider = (
  what: string,
  { apiKey, model, provider: id, url }: typeof Think.Type,
  all: ReadonlyArray<Provider>
): Provider => {
  if (url === undefined) {
    const found = all.find((each) => each.id === id)
    const ids = all.map((each) => each.id).join(", ")
    if (found === undefined) throw new Error(`${what} must name a url, or one of these providers: ${ids}.`)
    return found
  }
  if (model === undefined || id !== undefined)
    throw new Error(`${what} has a url, so it must name a model and no provider.`)
  return OpenAiCompatible.provider({
    id: new URL(url).host,
    baseUrl: url,
    ...(apiKey === undefined ? {} : { apiKey }),
    speech: {
      transcription: { defaultModel: model, withoutStreaming: /^/u },
      synthesis: { defaultModel: model, defaultVoice: "alloy", formats: ["pcm", "wav"], sampleRate: 24_000 }
    }
  })
}
