/**
 * xAI's voice models, which speak OpenAI's realtime wire with differences: the detection of turns stands at the top, user transcripts come
 * as whole drafts, a commit alone asks for an answer, and nothing is truncated. Billed by time. A host registers them with
 * `XaiRealtime.model({ id: "xai", apiKey, models: { "grok-voice-latest": {} } })`.
 */
import type { Usage } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import type { RealtimeModel, SessionSetup } from "@colloquy/core/realtime"
import { finite, record, type WireRecord } from "../protocols/Wire.ts"
import { type Billed, tokensOf } from "./OpenAiVoice.ts"
import { mapSession, type VoiceSettings, type VoiceVendor, voiceModel } from "./VoiceSession.ts"

export interface XaiRealtimeSettings extends Partial<Omit<VoiceSettings, "models">>, Pick<VoiceSettings, "models"> {
  /** US dollars for a minute. */
  readonly pricePerMinute?: number
}

export const model = (settings: XaiRealtimeSettings): RealtimeModel =>
  voiceModel(withDefaults(settings), vendorOf(settings.pricePerMinute))

/** Pure: what a session would send. */
export const mapXai = (settings: XaiRealtimeSettings, setup: SessionSetup) =>
  mapSession(withDefaults(settings), vendorOf(settings.pricePerMinute), setup)

const withDefaults = ({ pricePerMinute: _, ...settings }: XaiRealtimeSettings): VoiceSettings => ({
  id: "xai",
  url: "wss://api.x.ai/v1/realtime",
  ...settings
})

const vendorOf = (pricePerMinute?: number): VoiceVendor => ({
  dialect: {
    turnDetection: ["turn_detection"],
    asksAfterCommit: false,
    truncates: false,
    draftsOfUser: true,
    usageOf: usageWith(pricePerMinute),
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

/** The seconds are those of the whole conversation so far, so an answer's part is what came on top. */
const usageWith =
  (pricePerMinute: number | undefined) =>
  (message: WireRecord, billed: Billed): Usage => {
    const inside = record(record(message["response"])["usage"])
    const usage = Object.keys(inside).length > 0 ? inside : record(message["usage"])
    const tokens = tokensOf(usage) ?? { ...noUsage, estimated: true }
    const seconds = finite(usage["billable_audio_seconds"])
    if (seconds === undefined || pricePerMinute === undefined) return tokens
    const more = Math.max(0, seconds - billed.seconds)
    billed.seconds = Math.max(billed.seconds, seconds)
    return { ...tokens, costUsd: (more / 60) * pricePerMinute, estimated: false }
  }
