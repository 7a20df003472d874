/**
 * xAI's voice models, which use OpenAI's realtime protocol with differences: the turn detection is a top-level field, the user's transcripts are
 * repeated as a whole, a commit alone begins a response, items cannot be truncated, and the vendor charges for time. A host registers them
 * with `XaiRealtime.model({ id: "xai", apiKey, models: { "grok-voice-latest": {} } })`.
 */
import type { Usage } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import type { RealtimeModel, SessionSetup } from "@colloquy/core/realtime"
import { finite, record, type WireRecord } from "../protocols/Wire.ts"
import { type Billed, readTokens } from "./OpenAiVoice.ts"
import { mapSession, modelPrices, type VoiceSettings, type VoiceVendor, voiceModel } from "./VoiceSession.ts"

/** The price of an xAI session. */
export interface XaiVoicePrices {
  /** The price of a minute in US dollars. */
  readonly minute: number
}

type Settings = VoiceSettings<XaiVoicePrices>

/** The key, the models and the price of xAI's voices. */
export interface XaiRealtimeSettings extends Partial<Omit<Settings, "models">>, Pick<Settings, "models"> {
  /** The price of a minute in US dollars, of all models that have no `prices` of their own in `models`. */
  readonly pricePerMinute?: number
}

/** xAI's voices as a realtime model. */
export const model = (settings: XaiRealtimeSettings): RealtimeModel =>
  voiceModel(withDefaults(settings), makeVendor, pricesOfAll(settings))

/** Computes the session without connecting; a pure function. */
export const mapXai = (settings: XaiRealtimeSettings, setup: SessionSetup) =>
  mapSession(
    withDefaults(settings),
    makeVendor(modelPrices(settings.models, setup.model, pricesOfAll(settings))),
    setup
  )

const pricesOfAll = ({ pricePerMinute }: XaiRealtimeSettings): XaiVoicePrices | undefined =>
  pricePerMinute === undefined ? undefined : { minute: pricePerMinute }

const withDefaults = ({ pricePerMinute: _, ...settings }: XaiRealtimeSettings): Settings => ({
  id: "xai",
  url: "wss://api.x.ai/v1/realtime",
  ...settings
})

const makeVendor = (prices?: XaiVoicePrices): VoiceVendor => ({
  dialect: {
    turnDetection: ["turn_detection"],
    asksAfterCommit: false,
    truncates: false,
    draftsOfUser: true,
    readUsage: usageWith(prices?.minute),
    transcriptionUsage: () => null
  },
  defaults: {
    turn_detection: { type: "server_vad" },
    audio: {
      input: { format: { type: "audio/pcm", rate: 24_000 }, transcription: { model: "grok-transcribe" } },
      output: { format: { type: "audio/pcm", rate: 24_000 } }
    }
  },
  speed: { minimum: 0.7, maximum: 1.5 },
  rates: [8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000],
  turnDetections: ["server_vad"],
  reserved: ["web_search", "x_search", "file_search", "mcp"],
  providerSettings: ["instructions", "voice", "turn_detection", "audio", "tools", "reasoning", "resumption"]
})

/** The vendor reports the seconds of the whole session so far, so a response is charged for the difference from the last report. */
const usageWith =
  (pricePerMinute: number | undefined) =>
  (message: WireRecord, billed: Billed): Usage => {
    const inside = record(record(message["response"])["usage"])
    const usage = Object.keys(inside).length > 0 ? inside : record(message["usage"])
    const tokens = readTokens(usage) ?? { ...noUsage, estimated: true }
    const seconds = finite(usage["billable_audio_seconds"])
    if (seconds === undefined || pricePerMinute === undefined) return tokens
    const more = Math.max(0, seconds - billed.seconds)
    billed.seconds = Math.max(billed.seconds, seconds)
    return { ...tokens, costUsd: (more / 60) * pricePerMinute, estimated: false }
  }
