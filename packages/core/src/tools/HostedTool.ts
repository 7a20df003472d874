/**
 * Tools that run inside the kernel's loop instead of at the client: a definition with an Effect handler. The host registers his own
 * through `HostedTools`; a handler that fails, hangs or gets malformed arguments becomes a result text for the model, never a failed run.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { ToolDefinition } from "./ToolDefinition.ts"

/** Where a hosted call comes from. */
export interface HostedCall {
  readonly toolCallId: string
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
}

/** What a hosted tool may know of a turn when it decides whether to be offered in it. */
export interface OfferedIn {
  readonly assistantId: AssistantId
  readonly metadata: Schema.JsonObject | null
  /** The client wants a JSON object, which it gets only where no tool is offered. */
  readonly jsonOutput: boolean
}

/** The text goes to the model: say what happened and what it may do instead. */
export class HostedToolFailed extends Schema.TaggedError<HostedToolFailed>()("HostedToolFailed", {
  message: Schema.String
}) {}

export interface HostedTool {
  readonly definition: ToolDefinition
  /** Gets the parsed arguments. Its answer goes to the model: text as it is, anything else as JSON. */
  readonly run: (args: Schema.JsonObject, call: HostedCall) => Effect.Effect<Schema.Json, HostedToolFailed, Principal>
  /** Absent: offered in every turn. */
  readonly offered?: (turn: OfferedIn) => boolean
  /** Absent: the kernel's `hostedToolTimeout`. */
  readonly timeout?: Duration.Input
}

export const HostedTools = Context.Reference<ReadonlyArray<HostedTool>>("@colloquy/core/tools/HostedTools", {
  defaultValue: () => []
})
