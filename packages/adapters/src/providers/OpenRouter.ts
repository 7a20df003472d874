/**
 * The routing provider: one chat dialect in front of many upstreams. On top of `protocols/OpenAiChat` it takes the routing of a request
 * (which upstreams, at which price), the automatic choice of a model, and reasoning with a budget, and it reports what a call cost.
 * What it tells of models and of its upstreams is read in `protocols/RouterModels`.
 */
import type { ModelInfo, Provider } from "@colloquy/core"
import type { ChatRequest, Routing } from "@colloquy/core/adapters"
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

export interface OpenRouterSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `router`. */
  readonly id?: string
  /** May be absent where every customer brings his own. */
  readonly apiKey?: ApiKey
  readonly baseUrl?: string
  /** Shown in the vendor's own statistics. */
  readonly site?: { readonly url: string; readonly title: string }
  readonly headers?: { readonly [name: string]: string }
  /** What the host knows of single models; beats the vendor's list. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** What one request for embeddings may hold. */
  readonly limits?: Partial<EmbeddingLimits>
  /** Models that choose another model, each with the plugin that takes its restrictions. */
  readonly automaticModels?: { readonly [model: string]: string }
}

export const provider = (settings: OpenRouterSettings = {}): Provider => {
  const { site, automaticModels = automatic, ...rest } = settings
  const full = {
    ...rest,
    id: settings.id ?? "router",
    baseUrl: settings.baseUrl ?? "https://openrouter.ai/api/v1",
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
    // Only some of the upstreams tell log-probabilities; the others would leave them out without a word.
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

/** Body fields for `thinking`. A budget and an effort exclude each other; the budget says more. */
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

/** The vendor's search is a plugin, beside that of the automatic choice; a model that paints has to be told that it may. */
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

/** Body fields for `routing`. */
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

/** The fields that say something: neither absent nor empty. */
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
  // The usage comes unasked, with the cost.
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
