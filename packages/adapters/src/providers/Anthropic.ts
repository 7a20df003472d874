/**
 * Anthropic. A host registers it with `Anthropic.provider({ apiKey })`; the protocol is in `protocols/AnthropicMessages`. The vendor's list of
 * models contains their limits and capabilities, including thinking.
 */
import type { ModelInfo, Provider } from "@colloquy/core"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import { errorDialect } from "../protocols/AnthropicErrors.ts"
import * as AnthropicMessages from "../protocols/AnthropicMessages.ts"
import { findFamily, type ModelFamilies } from "../protocols/ModelFamilies.ts"
import { type KnownModel, listPagedModels } from "../protocols/ModelPages.ts"
import type { TransportSettings } from "../protocols/Transport.ts"
import { list, lookUp, record, text, wholeNumber, type WireRecord } from "../protocols/Wire.ts"

/** The key, the address and the dialect of Anthropic's Messages API. */
export interface AnthropicSettings extends TransportSettings, Partial<AnthropicMessages.MessagesDialect> {
  /** The name under which the provider is registered. Default: `anthropic`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  /** The address including the version. Default: `https://api.anthropic.com/v1`. */
  readonly baseUrl?: string
  /** Default: `classicHeaders`. */
  readonly headers?: AnthropicMessages.HeaderProfile
  /** Limits, prices and capabilities, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** Default: `modelFamilies`. The table `models` takes precedence. */
  readonly families?: ModelFamilies
}

/** The headers of the protocol's oldest version, which the vendor still supports. */
export const classicHeaders: AnthropicMessages.HeaderProfile = { version: "2023-06-01", key: "x-api-key" }

/** The headers that the vendor's own libraries send since their version 1. */
export const currentHeaders: AnthropicMessages.HeaderProfile = { version: "2026-10-21", key: "bearer" }

/** Anthropic as a provider of models. */
export const provider = (settings: AnthropicSettings = {}): Provider => {
  const full = {
    ...plainDialect,
    id: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    headers: classicHeaders,
    models: {},
    families: modelFamilies,
    ...settings
  }
  checkedUrl(full.baseUrl)
  return {
    id: full.id,
    chat: AnthropicMessages.driver(full),
    wire: (request) => AnthropicMessages.lower(request, full),
    describe: (model) => ({ ...findFamily(model, full.families), ...lookUp(full.models, model) }),
    listModels: listPagedModels(
      {
        id: full.id,
        url: (cursor) => {
          const after = cursor === undefined ? "" : `&after_id=${encodeURIComponent(cursor)}`
          return `${full.baseUrl}/models?limit=1000${after}`
        },
        headers: AnthropicMessages.profileHeaders(full.headers),
        secrets: AnthropicMessages.callSecrets(full.headers, full.apiKey),
        errors: errorDialect,
        entries: (page) => list(page.data),
        cursor: (page) => (page.has_more === true ? text(page.last_id) : undefined),
        read: readModel,
        families: full.families,
        models: full.models
      },
      full
    )
  }
}

const plainDialect: AnthropicMessages.MessagesDialect = {
  maxTokens: 8192,
  thinkingStyle: "adaptive",
  promptCache: "5m"
}

const byBudget: Partial<ModelInfo> = {
  thinkingControls: { efforts: ["low", "medium", "high", "max"], budget: true, style: "budget" }
}

/** Models with the vendor's own web search. */
const withSearch: Partial<ModelInfo> = { details: { web_search: true } }

/** The older models without adaptive thinking. All newer ones have it. */
export const modelFamilies: ModelFamilies = [
  [/^claude-(instant|2|3-(5-)?(haiku|sonnet|opus))/, { supportsThinking: false }],
  [/^claude-3-7|^claude-haiku-4-5|^claude-(sonnet|opus)-4-([015]\b|20\d{6})/, { ...byBudget, ...withSearch }],
  [/^claude-(sonnet|opus|haiku)-/, withSearch]
]

/** Older entries contain no capabilities. These stay unknown, and files are then sent to the model. */
const readModel = (entry: WireRecord): ReadonlyArray<KnownModel> => {
  const name = text(entry.id)
  return name === undefined || entry.lifecycle === "retired" ? [] : [describe(name, entry)]
}

const describe = (name: string, entry: WireRecord): KnownModel => {
  const has = record(entry.capabilities)
  return {
    name,
    modelType: "llm",
    displayName: text(entry.display_name) ?? null,
    contextLimit: wholeNumber(entry.max_input_tokens),
    maxOutputTokens: wholeNumber(entry.max_tokens),
    supportsThinking: supported(has.thinking),
    supportsVision: supported(has.image_input),
    supportsPdfInput: supported(has.pdf_input),
    // The protocol does not support audio and video.
    supportsAudioInput: false,
    supportsVideoInput: false,
    supportsAudioOutput: false,
    thinkingControls: readThinkingControls(record(record(has.thinking).types), record(has.effort))
  }
}

const supported = (capability: unknown): boolean | null => {
  const isSupported = record(capability).supported
  return typeof isSupported === "boolean" ? isSupported : null
}

const readThinkingControls = (types: WireRecord, effort: WireRecord): ModelInfo["thinkingControls"] => {
  const budget = supported(types.enabled) === true
  if (!budget && supported(types.adaptive) !== true) return null
  const off = supported(types.disabled) === true ? ["none"] : []
  const efforts = ["low", "medium", "high", "xhigh", "max"].filter((word) => supported(effort[word]) === true)
  return { efforts: [...off, ...efforts], budget, style: supported(types.adaptive) === true ? "adaptive" : "budget" }
}
