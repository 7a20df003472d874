/**
 * The log of a run. All views of a turn are folds of these events: the stream, the resumed stream, the stored message, the reply, the
 * usage. Events are plain JSON objects; `sequence` rises through all legs of a run.
 *
 * Every leg ends with exactly one *terminal* event. Reasoning is sent to live readers only: it takes sequence numbers but is never stored, so
 * a log that is read from the store may have gaps.
 */
import type * as Schema from "effect/Schema"
import type { Charge } from "../metering/Charge.ts"
import type { Payee } from "../metering/PaidCall.ts"
import type { ProviderData } from "../models/ChatRequest.ts"
import type { MessageId, ThreadId } from "../primitives/Ids.ts"
import type { FinishReason } from "../models/ChatEvent.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { ContextUsage } from "../prompts/Explanation.ts"
import type { PromptPart } from "../prompts/PromptPart.ts"
import type { LogEvent } from "../runs/LogRecords.ts"
import type { AnsweringAssistant, StopReason } from "../threads/Message.ts"
import type { OpenCall, Question, RunIds, ToolCall } from "../tools/ToolCall.ts"
import type { ChildRun } from "./ChildRuns.ts"
import type { IgnoredOption } from "./IgnoredOption.ts"

interface Event {
  readonly sequence: number
}

export interface UserMessage extends Event {
  readonly _tag: "UserMessage"
  readonly messageId: MessageId
  readonly content: string
  /** Supplements of the user's message, by the names of their parts; absent when there are none. */
  readonly supplements?: Schema.JsonObject
}

/** The first leg of a run begins. `messageId` is the id of the answer, here and in all later events. */
export interface RunStarted extends Event {
  readonly _tag: "RunStarted"
  readonly messageId: MessageId
  readonly provider: string
  readonly model: string
  /** Absent in logs of older versions. */
  readonly assistant?: AnsweringAssistant
  readonly at: string
  /** Absent when every option has an effect. */
  readonly ignored?: ReadonlyArray<IgnoredOption>
  /** The thread that has the conversation as it was, if this turn stands instead of a part of it. */
  readonly keptAs?: ThreadId
}

/** A further leg begins, after the open calls were answered. */
export interface RunContinuing extends Event {
  readonly _tag: "RunContinuing"
  readonly messageId: MessageId
  readonly provider: string
  readonly model: string
  /** Absent in logs of older versions. */
  readonly assistant?: AnsweringAssistant
  readonly at: string
  readonly ignored?: ReadonlyArray<IgnoredOption>
}

/** A model call begins. `promptTokens` is the kernel's own count. It is used when the provider reports no usage. */
export interface StepStarted extends Event {
  readonly _tag: "StepStarted"
  readonly promptTokens: number
  /** Set for the last call that the turn's options permit: it is asked without the tools that the turn has. */
  readonly isLast?: true
  /** Milliseconds since 1970, as everywhere in the log; absent in logs of older versions. */
  readonly at?: number
}

export interface ReasoningDelta extends Event {
  readonly _tag: "ReasoningDelta"
  readonly text: string
}

export interface ReasoningEnded extends Event {
  readonly _tag: "ReasoningEnded"
}

export interface TextDelta extends Event {
  readonly _tag: "TextDelta"
  readonly text: string
}

export interface ToolCallStart extends Event {
  readonly _tag: "ToolCallStart"
  readonly toolCallId: string
  readonly name: string
}

export interface ToolCallReady extends Event {
  readonly _tag: "ToolCallReady"
  readonly call: ToolCall
}

export interface StepEnded extends Event {
  readonly _tag: "StepEnded"
  /** Null: the provider reported none. */
  readonly usage: Usage | null
  /** The model that answered, if it differs from the model that was requested. */
  readonly model: string | null
  readonly providerData: ProviderData | null
  /** Why the model stopped; absent in logs of older versions. */
  readonly reason?: FinishReason
  /** When the model wrote its first text or call; absent when it wrote none. */
  readonly firstAt?: number
  readonly at?: number
}

