/**
 * What a caller asks of one turn. All fields but the content are optional, apply to this turn only and are never saved to the assistant. For
 * an absent field the assistant's value is used, then the host's default.
 */
import type * as Schema from "effect/Schema"
import type { Routing, Thinking } from "../models/ChatRequest.ts"
import type { ModelOptions } from "../models/ModelOptions.ts"
import type { AssistantId, MessageId, RunId, ScheduleId, ThreadId } from "../primitives/Ids.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import type { Metadata } from "../threads/Thread.ts"
import type { ToolOutput } from "../tools/ToolCall.ts"
import type { CallDecision } from "../tools/ToolRoundTrip.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"
import type { ChildOf } from "../tools/LiveTurn.ts"
import type { IgnoredOption } from "./IgnoredOption.ts"

/** What happens to a message while its thread is busy. */
export type BusyPolicy = "enqueue" | "reject" | "interrupt"

/**
 * The question of a message is sent again, in its place and that of all later messages. The options of the first time are those of its stored
 * plan; fields of the request replace them one by one.
 */
export interface Instead {
  /** A question, or one of its answers. */
  readonly messageId: MessageId
  /** `place`: the thread is rewound to before the question. `fork`: that happens on a new thread, and this one stays as it is. */
  readonly in: "place" | "fork"
  /** The new text; then the message must be a question. Absent: the question as it was. */
  readonly edited?: string
  /** Parts whose options of the first time do not count. */
  readonly without?: ReadonlyArray<string>
}

export interface TurnRequest {
  readonly content: string
  /** Absent: a new thread is created, for the assistant `assistantId` or for a new assistant. Given: `assistantId` is ignored. */
  readonly threadId?: ThreadId
  readonly assistantId?: AssistantId
  /** Absent: the version that the thread is pinned to, or the present one. */
  readonly assistantVersion?: number
  readonly systemPrompt?: string
  /** What replaces a missing `systemPrompt`: the assistant's own prompt, or (stateless endpoint) its description. */
  readonly systemFallback?: "systemPrompt" | "description"
  readonly provider?: string
  readonly model?: string
  /** Replaces the assistant's list of tools; an empty list removes all client tools. */
  readonly tools?: ReadonlyArray<ToolDefinition>
  readonly thinking?: Thinking
  /** They replace the assistant's one by one. */
  readonly modelOptions?: ModelOptions
  readonly routing?: Routing
  readonly jsonOutput?: boolean
  /** False: the model is not asked to mark which excerpts and memories it used, and no marker of its answer is touched. */
  readonly citations?: boolean
  /** False: the message is saved, no model is called, nothing is charged. */
  readonly sendToModel?: boolean
  /** Whether the caller reads the events while they occur. A turn without a reader writes its log in larger pieces. */
  readonly stream?: boolean
  /** True: the caller does not wait. The turn has started as soon as its message is stored, also while the thread is busy. */
  readonly background?: boolean
  readonly metadata?: Metadata
  /** Stored in the message's metadata. It does not change the order of messages. */
  readonly customTimestamp?: string
  /** Options for parts of the turn, by their names (documents, memory, voice, …). A name that the kernel lacks is refused. */
  readonly options?: Schema.JsonObject
  /** Options that the caller had and does not pass on, because they have no effect here. They are shown with those that the turn finds. */
  readonly ignored?: ReadonlyArray<IgnoredOption>
  readonly busy?: BusyPolicy
  /** The schedule that sends the message. */
  readonly scheduleId?: ScheduleId
  readonly idempotency?: IdempotencyKey
  /** With `threadId`; the request's own content is not used. */
  readonly instead?: Instead
  /** Set by a tool that begins this turn as a part of its own (`LiveTurn.beginRun`). */
  readonly child?: ChildOf
}

/** How the caller of a turn gets what comes of it. */
export type ReadMode = Pick<TurnRequest, "stream" | "background">

/**
 * Whether the caller waits while its message waits for the thread. A stream begins at once, so that its reader knows the run and can cancel it;
 * it may end with a refusal.
 */
export const awaitsBeginning = ({ background, stream }: ReadMode): boolean => stream !== true && background !== true

/** Decisions about calls that wait for an approval. The run goes on when no call is open. */
export interface DecisionsRequest extends Pick<ToolOutputsRequest, "threadId" | "stream" | "idempotency"> {
  readonly runId: RunId
  readonly decisions: ReadonlyArray<CallDecision>
}

/** The outputs of all open calls of the client. The run goes on when no call is open. */
export interface ToolOutputsRequest {
  readonly threadId: ThreadId
  /** Absent: the thread's run that waits for outputs. */
  readonly runId?: RunId
  readonly outputs: ReadonlyArray<ToolOutput>
  /** Absent: the tools of the run. */
  readonly tools?: ReadonlyArray<ToolDefinition>
  readonly thinking?: Thinking
  readonly stream?: boolean
  readonly idempotency?: IdempotencyKey
}
