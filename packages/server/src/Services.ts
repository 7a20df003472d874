/**
 * The models and engines that the settings name. The demo model is always among them, and is the default while no other one is chosen. Its
 * typed answers and videos exist only until a real provider of them is named. If the program espeak-ng exists, it speaks unless a vendor
 * does.
 */
import { GeminiLive, OpenAiRealtime, XaiRealtime } from "@colloquy/adapters/realtime"
import type { Provider } from "@colloquy/core"
import type { ProvidersOptions } from "@colloquy/core/adapters"
import type { RerankerPort } from "@colloquy/core/memory"
import { type RealtimeModel, RealtimeModels } from "@colloquy/core/realtime"
import type { WebSearchPort } from "@colloquy/core/web-search"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { demoModelName, demoProvider } from "./demo/DemoModel.ts"
import { demoTypedModelName, demoTypedProvider } from "./demo/DemoTypedModel.ts"
import { demoVideo } from "./demo/DemoVideo.ts"
import { demoVoice } from "./demo/DemoVoice.ts"
import { espeak } from "./EspeakVoice.ts"
import type { Settings } from "./Settings.ts"
import type { RealtimeVendor } from "./Variables.ts"
import { vendors } from "./Vendors.ts"
import { makeVoiceParts, withPartsBehind } from "./VoiceParts.ts"

export const makeProviders = (settings: Settings): ProvidersOptions => {
  const named = [...settings.vendors].flatMap(([vendor, given]) => vendors.get(vendor)?.provider?.(given) ?? [])
  const { defaultModel, defaultProvider } = settings
  const talking = demoProvider(settings.demoPace)
  const demo = settings.vendors.has("OPENROUTER") ? talking : { ...talking, video: demoVideo() }
  const demos = settings.vendors.has("TYPEDPROVIDER") ? [demo] : [demo, demoTypedProvider()]
  return {
    providers: [...demos, ...named, ...(settings.hasEspeak ? [espeak] : [])],
    defaults:
      defaultModel === null
        ? { provider: "demo", model: demoModelName }
        : { provider: defaultProvider ?? named.find(converses)?.id ?? "demo", model: defaultModel }
  }
}

/**
 * The model that judges answers. Undefined: the default model. The demo model gives no typed answers; if it is the default, the demo model
 * of typed answers judges.
 */
export const makeJudge = (
  settings: Settings,
  { defaults }: ProvidersOptions
): { readonly provider: string; readonly model: string } | undefined =>
  defaults.provider === "demo" && !settings.vendors.has("TYPEDPROVIDER")
    ? { provider: "typedprovider", model: demoTypedModelName }
    : undefined

/** The reranker of the settings. Null: the assistant's own model reranks. */
export const makeReranker = ({ reranking, vendors: given }: Settings): RerankerPort | null =>
  reranking === null
    ? null
    : (vendors.get(reranking.vendor)?.reranker?.(given.get(reranking.vendor) ?? {}, reranking.model) ?? null)

/** The search engine of the settings. Null: only models with a search of their own can search. */
export const makeSearchEngine = ({ search, vendors: given }: Settings): WebSearchPort | null =>
  search === null ? null : (vendors.get(search)?.search?.(given.get(search) ?? {}) ?? null)

/**
 * What a vendor's voice sessions have by default: the id under which they are offered, the models, and the path of the voice API on a server
 * of the operator's own, relative to the address of its other models.
 */
const voices: {
  readonly [Vendor in RealtimeVendor]: {
    readonly id: string
    readonly models: ReadonlyArray<string>
    readonly path: string
  }
} = {
  OPENAI: { id: "provider_a", models: ["gpt-realtime", "gpt-realtime-mini"], path: "/v1/realtime" },
  GEMINI: {
    id: "provider_b",
    models: ["gemini-2.5-flash-native-audio-preview-12-2025", "gemini-3.1-flash-live-preview"],
    path: "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
  },
  XAI: { id: "provider_c", models: ["grok-voice-latest"], path: "/v1/realtime" }
}

