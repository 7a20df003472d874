/**
 * OpenRouter: one chat protocol in front of many upstream providers. In addition to `protocols/OpenAiChat` it supports the routing of a request
 * (which upstream providers, at which price), the automatic choice of a model and a reasoning budget, and it reports the cost of a call.
 * `protocols/RouterModels` reads its lists of models and upstream providers.
 */
import type { ModelInfo, Provider } from "@colloquy/core"
import type { ChatRequest, Routing } from "@colloquy/core/adapters"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import type { EmbeddingLimits } from "../protocols/Embeddings.ts"
import * as OpenAiChat from "../protocols/OpenAiChat.ts"
import { type ChatDialect, plainDialect, type WireFields } from "../protocols/OpenAiDialect.ts"
import * as OpenAiEmbeddings from "../protocols/OpenAiEmbeddings.ts"
import * as OpenAiNextToken from "../protocols/OpenAiNextToken.ts"
import * as RouterImages from "../protocols/RouterImages.ts"
import { listModels, listUpstreams, listVideoModels } from "../protocols/RouterModels.ts"
import * as RouterVideos from "../protocols/RouterVideos.ts"
import type { TransportSettings } from "../protocols/Transport.ts"
import { lookUp } from "../protocols/Wire.ts"

/** The key of OpenRouter, and the site that it shows as the caller. */
export interface OpenRouterSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `router`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  readonly baseUrl?: string
  /** The name and URL of the host's application, shown in the vendor's statistics. */
  readonly site?: { readonly url: string; readonly title: string }
  readonly headers?: { readonly [name: string]: string }
  /** The host's data of single models. It takes precedence over the vendor's list. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** The limits of one request for embeddings. */
  readonly limits?: Partial<EmbeddingLimits>
  /** Models that choose another model automatically, each with the plugin to which restrictions of the choice are sent. */
  readonly automaticModels?: { readonly [model: string]: string }
}

/** OpenRouter as a provider: a router to the models of many vendors. */
export const provider = (settings: OpenRouterSettings = {}): Provider => {
  const { site, automaticModels = automatic, ...rest } = settings
  const full = {
    ...rest,
    id: settings.id ?? "router",
    baseUrl: checkedUrl(settings.baseUrl) ?? "https://openrouter.ai/api/v1",
    headers: {
      ...settings.headers,
      ...(site === undefined ? {} : { "http-referer": site.url, "x-openrouter-title": site.title })
    }
  }
  const describe = (model: string) => lookUp(settings.models ?? {}, model)
  const chatDialect: ChatDialect = {
    ...dialect,
    extra: (request) => withAbilities(request, lowerRouting(request, automaticModels))
  }
  return {
    id: full.id,
    // Only some upstream providers support log-probabilities. Without this option, the others would silently omit them.
    nextToken: OpenAiNextToken.driver({ ...full, dialect, extra: { provider: { require_parameters: true } } }),
    chat: OpenAiChat.driver({ ...full, dialect: chatDialect }),
    wire: (request) => OpenAiChat.lower(request, chatDialect),
    embedding: OpenAiEmbeddings.driver({
      ...full,
      dialect: embeddings,
      ownDimensions: (model) => describe(model)?.embeddingDimensions
    }),
    image: RouterImages.model(full),
    video: { ...RouterVideos.videoModel(full), listModels: listVideoModels(full) },
    describe,
    listModels: listModels(full),
    listUpstreams: listUpstreams(full)
  }
}

const automatic = { "openrouter/auto": "auto-router", "openrouter/auto-beta": "auto-beta-router" }

// ------ request

/** The body fields for `thinking`. A request may contain a budget or an effort, and the budget is more precise. */
export const lowerThinking = (request: ChatRequest): WireFields => {
  const { thinking, info } = request
  if (thinking === null || info.supportsThinking === false) return {}
  if (thinking.budgetTokens === 0) return { reasoning: { effort: "none" } }
  const budget = info.thinkingControls?.budget === false ? undefined : (thinking.maxTokens ?? thinking.budgetTokens)
  const amount =
    budget !== undefined
      ? { max_tokens: budget }
      : thinking.effort !== undefined
        ? { effort: thinking.effort }
        : { enabled: true }
  return { reasoning: { ...amount, ...(thinking.excludeReasoning === true ? { exclude: true } : {}) } }
}

/** Adds the plugin for the vendor's web search to the other plugins, and the response modalities of a model that makes images. */
const withAbilities = ({ info, ownTools }: ChatRequest, { plugins, ...fields }: WireFields): WireFields => {
  const all = [
    ...(Array.isArray(plugins) ? plugins : []),
    ...(ownTools?.includes("web_search") === true ? [{ id: "web" }] : [])
  ]
  const modalities = info.details?.["response_modalities"]
  return {
    ...fields,
    ...(all.length === 0 ? {} : { plugins: all }),
    ...(modalities === undefined ? {} : { modalities })
  }
}

/** The body fields for `routing`. */
export const lowerRouting = (
  { model, routing }: ChatRequest,
  automaticModels: { readonly [model: string]: string }
): WireFields => {
  if (routing === null) return {}
  const upstreams = lowerUpstreams(routing)
  const plugin = lookUp(automaticModels, model)
  const restrictions = plugin === undefined ? {} : lowerRestrictions(routing)
  return {
    ...(isEmpty(upstreams) ? {} : { provider: upstreams }),
    ...(plugin === undefined || isEmpty(restrictions) ? {} : { plugins: [{ id: plugin, ...restrictions }] })
  }
}

const lowerUpstreams = (routing: Routing): WireFields =>
  given({
    order: routing.providers,
    ignore: routing.ignore,
    allow_fallbacks: routing.allowFallbacks,
    sort: routing.sort,
    max_price: routing.maxPrice && given({ prompt: routing.maxPrice.prompt, completion: routing.maxPrice.completion })
  })

const lowerRestrictions = (routing: Routing): WireFields =>
  given({
    allowed_models: routing.allowedModels,
    excluded_models: routing.excludedModels,
    cost_tier: routing.costTier
  })

type Field = WireFields[string]

/** The fields that are neither undefined nor empty. */
const given = (fields: { readonly [field: string]: Field | undefined }): WireFields =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) =>
      value === undefined || isEmpty(value) ? [] : [[field, value] as const]
    )
  )

const isEmpty = (value: Field): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0

const dialect: ChatDialect = {
  ...plainDialect,
  jsonSchema: "listed",
  // This vendor always sends the usage, with the cost.
  asksForUsage: false,
  conversationField: "session_id",
  parts: ["image", "pdf", "audio", "video"],
  audioFormats: ["wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a", "pcm16"],
  fileUrls: true,
  replayed: ["reasoning_details"],
  thinking: lowerThinking,
  requestIdHeader: "x-generation-id"
}

const embeddings: OpenAiEmbeddings.EmbeddingDialect = {
  ...OpenAiEmbeddings.plainEmbeddings,
  dimensionsField: "dimensions",
  requestIdHeader: "x-generation-id"
}
