/**
 * The events of a chat model, common to all vendors. Plain objects, because one is made for each streamed delta.
 *
 * Contract of a driver on order:
 * - The deltas of text and of reasoning MUST be what the model said, in its order; none for reasoning that the request excludes.
 * - `ToolCallStart` MUST come before its deltas, and `ToolCallReady` once for each call with the whole argument text (`{}` if it was empty).
 * - A call may have no deltas, and an id that the driver has made.
 * - The name in `ToolCallStart` MUST be that of the call.
 * - `Usage` may come more than once; the last one MUST cover the whole step.
 * - `Finished` MUST name the model that answered, if the provider tells it.
 * - `Finished` MUST come once, last, and only if the provider really finished; a stream that ends without it was cut off.
 */
import type * as Schema from "effect/Schema"
import type { Usage } from "../primitives/Usage.ts"
import type { ToolCall } from "../tools/ToolCall.ts"

/** `continue`: the provider paused, and wants the conversation again with this answer appended. */
export type FinishReason = "stop" | "tool_calls" | "length" | "filtered" | "continue"

export type ChatEvent =
  /** The provider is working and has no output yet. The event only prevents a timeout. */
  | { readonly _tag: "KeepAlive" }
  | { readonly _tag: "TextDelta"; readonly text: string }
  | { readonly _tag: "ReasoningDelta"; readonly text: string }
  | { readonly _tag: "ToolCallStart"; readonly id: string; readonly name: string }
  | { readonly _tag: "ToolCallDelta"; readonly id: string; readonly arguments: string }
  | { readonly _tag: "ToolCallReady"; readonly call: ToolCall }
  | { readonly _tag: "Media"; readonly mediaType: string; readonly bytes: Uint8Array }
  | { readonly _tag: "Source"; readonly url: string; readonly title: string | null }
  | { readonly _tag: "Usage"; readonly usage: Usage }
  | {
      readonly _tag: "Finished"
      readonly reason: FinishReason
      /** The model that answered, if an alias or a router was requested. */
      readonly model: string | null
      /** Opaque data that is stored and sent back with this answer; null when the provider needs none. */
      readonly providerData: Schema.Json | null
    }
