/**
 * The differences between servers that speak OpenAI's chat protocol, as data: which fields they accept, how the fields are named, and which
 * fields of an answer they want back. The presets of known servers are in `providers/OpenAiCompatible`; `OpenAiChat` uses the data.
 */
import type { ChatRequest } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import { effortWord } from "./Lowering.ts"

/** The fields that a server accepts. Nearly all servers accept `plainDialect`. */
export interface ChatDialect {
  readonly maxTokensField: "max_completion_tokens" | "max_tokens"
  /** Whether to request the usage in a last chunk. Some old servers refuse that field. */
  readonly asksForUsage: boolean
  /** Whether the server accepts `response_format: json_object`. Otherwise only the prompt asks for JSON. */
  readonly jsonMode: boolean
  /** Whether the server accepts `response_format: json_schema`. `listed`: only for models of which its list says so. */
  readonly jsonSchema: boolean | "listed"
  /** The field for an id of the conversation, which servers use as a key of the prompt cache. */
  readonly conversationField: "prompt_cache_key" | "session_id" | null
  /** The kinds of parts that the server's protocol supports. The model's `ModelInfo` says whether the model supports them too. */
  readonly parts: ReadonlyArray<"image" | "pdf" | "audio" | "video">
  /** The accepted values of `input_audio.format`. */
  readonly audioFormats: ReadonlyArray<string>
  /** Whether the server accepts the URL of a PDF in place of its bytes. */
  readonly fileUrls: boolean
  /** The fields of an answer that must be sent back with the answer in later requests. */
  readonly replayed: ReadonlyArray<"reasoning_content" | "reasoning" | "reasoning_details">
  /** Whether the model writes its reasoning into the text, between `<think>` tags. */
  readonly thinkTags: boolean
  /** Which settings of an answer the server accepts. */
  readonly sampling: SamplingRules
  /** The body fields for `thinking`. */
  readonly thinking: (request: ChatRequest) => WireFields
  /** Body fields that only this server accepts. */
  readonly extra: (request: ChatRequest) => WireFields
  readonly requestIdHeader: string
}

export interface SamplingRules {
  /** The largest number of stop texts. */
  readonly mostStops: number
  readonly seed: boolean
  /** Whether a request may force a call of a tool. */
  readonly forcedTools: boolean
  readonly parallelTools: boolean
  /** The settings that the server refuses or ignores for models that reason. */
  readonly notWhenReasoning: ReadonlyArray<"temperature" | "top_p" | "stop">
}

/** The settings that a server accepts. A request with too many stop texts is sent without any, because only some of them would mislead. */
export const lowerSampling = (request: ChatRequest, rules: SamplingRules): WireFields => {
  const { parallelToolCalls, seed, stop, temperature, topP } = request.sampling ?? {}
  const takes = (field: SamplingRules["notWhenReasoning"][number]) =>
    request.info.supportsThinking !== true || !rules.notWhenReasoning.includes(field)
  return {
    ...(temperature !== undefined && takes("temperature") ? { temperature } : {}),
    ...(topP !== undefined && takes("top_p") ? { top_p: topP } : {}),
    ...(stop !== undefined && stop.length <= rules.mostStops && takes("stop") ? { stop } : {}),
    ...(seed !== undefined && rules.seed ? { seed } : {}),
    ...(parallelToolCalls !== undefined && rules.parallelTools && request.tools.length > 0
      ? { parallel_tool_calls: parallelToolCalls }
      : {})
  }
}

export type WireFields = { readonly [field: string]: Schema.Json }

/** The field `reasoning_effort`; no field when the model has no such control. */
export const reasoningEffort = (request: ChatRequest): WireFields => {
  const word = effortWord(request, { max: "high" })
  return word === undefined ? {} : { reasoning_effort: word }
}

export const plainDialect: ChatDialect = {
  maxTokensField: "max_tokens",
  asksForUsage: true,
  jsonMode: true,
  jsonSchema: false,
  conversationField: null,
  parts: ["image"],
  audioFormats: ["wav", "mp3"],
  fileUrls: false,
  replayed: [],
  thinkTags: false,
  sampling: { mostStops: 8, seed: true, forcedTools: true, parallelTools: true, notWhenReasoning: [] },
  thinking: reasoningEffort,
  extra: () => ({}),
  requestIdHeader: "x-request-id"
}