/**
 * What the model has written since its last call (or since the beginning of the leg) is no part of the answer: it could not be used, and the
 * model is asked again. Live readers have seen it; the terminal event has the text that counts.
 */
export interface AnswerWithdrawn extends Event {
  readonly _tag: "AnswerWithdrawn"
}

/** The model call that ended the leg with a failure, for operators: the log of the server says the same. */
export interface ModelFailed extends Event {
  readonly _tag: "ModelFailed"
  readonly at: number
  readonly provider: string
  readonly model: string
  readonly reason: string
  /** The HTTP status and the code of the provider, and its id of the request; null if it told none. */
  readonly status: number | null
  readonly code: string | null
  readonly requestId: string | null
  /** What the provider or the connection said, without keys and without the conversation. */
  readonly said: string | null
}

/** The kernel answered a call itself: it ran a hosted tool, or it refused the call. */
export interface HostedResult extends Event {
  readonly _tag: "HostedResult"
  readonly toolCallId: string
  readonly toolName: string
  readonly output: string
  readonly startedAt?: number
  readonly at?: number
}

/** The leg begins to run the calls that were approved before it. It is stored before they run: what has begun is not begun again. */
export interface ApprovedCallsBegan extends Event {
  readonly _tag: "ApprovedCallsBegan"
}

/** A call of a hosted tool waits until a person approves or rejects it. `expiresAt` is null where nothing limits the wait. */
export interface ApprovalRequired extends Event {
  readonly _tag: "ApprovalRequired"
  readonly call: ToolCall
  readonly expiresAt: string | null
  /** What the tool asks a person in the middle of the call. Absent: the call has not begun. */
  readonly question?: Question
  /** The run of a helper that waits for it; absent: this one. */
  readonly of?: RunIds
}

/** A part of the turn or a hosted tool tells the reader something. The part defines `type` and `data`. */
export interface PartTold extends Event {
  readonly _tag: "PartTold"
  readonly part: string
  readonly type: string
  readonly data: Schema.Json
  /** True: for live readers only, never stored. */
  readonly isLive: boolean
  /** Set for events that a part tells while it listens. */
  readonly at?: number
}

/** Replaces a live event that `LiveWindow` has dropped. A reader that arrives now has missed that event. */
export interface LiveMissed extends Event {
  readonly _tag: "LiveMissed"
}

/** A part keeps a value with the answer. The last value of a leg is stored. */
export interface PartKept extends Event {
  readonly _tag: "PartKept"
  readonly part: string
  readonly value: Schema.Json
}

/** The prompt parts that a part recalled for this turn. Later legs of the run read them here and do not recall again. */
export interface PartRecalled extends Event {
  readonly _tag: "PartRecalled"
  readonly part: string
  readonly prompt: ReadonlyArray<PromptPart>
}

/** A cost besides the calls of the conversation's model. */
export interface Charged extends Event {
  readonly _tag: "Charged"
  readonly charge: Charge
}

/**
 * A call that costs money is about to be made. If the log has no `PaidCallEnded` for it (the process died, or the call was interrupted), it
 * is charged with unknown usage.
 */
export interface PaidCallBegan extends Event {
  readonly _tag: "PaidCallBegan"
  readonly payee: Payee
}

/** The charges of the call, if it has any, stand before this event. */
export interface PaidCallEnded extends Event {
  readonly _tag: "PaidCallEnded"
  /** The sequence of its `PaidCallBegan`. */
  readonly began: number
}

/** A tool is about to begin a run on another thread, as a part of this one. */
export interface ChildBegan extends Event {
  readonly _tag: "ChildBegan"
  readonly child: Pick<ChildRun, "toolCallId" | "name" | "runId" | "threadId" | "assistantId">
}