/** What a vendor's adapter is made with, each model with its prices; null: the vendor is not configured. */
const vendorVoices = <Prices>(
  vendor: RealtimeVendor,
  { realtime, vendors: given }: Settings,
  prices: { readonly [name: string]: Prices }
) => {
  const { models, url } = realtime[vendor]
  const access = given.get(vendor)
  if (access === undefined && url === null) return null
  const { id, models: usual, path } = voices[vendor]
  const address = url ?? (access?.baseUrl === undefined ? undefined : socketAt(new URL(path, access.baseUrl)))
  const named = (models.length === 0 ? usual : models).map((name): [string, { readonly prices?: Prices }] => {
    const known = prices[name]
    return [name, known === undefined ? {} : { prices: known }]
  })
  return {
    id,
    models: Object.fromEntries(named),
    ...(access?.apiKey && { apiKey: access.apiKey }),
    ...(address !== undefined && { url: address })
  }
}

const socketAt = (address: URL): string => {
  address.protocol = address.protocol === "http:" ? "ws:" : "wss:"
  return address.href
}

/** A session with one of the three ids gets a specific refusal while no vendor is configured for it. */
export const realtimeModels = (settings: Settings, { providers }: ProvidersOptions) => {
  const openAi = vendorVoices("OPENAI", settings, settings.voicePrices.OPENAI)
  const gemini = vendorVoices("GEMINI", settings, settings.voicePrices.GEMINI)
  const xai = vendorVoices("XAI", settings, settings.voicePrices.XAI)
  const parts = Result.getOrElse(makeVoiceParts(settings.voiceParts, providers), () => null)
  const natives: ReadonlyArray<RealtimeModel | null> = [
    openAi && OpenAiRealtime.model(openAi),
    gemini && GeminiLive.model(gemini),
    xai && XaiRealtime.model(xai)
  ]
  const named = withPartsBehind(
    natives.filter((model) => model !== null),
    parts,
    settings.voiceFallback
  )
  return RealtimeModels.layer(
    [demoVoice, ...named, ...(parts === null ? [] : [parts])],
    Object.values(voices).map(({ id }) => id)
  )
}

/** Notes for the operator about missing speech input or output; none when both exist. */
export const voiceNotes = ({ providers }: ProvidersOptions): ReadonlyArray<string> => [
  ...(providers.some(({ speechToText }) => speechToText !== undefined)
    ? []
    : ["No speech-to-text: set the key of OPENAI, ELEVENLABS, DEEPGRAM or XAI."]),
  ...(providers.some(({ textToSpeech }) => textToSpeech !== undefined)
    ? []
    : ["No text-to-speech: set the key of OPENAI, ELEVENLABS or DEEPGRAM, or install espeak-ng."])
]

const converses = ({ chat }: Provider): boolean => chat !== undefined

/** Undefined when the embedding of the environment is possible; otherwise what to do. */
const embeddingProblem = ({ embedding }: Settings, { providers }: ProvidersOptions): string | undefined => {
  if (embedding === null) return undefined
  const able = providers.filter((provider) => provider.embedding !== undefined)
  const provider = able.find(({ id }) => id === embedding.provider)
  if (provider === undefined) {
    const ids = able.map(({ id }) => id)
    return `DEFAULT_EMBEDDING_PROVIDER must be ${ids.length === 0 ? "a provider with embeddings; none is set" : `one of ${ids.join(", ")}`}`
  }
  return embedding.model === null && provider.defaultEmbedding === undefined
    ? `DEFAULT_EMBEDDING_MODEL must be set for ${provider.id}`
    : undefined
}

/** Undefined when the voices from parts can be made of these providers; otherwise what to do. */
const voicePartsProblem = ({ voiceParts }: Settings, { providers }: ProvidersOptions): string | undefined =>
  Option.getOrUndefined(Result.getFailure(makeVoiceParts(voiceParts, providers)))

/** Undefined when the default provider exists; otherwise what to do. */
export const defaultProblem = ({ defaults, providers }: ProvidersOptions): string | undefined => {
  const ids = providers.filter(converses).map((provider) => provider.id)
  if (!ids.includes(defaults.provider)) return `DEFAULT_LLM_PROVIDER must be one of ${ids.join(", ")}`
  if (defaults.provider !== "demo" || defaults.model === demoModelName) return undefined
  return `DEFAULT_MODEL_NAME must be ${demoModelName}, or the key or address of a provider must be set`
}

/** What to do before a server with these settings can start; nothing if it can. */
export const providerProblems = (settings: Settings, providers: ProvidersOptions): ReadonlyArray<string> =>
  [defaultProblem(providers), embeddingProblem(settings, providers), voicePartsProblem(settings, providers)].flatMap(
    (problem) => problem ?? []
  )
