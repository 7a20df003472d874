/**
 * What a caller asks of one turn. Everything but the content is optional, applies to this turn alone and is never saved to the assistant.
 * Specification part 4, "Message body". An absent field falls back to the assistant, then to the host's defaults.
 */
import type * as Schema from "effect/Schema"
import type { Routing, Thinking } from "../models/ChatRequest.ts"
import type { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { IdempotencyKey } from "../runs/RunStore.ts"
import type { Metadata } from "../threads/Thread.ts"
import type { ToolOutput } from "../tools/ToolCall.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"

/** What happens to a message while its thread is busy. */
export type BusyPolicy = "enqueue" | "reject" | "interrupt"

export interface TurnRequest {
  readonly content: string
  /** Absent: a new thread is made, under `assistantId`, or under a fresh assistant. Given: `assistantId` is not looked at. */
  readonly threadId?: ThreadId
  readonly assistantId?: AssistantId
  readonly systemPrompt?: string
  /** What stands in for a missing `systemPrompt`: the assistant's own, or (stateless endpoint) its description. */
  readonly systemFallback?: "systemPrompt" | "description"
  readonly provider?: string
  readonly model?: string
  /** Replaces the assistant's list; an empty one takes all client tools away. */
  readonly tools?: ReadonlyArray<ToolDefinition>
  readonly thinking?: Thinking
  readonly routing?: Routing
  readonly jsonOutput?: boolean
  /** False: the message is saved, no model is called, nothing is charged. */
  readonly sendToModel?: boolean
  /** Whether the caller reads the events as they come; a turn without a reader writes its log in larger pieces. */
  readonly stream?: boolean
  readonly metadata?: Metadata
  /** Kept under the message's metadata; orders nothing. */
  readonly customTimestamp?: string
  /** What the caller asks of parts of the turn, by their names (documents, memory, voice, …). A name that the kernel lacks is refused. */
  readonly options?: Schema.JsonObject
  readonly busy?: BusyPolicy
  readonly idempotency?: IdempotencyKey
}

/** The outputs for all open calls of a run, to go on with it. */
export interface ToolOutputsRequest {
  readonly threadId: ThreadId
  /** Absent: the thread's run that waits for outputs. */
  readonly runId?: RunId
  readonly outputs: ReadonlyArray<ToolOutput>
  /** Absent: those of the run. */
  readonly tools?: ReadonlyArray<ToolDefinition>
  readonly thinking?: Thinking
  readonly stream?: boolean
  readonly idempotency?: IdempotencyKey
}
