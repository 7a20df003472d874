/**
 * Any server with OpenAI's chat protocol, described by a base URL, headers and its deviations (`quirks`). The presets below are plain data; a host
 * registers one with `OpenAiCompatible.provider({ ...OpenAiCompatible.groq, apiKey })` and may replace any field.
 */
import type { ModelInfo, Provider } from "@colloquy/core"
import type { ChatRequest } from "@colloquy/core/adapters"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import * as OpenAiChat from "../protocols/OpenAiChat.ts"
import { type ChatDialect, plainDialect, reasoningEffort, type WireFields } from "../protocols/OpenAiDialect.ts"
import * as OpenAiEmbeddings from "../protocols/OpenAiEmbeddings.ts"
import * as OpenAiNextToken from "../protocols/OpenAiNextToken.ts"
import { listModels } from "../protocols/OpenAiModels.ts"
import * as OpenAiSpeech from "../protocols/OpenAiSpeech.ts"
import type { TransportSettings } from "../protocols/Transport.ts"
import { lookUp } from "../protocols/Wire.ts"
import * as XaiSpeech from "../protocols/XaiSpeech.ts"

/** The address of a service with Chat Completions, and its differences from OpenAI. */
export interface OpenAiCompatibleSettings extends TransportSettings {
  /** The name under which the provider is registered. */
  readonly id: string
  /** The address including the version, for example `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string
  /** Omitted for a server that needs no key. */
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
  /** Where this server differs from `plainDialect`. */
  readonly quirks?: Partial<ChatDialect>
  /** Where its embeddings differ from `plainEmbeddings`; false for a server without embeddings. */
  readonly embeddings?: Partial<OpenAiEmbeddings.EmbeddingDialect> | false
  /** The server's models for transcription and speech; omitted for a server that has neither. */
  readonly speech?: OpenAiSpeech.SpeechDialect | "xai"
  /** Limits, prices and capabilities, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
}

/** Makes a provider of such a service. */
export const provider = (settings: OpenAiCompatibleSettings): Provider => {
  checkedUrl(settings.baseUrl)
  const describe = (model: string) => lookUp(settings.models ?? {}, model)
  const chat = { ...plainDialect, ...settings.quirks }
  const dialect = settings.embeddings !== false && { ...OpenAiEmbeddings.plainEmbeddings, ...settings.embeddings }
  const ownDimensions = (model: string) => describe(model)?.embeddingDimensions
  return {
    id: settings.id,
    nextToken: OpenAiNextToken.driver({ ...settings, dialect: chat }),
    chat: OpenAiChat.driver({ ...settings, dialect: chat }),
    wire: (request) => OpenAiChat.lower(request, chat),
    ...(dialect === false ? {} : { embedding: OpenAiEmbeddings.driver({ ...settings, dialect, ownDimensions }) }),
    ...voiceDrivers(settings),
    describe,
    listModels: listModels(settings)
  }
}

const voiceDrivers = (settings: OpenAiCompatibleSettings): Pick<Provider, "speechToText" | "textToSpeech"> => {
  const { speech } = settings
  if (speech === undefined) return {}
  if (speech === "xai") return { speechToText: XaiSpeech.transcription(settings) }
  return {
    ...(speech.transcription === null
      ? {}
      : { speechToText: OpenAiSpeech.transcription(settings, speech.transcription) }),
    ...(speech.synthesis === null ? {} : { textToSpeech: OpenAiSpeech.synthesis(settings, speech.synthesis) })
  }
}

type Preset = Pick<OpenAiCompatibleSettings, "id" | "baseUrl" | "quirks" | "embeddings" | "speech">

/** `parsed` puts the reasoning into its own field, `hidden` leaves it out. Only reasoning models accept this parameter. */
const groqThinking = (request: ChatRequest): WireFields =>
  request.thinking === null || request.info.supportsThinking === false
    ? {}
    : {
        ...reasoningEffort(request),
        reasoning_format: request.thinking.excludeReasoning === true ? "hidden" : "parsed"
      }

/** Groq, with its address and its differences. */
export const groq: Preset = {
  id: "groq",
  baseUrl: "https://api.groq.com/openai/v1",
  quirks: {
    maxTokensField: "max_completion_tokens",
    thinking: groqThinking,
    thinkTags: true,
    sampling: { ...plainDialect.sampling, mostStops: 4 }
  },
  embeddings: false
}

/** DeepSeek, with its address and its differences. */
export const deepSeek: Preset = {
  id: "deepseek",
  baseUrl: "https://api.deepseek.com",
  quirks: {
    parts: [],
    replayed: ["reasoning_content"],
    sampling: {
      ...plainDialect.sampling,
      seed: false,
      parallelTools: false,
      notWhenReasoning: ["temperature", "top_p"]
    }
  },
  embeddings: false
}

/** Together, with its address and its differences. */
export const together: Preset = {
  id: "together",
  baseUrl: "https://api.together.xyz/v1",
  quirks: { jsonSchema: true, thinkTags: true }
}

/** xAI, with its address and its differences. */
export const xAi: Preset = {
  id: "xai",
  baseUrl: "https://api.x.ai/v1",
  quirks: {
    maxTokensField: "max_completion_tokens",
    jsonSchema: true,
    sampling: { ...plainDialect.sampling, mostStops: 4, notWhenReasoning: ["stop"] }
  },
  embeddings: false,
  speech: "xai"
}

/** A vLLM server, which the host runs. */
export const vLlm: Preset = {
  id: "vllm",
  baseUrl: "http://127.0.0.1:8000/v1",
  quirks: { jsonSchema: true, parts: ["image", "audio", "video"], thinkTags: true }
}

/** The server ignores a choice of tools. */
export const ollama: Preset = {
  id: "ollama",
  baseUrl: "http://127.0.0.1:11434/v1",
  quirks: {
    jsonSchema: true,
    thinkTags: true,
    sampling: { ...plainDialect.sampling, forcedTools: false, parallelTools: false }
  }
}

/** For models that LM Studio serves at `http://127.0.0.1:1234/v1`: `provider({ ...lmStudio })`. It needs no key. */
export const lmStudio: Preset = {
  id: "lmstudio",
  baseUrl: "http://127.0.0.1:1234/v1",
  quirks: { jsonMode: false, jsonSchema: true, thinkTags: true }
}