export interface ChildEnded extends Event {
  readonly _tag: "ChildEnded"
  readonly runId: ChildRun["runId"]
  readonly end: Pick<ChildRun, "status" | "usage" | "modelCalls">
  /** Set when the run waits for approvals. */
  readonly calls?: ReadonlyArray<OpenCall>
}

/** From here on another assistant answers, with its own model. */
export interface HandedOver extends Event {
  readonly _tag: "HandedOver"
  readonly assistant: AnsweringAssistant
  readonly provider: string
  readonly model: string
  /** The parts that rewrite or review from here on. Absent: none, or the log is of an older version. */
  readonly guards?: ReadonlyArray<string>
}

/** The fields that all terminal events of a leg have. */
interface LegEnd extends Event {
  readonly messageId: MessageId
  /** The whole text of the leg. */
  readonly content: string
  readonly provider: string
  readonly model: string
  /** Absent in logs of older versions. */
  readonly assistant?: AnsweringAssistant
  readonly usage: Usage
  readonly contextUsage: ContextUsage | null
  /** Absent in logs of older versions. */
  readonly stopReason?: StopReason | null
  /** Absent when no part keeps anything with the answer. */
  readonly supplements?: Schema.JsonObject
  /** As in `RunStarted`. */
  readonly keptAs?: ThreadId
}

export interface ToolSubmitRequired extends LegEnd {
  readonly _tag: "ToolSubmitRequired"
  readonly toolCalls: ReadonlyArray<OpenCall>
}

export interface RunEnded extends LegEnd {
  readonly _tag: "RunEnded"
}

export interface RunFailed extends LegEnd {
  readonly _tag: "RunFailed"
  readonly error: string
  readonly code: string
  readonly retryable: boolean
  readonly detail?: Schema.Json
}

export interface RunCancelled extends LegEnd {
  readonly _tag: "RunCancelled"
}

/** The message was stored and no model was called. */
export interface MessageSaved extends Event {
  readonly _tag: "MessageSaved"
  readonly messageId: MessageId
  readonly at: string
  readonly ignored?: ReadonlyArray<IgnoredOption>
  /** Equal to those of the `UserMessage` event. */
  readonly supplements?: Schema.JsonObject
  readonly keptAs?: ThreadId
}

/** The last event of a leg. */
export type TerminalEvent = ToolSubmitRequired | RunEnded | RunFailed | RunCancelled | MessageSaved

export type TurnEvent =
  | UserMessage
  | RunStarted
  | RunContinuing
  | StepStarted
  | ReasoningDelta
  | ReasoningEnded
  | TextDelta
  | ToolCallStart
  | ToolCallReady
  | StepEnded
  | ModelFailed
  | AnswerWithdrawn
  | HostedResult
  | ApprovalRequired
  | ApprovedCallsBegan
  | PartTold
  | LiveMissed
  | PartKept
  | PartRecalled
  | Charged
  | PaidCallBegan
  | PaidCallEnded
  | ChildBegan
  | ChildEnded
  | HandedOver
  | TerminalEvent

/** Whether the event ends its leg. */
export const isTerminal = (event: TurnEvent): event is TerminalEvent =>
  event._tag === "RunEnded" ||
  event._tag === "ToolSubmitRequired" ||
  event._tag === "RunFailed" ||
  event._tag === "RunCancelled" ||
  event._tag === "MessageSaved"

/** Whether an event is written to the store. */
export const isKept = (event: TurnEvent): boolean =>
  event._tag !== "ReasoningDelta" &&
  event._tag !== "ReasoningEnded" &&
  event._tag !== "LiveMissed" &&
  !(event._tag === "PartTold" && event.isLive)

/** Decoder. The cast is safe: only this room writes the log of a run, and a store returns equal JSON (contract of `RunStore.read`). */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const fromLog = (events: ReadonlyArray<LogEvent>): ReadonlyArray<TurnEvent> => events as ReadonlyArray<TurnEvent>
