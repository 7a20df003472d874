/**
 * The request to a chat driver: one conversation, one model step. It contains nothing of a single vendor. The order is the order on the
 * wire: system prompt and tools first, then the messages, oldest first, so that the beginning stays byte-equal from turn to turn.
 */
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"
import type { ModelInfo } from "./ModelInfo.ts"
import type { Sampling, ToolChoice } from "./ModelOptions.ts"

/** How the model should reason. Only options that the model supports apply; `{}` requests the provider's defaults. */
export const Thinking = Schema.Struct({
  effort: Schema.optionalKey(Schema.Literals(["low", "medium", "high", "max"])),
  budgetTokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  maxTokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  excludeReasoning: Schema.optionalKey(Schema.Boolean)
})
export type Thinking = typeof Thinking.Type

const Price = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

/** Which upstream a routing provider should use. Every other provider ignores it. */
export const Routing = Schema.Struct({
  providers: Schema.optionalKey(Schema.Array(Schema.String)),
  allowFallbacks: Schema.optionalKey(Schema.Boolean),
  sort: Schema.optionalKey(Schema.Literals(["price", "throughput", "latency"])),
  ignore: Schema.optionalKey(Schema.Array(Schema.String)),
  /** US dollars per million tokens. */
  maxPrice: Schema.optionalKey(
    Schema.Struct({ prompt: Schema.optionalKey(Price), completion: Schema.optionalKey(Price) })
  ),
  allowedModels: Schema.optionalKey(Schema.Array(Schema.String)),
  excludedModels: Schema.optionalKey(Schema.Array(Schema.String)),
  costTier: Schema.optionalKey(Schema.Literals(["low", "medium", "high", "xhigh", "max"]))
})
export type Routing = typeof Routing.Type

/** A part of a user's message. `bytes` are sent inline; a `url` is fetched by the provider. */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image" | "audio" | "video" | "file"
      readonly mediaType: string
      readonly filename: string | null
      readonly source: { readonly bytes: Uint8Array } | { readonly url: string }
    }

/**
 * Data that a provider needs back, unchanged, when its own answer is sent again (thinking signatures, reasoning items). Only the provider
 * named here may read it; every other provider uses only the neutral fields of the message.
 */
export const ProviderData = Schema.Struct({ provider: Schema.String, data: Schema.Json })
export type ProviderData = typeof ProviderData.Type

/** One message of a prompt: of the user, of the assistant, or results of tools. */
export type ChatMessage =
  | { readonly role: "user"; readonly content: ReadonlyArray<ContentPart> }
  | {
      readonly role: "assistant"
      readonly content: string
      readonly toolCalls: ReadonlyArray<ToolCall>
      readonly providerData: ProviderData | null
    }
  /** The answer to one call of the assistant message before it. Every call has an answer, in the order of the calls. */
  | { readonly role: "tool"; readonly toolCallId: string; readonly toolName: string; readonly output: string }

/** The form of an answer that is one JSON value. */
export interface OutputForm {
  /** 1 to 64 characters of A-Z, a-z, 0-9, `_` and `-`. */
  readonly name: string
  /** The JSON Schema of an object. */
  readonly schema: Schema.JsonObject
}

/** A tool that a vendor runs itself, on request. */
export type OwnTool = "web_search"

export interface ChatRequest {
  /** The name under which the host registered the provider. The driver puts it into its errors and its `ProviderData`. */
  readonly provider: string
  readonly model: string
  /** Capabilities of the model. A driver decides by them and never by the name. */
  readonly info: ModelInfo
  readonly system: string | null
  readonly tools: ReadonlyArray<ToolDefinition>
  /** Tools that the vendor runs on its own side. A driver leaves out those that its wire does not have. */
  readonly ownTools?: ReadonlyArray<OwnTool>
  /**
   * `none`: the tools stay declared (the history may contain calls), but the model must answer in words. `required`, or the name of a tool:
   * the model must call one. A driver whose vendor cannot be told so sends `auto`.
   */
  readonly toolChoice: ToolChoice
  readonly messages: ReadonlyArray<ChatMessage>
  /** Null: the model's own default. */
  readonly thinking: Thinking | null
  readonly routing: Routing | null
  /** The answer should be one JSON object. */
  readonly jsonOutput: boolean
  /**
   * The answer must be JSON of this schema. A driver whose wire can enforce the schema, or a wider one, must ask for it; every other driver
   * must leave its request as it is without the form.
   */
  readonly output?: OutputForm
  readonly maxOutputTokens: number | null
  /** How the model writes; absent: its own defaults. A driver leaves out what the vendor does not take for this model. */
  readonly sampling?: Omit<Sampling, "maxOutputTokens">
  /** The customer's own key for this provider. It overrides the driver's key. */
  readonly apiKey: Redacted.Redacted<string> | null
  /** Stable for a conversation: a cache key for providers that use one. */
  readonly conversationId: string
}
