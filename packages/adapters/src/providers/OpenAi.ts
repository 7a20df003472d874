/**
 * OpenAI. A host registers it with `OpenAi.provider({ apiKey })`. Conversations use the Responses API (`protocols/OpenAiResponses`), in which
 * reasoning is visible and continues after a tool call. `wire: "chat"` selects Chat Completions (`protocols/OpenAiChat`), for a proxy that
 * supports nothing else. The vendor's list of models contains only names, so everything else about models comes from the settings.
 */
import type { ModelInfo, Provider } from "@colloquy/core"
import type { ModelType } from "@colloquy/core/adapters"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import { findFamily, type ModelFamilies } from "../protocols/ModelFamilies.ts"
import * as OpenAiChat from "../protocols/OpenAiChat.ts"
import type { EmbeddingLimits } from "../protocols/Embeddings.ts"
import { type ChatDialect, plainDialect } from "../protocols/OpenAiDialect.ts"
import * as OpenAiEmbeddings from "../protocols/OpenAiEmbeddings.ts"
import * as OpenAiImages from "../protocols/OpenAiImages.ts"
import { listModels } from "../protocols/OpenAiModels.ts"
import * as OpenAiNextToken from "../protocols/OpenAiNextToken.ts"
import * as OpenAiResponses from "../protocols/OpenAiResponses.ts"
import * as OpenAiSpeech from "../protocols/OpenAiSpeech.ts"
import type { TransportSettings } from "../protocols/Transport.ts"
import { lookUp, string } from "../protocols/Wire.ts"

/** The key, the address and the wire of OpenAI's API. */
export interface OpenAiSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `openai`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  readonly baseUrl?: string
  /** Default: `responses`. */
  readonly wire?: "responses" | "chat"
  readonly organization?: string
  readonly project?: string
  readonly headers?: { readonly [name: string]: string }
  /** Limits, prices and capabilities, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** The type of each model in the vendor's list, by name: the first matching pattern counts; null leaves the model out. */
  readonly kinds?: ReadonlyArray<readonly [pattern: RegExp, kind: ModelType | null]>
  /** The limits of one request for embeddings. */
  readonly limits?: Partial<EmbeddingLimits>
  /** The default models for transcription and speech, and their properties. Default: `openAiSpeech`. */
  readonly speech?: OpenAiSpeech.SpeechDialect
  /** Default: `modelFamilies`. The table `models` takes precedence. */
  readonly families?: ModelFamilies
}

/** OpenAI as a provider of models. */
export const provider = (settings: OpenAiSettings = {}): Provider => {
  const { organization, project, wire, kinds = modelKinds, families = modelFamilies, ...rest } = settings
  const { synthesis, transcription } = settings.speech ?? OpenAiSpeech.openAiSpeech
  const full = {
    ...rest,
    id: settings.id ?? "openai",
    baseUrl: checkedUrl(settings.baseUrl) ?? "https://api.openai.com/v1",
    headers: {
      ...settings.headers,
      ...(organization === undefined ? {} : { "openai-organization": organization }),
      ...(project === undefined ? {} : { "openai-project": project })
    }
  }
  /** Chat Completions has no web search. */
  const familyWith = (model: string) => ({
    ...findFamily(model, families),
    ...(wire !== "chat" && withSearch.test(model) ? { details: { web_search: true } } : {})
  })
  const describe = (model: string) => ({
    ...familyWith(model),
    ...lookUp(vectorLengths, model),
    ...lookUp(settings.models ?? {}, model)
  })
  return {
    id: full.id,
    chat: wire === "chat" ? OpenAiChat.driver({ ...full, dialect }) : OpenAiResponses.driver(full),
    nextToken: OpenAiNextToken.driver({ ...full, dialect }),
    wire: wire === "chat" ? (request) => OpenAiChat.lower(request, dialect) : OpenAiResponses.lower,
    embedding: OpenAiEmbeddings.driver({
      ...full,
      dialect: embeddings,
      ownDimensions: (model) => describe(model).embeddingDimensions
    }),
    ...(transcription === null ? {} : { speechToText: OpenAiSpeech.transcription(full, transcription) }),
    ...(synthesis === null ? {} : { textToSpeech: OpenAiSpeech.synthesis(full, synthesis) }),
    image: OpenAiImages.model({ ...full, returnsLinks: /^dall-e/ }),
    defaultEmbedding: { model: "text-embedding-3-large", dimensions: 3072 },
    describe,
    listModels: listModels(full, (entry) => {
      const name = string(entry.id) ?? ""
      const modelType = modelKind(name, kinds)
      return modelType === null ? null : { ...familyWith(name), modelType }
    })
  }
}

/** Models with the vendor's own web search. */
const withSearch = /^(gpt-4o|gpt-4\.1|gpt-5|o3|o4)(?!.*(audio|realtime|transcribe|tts|search|image))/

const dialect: ChatDialect = {
  ...plainDialect,
  jsonSchema: true,
  maxTokensField: "max_completion_tokens",
  conversationField: "prompt_cache_key",
  parts: ["image", "pdf", "audio"],
  sampling: { ...plainDialect.sampling, mostStops: 4, notWhenReasoning: ["temperature", "top_p", "stop"] }
}

/** The vendor limits a request to 300 000 tokens, and a token is rarely shorter than one character. */
const embeddings: OpenAiEmbeddings.EmbeddingDialect = {
  ...OpenAiEmbeddings.plainEmbeddings,
  limits: { maxTexts: 2048, maxCharacters: 250_000 },
  dimensionsField: "dimensions",
  base64: true
}

/** The embedding models' own lengths; they give no longer vectors. */
const vectorLengths: { readonly [model: string]: Partial<ModelInfo> } = {
  "text-embedding-3-large": { embeddingDimensions: 3072 },
  "text-embedding-3-small": { embeddingDimensions: 1536 },
  "text-embedding-ada-002": { embeddingDimensions: 1536 }
}

const modelKind = (name: string, kinds: NonNullable<OpenAiSettings["kinds"]>): ModelType | null => {
  const found = kinds.find(([pattern]) => pattern.test(name))
  return found === undefined ? "llm" : found[1]
}

/** The vendor's list contains models of all types without naming their type. */
export const modelKinds: NonNullable<OpenAiSettings["kinds"]> = [
  [/embedding/, "embedding"],
  [/realtime/, "realtime"],
  [/transcribe|whisper/, "stt"],
  [/tts/, "tts"],
  [/image|dall-e/, "image"],
  [/sora/, "video"],
  [/moderation|^(babbage|davinci)/, null]
]

/** The options of the image models, in the form of the catalogue. */
const imageParameters = {
  n: { type: "range", min: 1, max: 10 },
  size: { type: "enum", values: ["auto", "1024x1024", "1536x1024", "1024x1536"] },
  quality: { type: "enum", values: ["auto", "low", "medium", "high"] },
  background: { type: "enum", values: ["auto", "transparent", "opaque"] },
  output_format: { type: "enum", values: ["png", "jpeg", "webp"] },
  output_compression: { type: "range", min: 0, max: 100 }
}

/** The options of image models, the length of vectors, and the models that refuse a request with reasoning parameters. */
export const modelFamilies: ModelFamilies = [
  [/^(gpt-image|chatgpt-image)/, { supportsVision: true, details: { supported_parameters: imageParameters } }],
  [/^text-embedding-3-large/, { embeddingDimensions: 3072 }],
  [/^text-embedding/, { embeddingDimensions: 1536 }],
  [/^(gpt-3|gpt-4|chatgpt-4)|-chat-latest$|-search-(preview|api)/, { supportsThinking: false }]
]
