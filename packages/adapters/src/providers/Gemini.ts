/**
 * Google Gemini. A host registers it with `Gemini.provider({ apiKey })`; the protocols are in `protocols/Gemini*`. The vendor's list of models
 * contains their limits and says which models think, but not which thinking parameters they accept; `modelFamilies` does.
 */
import type { ModelInfo, Provider } from "@colloquy/core"
import type { ModelType } from "@colloquy/core/adapters"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import type { EmbeddingLimits } from "../protocols/Embeddings.ts"
import * as GeminiProtocol from "../protocols/Gemini.ts"
import * as GeminiEmbeddings from "../protocols/GeminiEmbeddings.ts"
import * as GeminiImages from "../protocols/GeminiImages.ts"
import * as GeminiNextToken from "../protocols/GeminiNextToken.ts"
import { errorDialect } from "../protocols/GeminiErrors.ts"
import type * as Schema from "effect/Schema"
import { findFamily, type ModelFamilies } from "../protocols/ModelFamilies.ts"
import { type KnownModel, listPagedModels } from "../protocols/ModelPages.ts"
import type { TransportSettings } from "../protocols/Transport.ts"
import { list, lookUp, text, wholeNumber, type WireRecord } from "../protocols/Wire.ts"

/** The key, the address and the dialect of Gemini's API. */
export interface GeminiSettings extends TransportSettings, Partial<GeminiProtocol.GeminiDialect> {
  /** The name under which the provider is registered. Default: `gemini`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  /** The address including the version. Default: `https://generativelanguage.googleapis.com/v1beta`. */
  readonly baseUrl?: string
  readonly headers?: { readonly [name: string]: string }
  /** Limits, prices and capabilities, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** Default: `modelFamilies`. The table `models` takes precedence. */
  readonly families?: ModelFamilies
  /** The limits of one request for embeddings. */
  readonly limits?: Partial<EmbeddingLimits>
}

const thinkingStyle: GeminiProtocol.GeminiDialect["thinkingStyle"] = "level"

/** Google's Gemini as a provider of models. */
export const provider = (settings: GeminiSettings = {}): Provider => {
  const full = {
    thinkingStyle,
    id: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    headers: {},
    models: {},
    families: modelFamilies,
    ...settings
  }
  checkedUrl(full.baseUrl)
  const describe = (model: string) => ({ ...findFamily(model, full.families), ...lookUp(full.models, model) })
  return {
    id: full.id,
    chat: GeminiProtocol.driver(full),
    nextToken: GeminiNextToken.driver(full),
    wire: (request) => GeminiProtocol.lower(request, full),
    embedding: GeminiEmbeddings.driver({
      ...full,
      ownDimensions: (model) => describe(model).embeddingDimensions
    }),
    defaultEmbedding: { model: "gemini-embedding-001", dimensions: 3072 },
    image: GeminiImages.model({ ...full, predicting: /^(models\/)?imagen/ }),
    describe,
    listModels: listPagedModels(
      {
        id: full.id,
        url: (cursor) => {
          const after = cursor === undefined ? "" : `&pageToken=${encodeURIComponent(cursor)}`
          return `${full.baseUrl}/models?pageSize=1000${after}`
        },
        headers: full.headers,
        secrets: GeminiProtocol.callSecrets(full.apiKey),
        errors: errorDialect,
        entries: (page) => list(page.models),
        cursor: (page) => text(page.nextPageToken),
        read: readModel,
        families: full.families,
        models: full.models
      },
      full
    )
  }
}

const budget = (...efforts: ReadonlyArray<string>): Partial<ModelInfo> => ({
  thinkingControls: { efforts, budget: true, style: "budget" }
})

/** Chat models that also make images. The vendor's list does not say so, but their names do. */
const imageModels = /^gemini-.*-image|^nano-banana/

/** The options of an image model, in the form of the catalogue. Only options that the protocol supports are listed. */
const imageOptions = (parameters: Schema.JsonObject): Partial<ModelInfo> => ({
  supportsVision: true,
  details: { supported_parameters: Object.assign({ seed: { type: "integer" } }, parameters) }
})

const enumOption = (...values: ReadonlyArray<string>): Schema.JsonObject => ({ type: "enum", values })

const aspectRatios = enumOption("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")

/** For newer models any text is accepted, because the vendor still adds values. */
const anyText: Schema.JsonObject = { type: "string" }

const imagen: Partial<ModelInfo> = {
  supportsVision: false,
  details: {
    supported_parameters: {
      n: { type: "range", min: 1, max: 4 },
      aspect_ratio: enumOption("1:1", "3:4", "4:3", "9:16", "16:9"),
      resolution: anyText,
      output_format: enumOption("png", "jpeg")
    }
  }
}

/** The older models, which have a thinking budget in place of levels; thinking cannot be turned off for the largest of them. */
export const modelFamilies: ModelFamilies = [
  [/^gemini-embedding/, { embeddingDimensions: 3072 }],
  [/^imagen/, imagen],
  [/^gemini-2\.0-.*-image/, { ...imageOptions({}), supportsThinking: false }],
  [/^gemini-2\.5-.*-image/, { ...imageOptions({ aspect_ratio: aspectRatios }), supportsThinking: false }],
  [imageModels, imageOptions({ aspect_ratio: anyText, resolution: anyText })],
  [/^gemini-(1|2\.0)|-tts/, { supportsThinking: false }],
  [/^gemini-2\.5-pro/, budget("low", "medium", "high", "max")],
  [/^gemini-2\.5/, budget("none", "low", "medium", "high", "max")],
  // Older models refuse the vendor's own search together with functions.
  [/^gemini-3(?!.*-(image|tts|live))/, { details: { web_search: true } }]
]

const readModel = (entry: WireRecord): ReadonlyArray<KnownModel> => {
  const name = text(entry.name)?.replace(/^models\//, "")
  const methods = list(entry.supportedGenerationMethods)
  const modelType = kinds.find(([method]) => methods.includes(method))?.[1]
  if (name === undefined || modelType === undefined) return []
  const known = describe(name, modelType, entry)
  return modelType === "llm" && imageModels.test(name) ? [known, { ...known, modelType: "image" }] : [known]
}

const describe = (name: string, modelType: ModelType, entry: WireRecord): KnownModel => ({
  name,
  modelType,
  displayName: text(entry.displayName) ?? null,
  contextLimit: wholeNumber(entry.inputTokenLimit),
  maxOutputTokens: wholeNumber(entry.outputTokenLimit),
  supportsThinking: typeof entry.thinking === "boolean" ? entry.thinking : null
})

/** The first matching method counts. */
const kinds: ReadonlyArray<readonly [method: string, kind: ModelType]> = [
  ["generateContent", "llm"],
  ["embedContent", "embedding"],
  ["bidiGenerateContent", "realtime"],
  ["predict", "image"],
  ["predictLongRunning", "video"]
]
