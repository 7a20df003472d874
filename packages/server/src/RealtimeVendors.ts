/** The voice models that the environment names, under the ids of the service, and the demo voice. */
import { GeminiLive, OpenAiRealtime, XaiRealtime } from "@colloquy/adapters/realtime"
import { type RealtimeModel, RealtimeModels } from "@colloquy/core/realtime"
import { demoVoice } from "./demo/DemoVoice.ts"
import type { RealtimeVendor, Settings } from "./Settings.ts"

/** The path of the vendor's voice API on the operator's own server, relative to the address of its other models. */
const paths: { readonly [Vendor in RealtimeVendor]: string } = {
  OPENAI: "/v1/realtime",
  GEMINI: "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
  XAI: "/v1/realtime"
}

/** The offer of a vendor if the operator does not set it. */
const usual: { readonly [Vendor in RealtimeVendor]: ReadonlyArray<string> } = {
  OPENAI: ["gpt-realtime", "gpt-realtime-mini"],
  GEMINI: ["gemini-2.5-flash-native-audio-preview-12-2025", "gemini-3.1-flash-live-preview"],
  XAI: ["grok-voice-latest"]
}

const ids: { readonly [Vendor in RealtimeVendor]: string } = {
  OPENAI: "provider_a",
  GEMINI: "provider_b",
  XAI: "provider_c"
}

const addressOf = (vendor: RealtimeVendor, { realtime, vendors }: Settings): string | undefined => {
  const baseUrl = vendors.get(vendor)?.baseUrl
  const own = realtime[vendor].url
  if (own !== null || baseUrl === undefined) return own ?? undefined
  const address = new URL(paths[vendor], baseUrl)
  address.protocol = address.protocol === "http:" ? "ws:" : "wss:"
  return address.href
}

/** What the vendors' models have in common; null: the vendor is not configured. */
const commonOf = (vendor: RealtimeVendor, settings: Settings) => {
  const given = settings.vendors.get(vendor)
  if (given === undefined && settings.realtime[vendor].url === null) return null
  const url = addressOf(vendor, settings)
  return {
    id: ids[vendor],
    ...(given?.apiKey === undefined ? {} : { apiKey: given.apiKey }),
    ...(url === undefined ? {} : { url })
  }
}

/** The vendor's models by their names, each with its prices. */
const modelsOf = <Prices>(
  vendor: RealtimeVendor,
  { realtime }: Settings,
  prices: { readonly [name: string]: Prices }
): { readonly [name: string]: { readonly prices?: Prices } } => {
  const { models } = realtime[vendor]
  const names = models.length === 0 ? usual[vendor] : models
  return Object.fromEntries(
    names.map((name) => {
      const known = prices[name]
      return [name, known === undefined ? {} : { prices: known }]
    })
  )
}

const configuredModels = (settings: Settings): ReadonlyArray<RealtimeModel> => {
  const { GEMINI, OPENAI, XAI } = settings.voicePrices
  const openAi = commonOf("OPENAI", settings)
  const gemini = commonOf("GEMINI", settings)
  const xai = commonOf("XAI", settings)
  return [
    ...(openAi === null ? [] : [OpenAiRealtime.model({ ...openAi, models: modelsOf("OPENAI", settings, OPENAI) })]),
    ...(gemini === null ? [] : [GeminiLive.model({ ...gemini, models: modelsOf("GEMINI", settings, GEMINI) })]),
    ...(xai === null ? [] : [XaiRealtime.model({ ...xai, models: modelsOf("XAI", settings, XAI) })])
  ]
}

/** A session with one of the three ids gets a specific refusal while no vendor is configured for it. */
export const realtimeModels = (settings: Settings) =>
  RealtimeModels.layer([demoVoice, ...configuredModels(settings)], Object.values(ids))
