/** The vendors that `npm run live` knows: how their provider is built from the environment, and the models that it asks by default. */
import * as Anthropic from "@colloquy/adapters/anthropic"
import * as Deepgram from "@colloquy/adapters/deepgram"
import * as ElevenLabs from "@colloquy/adapters/elevenlabs"
import * as Gemini from "@colloquy/adapters/gemini"
import * as OpenAi from "@colloquy/adapters/openai"
import * as OpenAiCompatible from "@colloquy/adapters/openai-compatible"
import * as OpenRouter from "@colloquy/adapters/openrouter"
import { GeminiLive, OpenAiRealtime, XaiRealtime } from "@colloquy/adapters/realtime"
import type { Provider } from "@colloquy/core"
import type { RealtimeModel } from "@colloquy/core/realtime"
import type * as Redacted from "effect/Redacted"
import { conversationChecks } from "./Conversations.ts"
import { jobChecks } from "./Jobs.ts"
import type { LiveCheck } from "./LiveCheck.ts"
import { sessionChecks } from "./Sessions.ts"

export interface VendorAccess {
  readonly apiKey: Redacted.Redacted<string>
  readonly baseUrl?: string
  /** The whole address of its voice sessions. */
  readonly url?: string
}

export type LiveModels = { readonly [Purpose in "chat" | "realtime" | "embedding" | "image"]?: string }

export interface LiveVendor {
  readonly models: LiveModels
  readonly provider: (access: Omit<VendorAccess, "url">) => Provider
  readonly realtime?: (access: Omit<VendorAccess, "baseUrl">, model: string) => RealtimeModel
}

export const liveVendors: { readonly [name: string]: LiveVendor } = {
  openai: {
    models: {
      chat: "gpt-5-mini",
      realtime: "gpt-realtime-mini",
      embedding: "text-embedding-3-small",
      image: "gpt-image-1-mini"
    },
    provider: (access) => OpenAi.provider(access),
    realtime: (access, model) => OpenAiRealtime.model({ ...access, models: { [model]: {} } })
  },
  anthropic: { models: { chat: "claude-haiku-4-5" }, provider: (access) => Anthropic.provider(access) },
  gemini: {
    models: {
      chat: "gemini-2.5-flash",
      realtime: "gemini-2.5-flash-native-audio-preview-12-2025",
      embedding: "gemini-embedding-001"
    },
    provider: (access) => Gemini.provider(access),
    realtime: (access, model) => GeminiLive.model({ ...access, models: { [model]: {} } })
  },
  openrouter: { models: { chat: "openai/gpt-5-mini" }, provider: (access) => OpenRouter.provider(access) },
  xai: {
    models: { chat: "grok-4-fast", realtime: "grok-voice-latest" },
    provider: (access) => OpenAiCompatible.provider({ ...OpenAiCompatible.xAi, ...access }),
    realtime: (access, model) => XaiRealtime.model({ ...access, models: { [model]: {} } })
  },
  elevenlabs: { models: {}, provider: (access) => ElevenLabs.provider(access) },
  deepgram: { models: {}, provider: (access) => Deepgram.provider(access) }
}

/** All checks of a vendor, the cheap ones first. */
export const vendorChecks = (
  vendor: LiveVendor,
  { apiKey, baseUrl, url }: VendorAccess,
  models: LiveModels
): ReadonlyArray<LiveCheck> => {
  const provider = vendor.provider({ apiKey, ...(baseUrl === undefined ? {} : { baseUrl }) })
  const { chat, embedding, image, realtime } = models
  const voice =
    realtime === undefined ? undefined : vendor.realtime?.({ apiKey, ...(url === undefined ? {} : { url }) }, realtime)
  return [
    ...(chat === undefined ? [] : conversationChecks(provider, chat)),
    ...(voice === undefined || realtime === undefined ? [] : sessionChecks(voice, realtime)),
    ...jobChecks(provider, {
      ...(embedding === undefined ? {} : { embedding }),
      ...(image === undefined ? {} : { image })
    })
  ]
}
