/**
 * How the servers that speak OpenAI's chat dialect differ, as data: the fields that they take, what they call them, what they want back.
 * Presets for known servers stand in `providers/OpenAiCompatible`; `OpenAiChat` reads nothing but this.
 */
import type { ChatRequest } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import { effortWord } from "./Lowering.ts"

/** What a server takes. `plainDialect` is what nearly all of them take. */
export interface ChatDialect {
  readonly maxTokensField: "max_completion_tokens" | "max_tokens"
  /** Asks for the usage in a last chunk. Some old servers refuse the field. */
  readonly asksForUsage: boolean
  /** Takes `response_format: json_object`; where it does not, the prompt alone asks for JSON. */
  readonly jsonMode: boolean
  /** The field that takes a word which is stable for a conversation, as a key for the prompt cache. */
  readonly conversationField: "prompt_cache_key" | "session_id" | null
  /** Parts of a message that the wire has a place for. Whether the model takes them is a question for its `ModelInfo`. */
  readonly parts: ReadonlyArray<"image" | "pdf" | "audio" | "video">
  /** Words for `input_audio.format`. */
  readonly audioFormats: ReadonlyArray<string>
  /** Takes the address of a PDF in place of its bytes. */
  readonly fileUrls: boolean
  /** Fields of an answer that the server wants back when the answer is sent again. */
  readonly replayed: ReadonlyArray<"reasoning_content" | "reasoning" | "reasoning_details">
  /** The model writes its reasoning into the text, between `<think>` tags. */
  readonly thinkTags: boolean
  /** Body fields for `thinking`. */
  readonly thinking: (request: ChatRequest) => WireFields
  /** Body fields that only this server has. */
  readonly extra: (request: ChatRequest) => WireFields
  readonly requestIdHeader: string
}

export type WireFields = { readonly [field: string]: Schema.Json }

/** `reasoning_effort`; nothing when the model has no such control. */
export const reasoningEffort = (request: ChatRequest): WireFields => {
  const word = effortWord(request, { max: "high" })
  return word === undefined ? {} : { reasoning_effort: word }
}

export const plainDialect: ChatDialect = {
  maxTokensField: "max_tokens",
  asksForUsage: true,
  jsonMode: true,
  conversationField: null,
  parts: ["image"],
  audioFormats: ["wav", "mp3"],
  fileUrls: false,
  replayed: [],
  thinkTags: false,
  thinking: reasoningEffort,
  extra: () => ({}),
  requestIdHeader: "x-request-id"
}
