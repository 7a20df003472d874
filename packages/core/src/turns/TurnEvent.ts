/**
 * The log of a run. Everything that is known of a turn is a fold of these events: the stream, the resumed stream, the stored message, the
 * reply, the usage. They are plain JSON values, one object each; `sequence` rises through all legs of a run.
 *
 * Every leg ends with exactly one *terminal* event. Reasoning is for those who listen at the moment: it takes sequence numbers but is
 * never stored (specification part 6), so a log read from the store may have gaps.
 */
import type * as Schema from "effect/Schema"
import type { Charge } from "../metering/Charge.ts"
import type { ProviderData } from "../models/ChatRequest.ts"
import type { MessageId } from "../primitives/Ids.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { ContextUsage } from "../prompts/Explanation.ts"
import type { PromptPart } from "../prompts/PromptPart.ts"
import type { LogEvent } from "../runs/RunStore.ts"
import type { ToolCall } from "../tools/ToolCall.ts"

interface Event {
  readonly sequence: number
}

export interface UserMessage extends Event {
  readonly _tag: "UserMessage"
  readonly messageId: MessageId
  readonly content: string
  /** What parts keep with the user's message, by their names; absent when there is nothing. */
  readonly supplements?: Schema.JsonObject
}

/** The first leg of a run begins. `messageId` is the answer's, on every path from here on. */
export interface RunStarted extends Event {
  readonly _tag: "RunStarted"
  readonly messageId: MessageId
  readonly provider: string
  readonly model: string
  readonly at: string
}

/** A further leg begins, after tool outputs. */
export interface RunContinuing extends Event {
  readonly _tag: "RunContinuing"
  readonly messageId: MessageId
  readonly provider: string
  readonly model: string
  readonly at: string
}

/** A model call begins. `promptTokens` is the kernel's own count: it stands in for usage that never comes. */
export interface StepStarted extends Event {
  readonly _tag: "StepStarted"
  readonly promptTokens: number
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
  /** The model that answered, where it differs from the one asked. */
  readonly model: string | null
  readonly providerData: ProviderData | null
  readonly at?: number
}

/** The kernel answered a call itself: a hosted tool ran, or the call could not be run at all. */
export interface HostedResult extends Event {
  readonly _tag: "HostedResult"
  readonly toolCallId: string
  readonly toolName: string
  readonly output: string
  readonly startedAt?: number
  readonly at?: number
}

/** A part of the turn, or a hosted tool, tells the reader something. `data` and `type` are its own. */
export interface PartTold extends Event {
  readonly _tag: "PartTold"
  readonly part: string
  readonly type: string
  readonly data: Schema.Json
  /** For those who listen at the moment: never stored. */
  readonly isLive: boolean
  /** Of what is told while a part listens. */
  readonly at?: number
}

/** In the place of something live that is too long ago: a reader that comes now has missed it (`LiveWindow`). */
export interface LiveMissed extends Event {
  readonly _tag: "LiveMissed"
}

/** A part keeps a value with the answer. The last one of a leg counts. */
export interface PartKept extends Event {
  readonly _tag: "PartKept"
  readonly part: string
  readonly value: Schema.Json
}

/** What a part recalled for this turn: later legs of the run read it here and recall nothing again. */
export interface PartRecalled extends Event {
  readonly _tag: "PartRecalled"
  readonly part: string
  readonly prompt: ReadonlyArray<PromptPart>
}

/** Something that was paid for beside the conversation's model. */
export interface Charged extends Event {
  readonly _tag: "Charged"
  readonly charge: Charge
}

/** What the terminal events of a leg have in common. */
interface LegEnd extends Event {
  readonly messageId: MessageId
  /** The whole text of the leg. */
  readonly content: string
  readonly provider: string
  readonly model: string
  readonly usage: Usage
  readonly contextUsage: ContextUsage | null
  /** What parts keep with the answer, by their names; absent when there is nothing. */
  readonly supplements?: Schema.JsonObject
}

export interface ToolSubmitRequired extends LegEnd {
  readonly _tag: "ToolSubmitRequired"
  readonly toolCalls: ReadonlyArray<ToolCall>
}

export interface RunEnded extends LegEnd {
  readonly _tag: "RunEnded"
}

export interface RunFailed extends LegEnd {
  readonly _tag: "RunFailed"
  readonly error: string
  readonly code: string
  readonly retryable: boolean
}

export interface RunCancelled extends LegEnd {
  readonly _tag: "RunCancelled"
}

/** The message was kept and no model was asked. */
export interface MessageSaved extends Event {
  readonly _tag: "MessageSaved"
  readonly messageId: MessageId
  readonly at: string
  /** What parts keep with the message, by their names; absent when there is nothing. */
  readonly supplements?: Schema.JsonObject
}

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
  | HostedResult
  | PartTold
  | LiveMissed
  | PartKept
  | PartRecalled
  | Charged
  | TerminalEvent

export const isTerminal = (event: TurnEvent): event is TerminalEvent =>
  event._tag === "RunEnded" ||
  event._tag === "ToolSubmitRequired" ||
  event._tag === "RunFailed" ||
  event._tag === "RunCancelled" ||
  event._tag === "MessageSaved"

/** Whether an event goes into the store. */
export const isKept = (event: TurnEvent): boolean =>
  event._tag !== "ReasoningDelta" &&
  event._tag !== "ReasoningEnded" &&
  event._tag !== "LiveMissed" &&
  !(event._tag === "PartTold" && event.isLive)

/** Decoder: a run's log is written by this room alone, and the store gives back equal JSON (contract of `RunStore.read`). */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const fromLog = (events: ReadonlyArray<LogEvent>): ReadonlyArray<TurnEvent> => events as ReadonlyArray<TurnEvent>
