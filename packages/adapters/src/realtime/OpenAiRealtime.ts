/**
 * OpenAI's realtime models. A host registers them with `OpenAiRealtime.model({ id: "openai", apiKey, models: { "gpt-realtime": {} } })`.
 * Prices are the host's: without them the cost of a session is not known, and the session says that it is to be reconciled.
 */
import type { Usage } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import type { RealtimeModel } from "@colloquy/core/realtime"
import { count, finite, record, type WireRecord } from "../protocols/Wire.ts"
import { tokensOf } from "./OpenAiVoice.ts"
import { mapSession, type VoiceSettings, type VoiceVendor, voiceModel } from "./VoiceSession.ts"
import type { SessionSetup } from "@colloquy/core/realtime"

/** US dollars for a million tokens; `transcriptionMinute` for a minute of transcribed audio. */
export interface OpenAiVoicePrices {
  readonly textInput: number
  readonly audioInput: number
  readonly cachedInput: number
  readonly textOutput: number
  readonly audioOutput: number
  readonly transcriptionInput?: number
  readonly transcriptionOutput?: number
  readonly transcriptionMinute?: number
}

export interface OpenAiRealtimeSettings extends Partial<Omit<VoiceSettings, "models">>, Pick<VoiceSettings, "models"> {
  readonly prices?: OpenAiVoicePrices
}

export const model = (settings: OpenAiRealtimeSettings): RealtimeModel =>
  voiceModel(withDefaults(settings), vendorOf(settings.prices))

/** Pure: what a session would send. */
export const mapOpenAi = (settings: OpenAiRealtimeSettings, setup: SessionSetup) =>
  mapSession(withDefaults(settings), vendorOf(settings.prices), setup)

const withDefaults = ({ prices: _, ...settings }: OpenAiRealtimeSettings): VoiceSettings => ({
  id: "openai",
  url: "wss://api.openai.com/v1/realtime",
  ...settings
})

const vendorOf = (prices?: OpenAiVoicePrices): VoiceVendor => ({
  dialect: {
    turnDetection: ["audio", "input", "turn_detection"],
    asksAfterCommit: true,
    truncates: true,
    draftsOfUser: false,
    usageOf: (message) => priced(record(message["response"])["usage"], prices),
    transcriptionUsage: (message) => transcribed(record(message["usage"]), prices)
  },
  defaults: {
    type: "realtime",
    output_modalities: ["audio"],
    audio: {
      input: {
        format: { type: "audio/pcm", rate: 24_000 },
        transcription: { model: "gpt-4o-mini-transcribe" },
        turn_detection: { type: "semantic_vad", eagerness: "auto", create_response: true, interrupt_response: true }
      },
      output: { format: { type: "audio/pcm", rate: 24_000 } }
    }
  },
  speed: { minimum: 0.25, maximum: 1.5 },
  rates: [24_000],
  turnDetections: ["semantic_vad", "server_vad"],
  providerSettings: [
    "instructions",
    "output_modalities",
    "max_output_tokens",
    "audio",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "truncation",
    "include",
    "prompt",
    "tracing"
  ]
})

const million = 1_000_000

/** Usage of a response; when it is missing, something was used and nobody knows how much. */
const priced = (told: unknown, prices: OpenAiVoicePrices | undefined): Usage => {
  const tokens = tokensOf(told)
  if (tokens === null) return { ...noUsage, estimated: true }
  if (prices === undefined) return tokens
  const input = record(record(told)["input_token_details"])
  const cached = record(input["cached_tokens_details"])
  const output = record(record(told)["output_token_details"])
  const freshText = count(input["text_tokens"]) - count(cached["text_tokens"])
  const freshAudio = count(input["audio_tokens"]) - count(cached["audio_tokens"])
  const costUsd =
    (freshText * prices.textInput +
      freshAudio * prices.audioInput +
      count(input["cached_tokens"]) * prices.cachedInput +
      count(output["text_tokens"]) * prices.textOutput +
      count(output["audio_tokens"]) * prices.audioOutput) /
    million
  return { ...tokens, costUsd }
}

/** Transcription has a price of its own, by tokens or by time. */
const transcribed = (told: WireRecord, prices: OpenAiVoicePrices | undefined): Usage | null => {
  const seconds = finite(told["seconds"])
  if (told["type"] === "duration" && seconds !== undefined) {
    const price = prices?.transcriptionMinute
    return { ...noUsage, costUsd: price === undefined ? null : (seconds / 60) * price, estimated: price === undefined }
  }
  const tokens = tokensOf(told)
  if (tokens === null) return null
  const { transcriptionInput, transcriptionOutput } = prices ?? {}
  return transcriptionInput === undefined || transcriptionOutput === undefined
    ? tokens
    : {
        ...tokens,
        costUsd: (tokens.inputTokens * transcriptionInput + tokens.outputTokens * transcriptionOutput) / million
      }
}
