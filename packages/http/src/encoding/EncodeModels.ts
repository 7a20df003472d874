/**
 * From entries of the catalogue to records of the wire. Fields of `details`, which a host or a provider has written, are used only if they
 * have the right form.
 */
import type { CatalogEntry, RoutedUpstream, UsageOfDay } from "@colloquy/core/adapters"
import { type AudioFormat, RealtimeCapabilities, type VoicePrices } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { writeTimestamp } from "../wire/Fields.ts"
import type { ImageModel, Model, PlainModel, UpstreamProvider, UsageRow, VideoModel } from "../wire/ModelRecords.ts"

export const modelToWire = (entry: CatalogEntry): Model => {
  switch (entry.modelType) {
    case "video":
      return videoToWire(entry)
    case "image":
      return imageToWire(entry)
    case "realtime":
      return { ...plainToWire(entry), model_type: "realtime", realtime_capabilities: capabilitiesToWire(entry) }
    default:
      return plainToWire(entry)
  }
}

const readCapabilities = Schema.decodeUnknownOption(RealtimeCapabilities)

/** The fields that the kernel's models have; otherwise those that a host has written for the client. */
const capabilitiesToWire = (entry: CatalogEntry): Schema.JsonObject | null =>
  Option.match(readCapabilities(entry.details), {
    onNone: () => objectOr(null, detailsOrEmpty(entry)["realtime_capabilities"]),
    onSome: ({ canCancel, inputFormats, outputFormats, prices, providerSettings, turnDetection }) => ({
      input_formats: inputFormats.map(formatToWire),
      output_formats: outputFormats.map(formatToWire),
      provider_settings: providerSettings,
      turn_detection: turnDetection,
      can_cancel: canCancel,
      prices: prices === undefined ? null : pricesToWire(prices)
    })
  })

/** US dollars for a million tokens, or for a minute. */
const pricesToWire = (prices: VoicePrices): Schema.JsonObject => {
  const fields = Object.entries(prices).map(([name, price]) => [
    name.replace(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`),
    price
  ])
  return Object.fromEntries(fields)
}

const formatToWire = ({ channels, encoding, sampleRate }: AudioFormat): Schema.JsonObject => ({
  encoding,
  sample_rate: sampleRate,
  channels
})

const plainToWire = (entry: CatalogEntry): PlainModel => ({
  name: entry.name,
  provider: entry.provider,
  model_type: entry.modelType,
  display_name: entry.displayName,
  context_limit: entry.contextLimit,
  max_output_tokens: entry.maxOutputTokens,
  supports_tools: entry.supportsTools,
  supports_json_output: entry.supportsJsonOutput,
  supports_thinking: entry.supportsThinking,
  supports_vision: entry.supportsVision,
  supports_pdf_input: entry.supportsPdfInput,
  supports_audio_input: entry.supportsAudioInput,
  supports_video_input: entry.supportsVideoInput,
  supports_audio_output: entry.supportsAudioOutput,
  supports_video_output: null,
  thinking_controls: entry.thinkingControls,
  embedding_dimensions: entry.embeddingDimensions,
  input_cost_per_1m_tokens: entry.inputCostPerMillionTokens,
  output_cost_per_1m_tokens: entry.outputCostPerMillionTokens,
  last_updated: entry.lastUpdated === null ? null : writeTimestamp(entry.lastUpdated)
})

export const videoToWire = (entry: CatalogEntry): VideoModel => {
  const details = detailsOrEmpty(entry)
  return {
    ...plainToWire(entry),
    id: entry.name,
    supports_video_output: true,
    architecture: objectOr(null, details["architecture"]),
    supported_durations: details["supported_durations"] ?? null,
    supported_resolutions: details["supported_resolutions"] ?? null,
    supported_aspect_ratios: details["supported_aspect_ratios"] ?? null,
    supported_sizes: details["supported_sizes"] ?? null,
    supported_frame_images: details["supported_frame_images"] ?? null,
    generate_audio: booleanOrNull(details["generate_audio"]),
    seed: booleanOrNull(details["seed"]),
    upscale_factor: objectOr(null, details["upscale_factor"]),
    creativity: listOrNull(details["creativity"]),
    pricing_skus: objectOr({}, details["pricing_skus"]),
    allowed_passthrough_parameters: details["allowed_passthrough_parameters"] ?? null
  }
}

const imageToWire = (entry: CatalogEntry): ImageModel => {
  const details = detailsOrEmpty(entry)
  return {
    ...plainToWire(entry),
    id: entry.name,
    architecture: objectOr(null, details["architecture"]),
    supported_parameters: details["supported_parameters"] ?? null
  }
}

type Detail = Schema.Json | undefined

const detailsOrEmpty = ({ details }: CatalogEntry): { readonly [field: string]: Schema.Json } => details ?? {}

const isObject = (value: Detail): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const objectOr = <Otherwise>(otherwise: Otherwise, value: Detail): Schema.JsonObject | Otherwise =>
  isObject(value) ? value : otherwise

const booleanOrNull = (value: Detail): boolean | null => (typeof value === "boolean" ? value : null)

const listOrNull = (value: Detail): ReadonlyArray<Schema.Json> | null => (Array.isArray(value) ? value : null)

export const upstreamToWire = ({ id, name, offers, provider }: RoutedUpstream): UpstreamProvider => ({
  name,
  slug: id,
  provider,
  models: offers.map((offer) => ({
    model_name: offer.model,
    variant: offer.variant,
    context_limit: offer.contextLimit,
    max_output_tokens: offer.maxOutputTokens,
    input_cost_per_1m_tokens: offer.inputCostPerMillionTokens,
    output_cost_per_1m_tokens: offer.outputCostPerMillionTokens
  }))
})

export const usageToWire = ({ date, model, purpose, usage }: UsageOfDay): UsageRow => ({
  date,
  model,
  purpose,
  amount_deducted_usd: usage.costUsd
})
