/**
 * A stored message. Messages of a thread are ordered by `sequence`, an integer without gaps that the store assigns; timestamps do not order
 * them.
 *
 * An assistant message is one leg of a run: everything that the model wrote until it was done or needed the client. `content` is that text.
 * If the leg had several model steps (hosted tools), or if the provider needs data back, `steps` keeps each step as it was, so that any
 * provider can be given the history with every call beside its result.
 */
import * as Schema from "effect/Schema"
import { ProviderData } from "../models/ChatRequest.ts"
import { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import { Usage } from "../primitives/Usage.ts"
import { OpenCall, ToolCall, ToolResult } from "../tools/ToolCall.ts"
import { Metadata } from "./Thread.ts"

/** How far an answer is. */
export const MessageStatus = Schema.Literals(["IN_PROGRESS", "REQUIRES_ACTION", "COMPLETED", "FAILED", "CANCELLED"])
export type MessageStatus = typeof MessageStatus.Type

/** One answer of the model: its text, its calls, and the results of those calls that the kernel ran. */
export const Step = Schema.Struct({
  text: Schema.String,
  toolCalls: Schema.Array(ToolCall),
  hostedResults: Schema.Array(ToolResult),
  providerData: Schema.NullOr(ProviderData)
})
export type Step = typeof Step.Type

/** Why a run failed, as the client gets it. */
export const RunFault = Schema.Struct({
  code: Schema.String,
  message: Schema.String,
  retryable: Schema.Boolean,
  /** What a program can do something with, such as the problems of an output. */
  detail: Schema.optionalKey(Schema.Json)
})
export type RunFault = typeof RunFault.Type

/**
 * Why an answer ended: the model was done or wrote a stop text (`stop`), its output was cut (`length`) or withheld (`filtered`), it used
 * all permitted model calls (`steps`), or it waits for the client (`tools`). Null: it failed, was cancelled, or is no answer of a model.
 */
export const StopReason = Schema.Literals(["stop", "length", "filtered", "steps", "tools"])
export type StopReason = typeof StopReason.Type

/** The assistant that answered, with the version that it had. */
export const AnsweringAssistant = Schema.Struct({ id: AssistantId, version: Schema.Int })
export type AnsweringAssistant = typeof AnsweringAssistant.Type

/** Each part of a turn reads and writes only the entry of its own name. */
export const Supplements = Schema.JsonObject
export type Supplements = typeof Supplements.Type

/** A message before the store has assigned its sequence. */
export const NewMessage = Schema.Struct({
  id: MessageId,
  threadId: ThreadId,
  runId: Schema.NullOr(RunId),
  role: Schema.Literals(["user", "assistant"]),
  /** Of a failed or cancelled answer: what was said until then. */
  content: Schema.NullOr(Schema.String),
  status: MessageStatus,
  /** Why the answer failed; null if it did not. */
  fault: Schema.NullOr(RunFault),
  stopReason: Schema.NullOr(StopReason),
  /** Calls that the client runs or a person decides about. Calls that the kernel ran at once are in `steps`. */
  toolCalls: Schema.Array(OpenCall),
  /** The answers to `toolCalls`: outputs of the client, rejections, and the outputs of approved calls. */
  toolResults: Schema.Array(ToolResult),
  steps: Schema.Array(Step),
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  /** Null: the user's message, an answer in progress, one of a voice session, or one from before versions were kept. */
  assistant: Schema.NullOr(AnsweringAssistant),
  usage: Schema.NullOr(Usage),
  metadata: Schema.NullOr(Metadata),
  /** Data that the parts of a turn found or made for this message, by the names of the parts; null if there is none. */
  supplements: Schema.NullOr(Supplements),
  /** True: it was said elsewhere, and came with an imported thread. */
  imported: Schema.optionalKey(Schema.Literal(true)),
  /** Size in a prompt, by the host's token counter at the time of writing. */
  tokens: Schema.Int,
  createdAt: Schema.Date
})
export type NewMessage = typeof NewMessage.Type

export const Message = Schema.Struct({ ...NewMessage.fields, sequence: Schema.Int })
export type Message = typeof Message.Type

/**
 * The newest part of a thread, oldest message first: all messages of one run, and as many earlier ones as a number of tokens permits.
 * `older` counts what was left in the store.
 */
export interface History {
  readonly messages: ReadonlyArray<Message>
  readonly older: { readonly messages: number; readonly tokens: number }
}
