/**
 * OpenAI's realtime models. A host registers them with `OpenAiRealtime.model({ id: "openai", apiKey, models: { "gpt-realtime": {} } })`.
 * The host provides the prices. Without them the cost of a session is unknown, and the session reports that it must be reconciled later.
 */
import type { Usage } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import type { RealtimeModel } from "@colloquy/core/realtime"
import { count, finite, record, type WireRecord } from "../protocols/Wire.ts"
import { tokensOf } from "./OpenAiVoice.ts"
import { mapSession, type VoiceSettings, type VoiceVendor, voiceModel } from "./VoiceSession.ts"
import type { SessionSetup } from "@colloquy/core/realtime"

/** Prices in US dollars per million tokens; `transcriptionMinute` is the price of a minute of transcribed audio. */
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

/** Computes the session without connecting; a pure function. */
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
    usageOf: (message) => responseUsage(record(message["response"])["usage"], prices),
    transcriptionUsage: (message) => transcriptionUsage(record(message["usage"]), prices)
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

/** The usage of a response. If the vendor does not report it, the result is marked as estimated. */
const responseUsage = (wireUsage: unknown, prices: OpenAiVoicePrices | undefined): Usage => {
  const tokens = tokensOf(wireUsage)
  if (tokens === null) return { ...noUsage, estimated: true }
  if (prices === undefined) return tokens
  const input = record(record(wireUsage)["input_token_details"])
  const cached = record(input["cached_tokens_details"])
  const output = record(record(wireUsage)["output_token_details"])
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

/** The usage of a transcription, which has its own price, per token or per minute. */
const transcriptionUsage = (wireUsage: WireRecord, prices: OpenAiVoicePrices | undefined): Usage | null => {
  const seconds = finite(wireUsage["seconds"])
  if (wireUsage["type"] === "duration" && seconds !== undefined) {
    const price = prices?.transcriptionMinute
    return { ...noUsage, costUsd: price === undefined ? null : (seconds / 60) * price, estimated: price === undefined }
  }
  const tokens = tokensOf(wireUsage)
  if (tokens === null) return null
  const { transcriptionInput, transcriptionOutput } = prices ?? {}
  return transcriptionInput === undefined || transcriptionOutput === undefined
    ? tokens
    : {
        ...tokens,
        costUsd: (tokens.inputTokens * transcriptionInput + tokens.outputTokens * transcriptionOutput) / million
      }
}
