/**
 * A stored message. The order of a thread is `sequence`, an integer without gaps that the store gives; timestamps order nothing.
 *
 * An assistant message is one leg of a run: everything the model said until it was done or needed the client. `content` is that text.
 * Where the leg took several model steps (hosted tools), or the provider wants data back, `steps` keeps each step as it was, so that a
 * history can be given to any provider, call and result together.
 */
import * as Schema from "effect/Schema"
import { ProviderData } from "../models/ChatRequest.ts"
import { MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import { Usage } from "../primitives/Usage.ts"
import { ToolCall, ToolResult } from "../tools/ToolCall.ts"
import { Metadata } from "./Thread.ts"

export const MessageStatus = Schema.Literals(["IN_PROGRESS", "REQUIRES_ACTION", "COMPLETED", "FAILED", "CANCELLED"])
export type MessageStatus = typeof MessageStatus.Type

/** One answer of the model: its text, the calls that it made, and the results of those that the kernel ran. */
export const Step = Schema.Struct({
  text: Schema.String,
  toolCalls: Schema.Array(ToolCall),
  hostedResults: Schema.Array(ToolResult),
  providerData: Schema.NullOr(ProviderData)
})
export type Step = typeof Step.Type

/** Each part of a turn reads and writes the entry of its own name, and no other. */
export const Supplements = Schema.JsonObject
export type Supplements = typeof Supplements.Type

/** A message before the store has given it its place. */
export const NewMessage = Schema.Struct({
  id: MessageId,
  threadId: ThreadId,
  runId: Schema.NullOr(RunId),
  role: Schema.Literals(["user", "assistant"]),
  content: Schema.NullOr(Schema.String),
  status: MessageStatus,
  /** Calls that the client runs. Those that the kernel ran stand in `steps`. */
  toolCalls: Schema.Array(ToolCall),
  /** What the client submitted for `toolCalls`. */
  toolResults: Schema.Array(ToolResult),
  steps: Schema.Array(Step),
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  usage: Schema.NullOr(Usage),
  metadata: Schema.NullOr(Metadata),
  /** What the parts of a turn found or made for this message, by the name of the part; null when there is nothing. */
  supplements: Schema.NullOr(Supplements),
  /** Size in a prompt, by the host's token counter at the time of writing. */
  tokens: Schema.Int,
  createdAt: Schema.Date
})
export type NewMessage = typeof NewMessage.Type

export const Message = Schema.Struct({ ...NewMessage.fields, sequence: Schema.Int })
export type Message = typeof Message.Type

/**
 * The newest part of a thread, oldest message first: everything that belongs to one run, and as much of what came before as a number
 * of tokens allows. `older` tells what was left in the store.
 */
export interface History {
  readonly messages: ReadonlyArray<Message>
  readonly older: { readonly messages: number; readonly tokens: number }
}
