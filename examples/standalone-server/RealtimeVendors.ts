/** The voice models that the environment names, under the ids of the service, and the demo voice. */
import { GeminiLive, OpenAiRealtime, XaiRealtime } from "@colloquy/adapters/realtime"
import { type RealtimeModel, RealtimeModels } from "@colloquy/core/realtime"
import { demoVoice } from "./DemoVoice.ts"
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

const makers: {
  readonly [Vendor in RealtimeVendor]: (settings: Parameters<typeof OpenAiRealtime.model>[0]) => RealtimeModel
} = {
  OPENAI: OpenAiRealtime.model,
  GEMINI: ({ prices: _, ...settings }) => GeminiLive.model(settings),
  XAI: ({ prices: _, ...settings }) => XaiRealtime.model(settings)
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

const modelOf = (vendor: RealtimeVendor, settings: Settings): ReadonlyArray<RealtimeModel> => {
  const given = settings.vendors.get(vendor)
  const { models, url: own } = settings.realtime[vendor]
  if (given === undefined && own === null) return []
  const names = models.length === 0 ? usual[vendor] : models
  const url = addressOf(vendor, settings)
  return [
    makers[vendor]({
      id: ids[vendor],
      models: Object.fromEntries(names.map((name) => [name, {}])),
      ...(given?.apiKey === undefined ? {} : { apiKey: given.apiKey }),
      ...(url === undefined ? {} : { url })
    })
  ]
}

/** A session with one of the three ids gets a specific refusal while no vendor is configured for it. */
export const realtimeModels = (settings: Settings) =>
  RealtimeModels.layer(
    [demoVoice, ...(["OPENAI", "GEMINI", "XAI"] as const).flatMap((vendor) => modelOf(vendor, settings))],
    Object.values(ids)
  )
