/**
 * OpenAI's realtime models. A host registers them with `OpenAiRealtime.model({ id: "openai", apiKey, models: { "gpt-realtime": {} } })`.
 * The host provides the prices. Without them the cost of a session is unknown, and the session reports that it must be reconciled later.
 */
import type { Usage } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import type { RealtimeModel } from "@colloquy/core/realtime"
import { count, finite, isRecord, record, type WireRecord } from "../protocols/Wire.ts"
import { readTokens } from "./OpenAiVoice.ts"
import { mapSession, modelPrices, type VoiceSettings, type VoiceVendor, voiceModel } from "./VoiceSession.ts"
import type { SessionSetup } from "@colloquy/core/realtime"

/**
 * Prices in US dollars per million tokens; `transcriptionMinute` is the price of a minute of transcribed audio. Without `imageInput` the tokens
 * of pictures are charged as text, and the cost is marked as estimated.
 */
export interface OpenAiVoicePrices {
  readonly textInput: number
  readonly audioInput: number
  readonly imageInput?: number
  readonly cachedInput: number
  readonly textOutput: number
  readonly audioOutput: number
  readonly transcriptionInput?: number
  readonly transcriptionOutput?: number
  readonly transcriptionMinute?: number
}

type Settings = VoiceSettings<OpenAiVoicePrices>

/** The key, the models and the prices of OpenAI's realtime voices. */
export interface OpenAiRealtimeSettings extends Partial<Omit<Settings, "models">>, Pick<Settings, "models"> {
  /** The prices of all models that have none of their own in `models`. */
  readonly prices?: OpenAiVoicePrices
}

/** OpenAI's realtime voices as a realtime model. */
export const model = (settings: OpenAiRealtimeSettings): RealtimeModel =>
  voiceModel(withDefaults(settings), makeVendor, settings.prices)

/** Computes the session without connecting; a pure function. */
export const mapOpenAi = (settings: OpenAiRealtimeSettings, setup: SessionSetup) =>
  mapSession(withDefaults(settings), makeVendor(modelPrices(settings.models, setup.model, settings.prices)), setup)

const withDefaults = ({ prices: _, ...settings }: OpenAiRealtimeSettings): Settings => ({
  id: "openai",
  url: "wss://api.openai.com/v1/realtime",
  ...settings
})

const makeVendor = (prices?: OpenAiVoicePrices): VoiceVendor => ({
  dialect: {
    turnDetection: ["audio", "input", "turn_detection"],
    asksAfterCommit: true,
    truncates: true,
    draftsOfUser: false,
    readUsage: (message) => responseUsage(record(message["response"])["usage"], prices),
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
  const tokens = readTokens(wireUsage)
  if (tokens === null) return { ...noUsage, estimated: true }
  if (prices === undefined) return tokens
  const input = record(record(wireUsage)["input_token_details"])
  const output = record(record(wireUsage)["output_token_details"])
  const text = count(input["text_tokens"])
  const audio = count(input["audio_tokens"])
  const image = count(input["image_tokens"])
  // Tokens whose kind the vendor does not report are charged at the price of audio, the highest.
  const otherInput = Math.max(0, tokens.inputTokens - text - audio - image)
  const otherOutput = Math.max(0, tokens.outputTokens - count(output["text_tokens"]) - count(output["audio_tokens"]))
  const cached = cachedTokens(input, { text, audio, image })
  const costUsd =
    ((text - cached.text) * prices.textInput +
      (audio - cached.audio + otherInput) * prices.audioInput +
      (image - cached.image) * (prices.imageInput ?? prices.textInput) +
      (cached.text + cached.audio + cached.image) * prices.cachedInput +
      count(output["text_tokens"]) * prices.textOutput +
      (count(output["audio_tokens"]) + otherOutput) * prices.audioOutput) /
    million
  const isGuessed = otherInput > 0 || otherOutput > 0 || (image > 0 && prices.imageInput === undefined)
  return { ...tokens, costUsd, estimated: isGuessed }
}

interface InputTokens {
  readonly text: number
  readonly audio: number
  readonly image: number
}

/** How many tokens of each kind were cached. If the vendor gives only the total, text counts as cached first, because the instructions are. */
const cachedTokens = (input: WireRecord, all: InputTokens): InputTokens => {
  const total = count(input["cached_tokens"])
  const details = input["cached_tokens_details"]
  const given = record(details)
  const text = isRecord(details) ? Math.min(count(given["text_tokens"]), all.text) : Math.min(total, all.text)
  const audio = isRecord(details)
    ? Math.min(count(given["audio_tokens"]), all.audio)
    : Math.min(total - text, all.audio)
  const image = isRecord(details)
    ? Math.min(count(given["image_tokens"]), all.image)
    : Math.min(total - text - audio, all.image)
  return { text, audio, image }
}

/** The usage of a transcription, which has its own price, per token or per minute. */
const transcriptionUsage = (wireUsage: WireRecord, prices: OpenAiVoicePrices | undefined): Usage | null => {
  const seconds = finite(wireUsage["seconds"])
  if (wireUsage["type"] === "duration" && seconds !== undefined) {
    const price = prices?.transcriptionMinute
    return { ...noUsage, costUsd: price === undefined ? null : (seconds / 60) * price, estimated: price === undefined }
  }
  const tokens = readTokens(wireUsage)
  if (tokens === null) return null
  const { transcriptionInput, transcriptionOutput } = prices ?? {}
  return transcriptionInput === undefined || transcriptionOutput === undefined
    ? { ...tokens, estimated: prices !== undefined }
    : {
        ...tokens,
        costUsd: (tokens.inputTokens * transcriptionInput + tokens.outputTokens * transcriptionOutput) / million
      }
}
