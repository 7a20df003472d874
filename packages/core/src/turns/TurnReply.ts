/** The reply of a turn that is not streamed: a fold of the events that a stream would have sent. */
import type * as Schema from "effect/Schema"
import type { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import type { MessageStatus, RunFault, StopReason } from "../threads/Message.ts"
import type { OpenCall } from "../tools/ToolCall.ts"
import type { ContextUsage } from "../prompts/Explanation.ts"
import type { IgnoredOption } from "./IgnoredOption.ts"
import { isTerminal, type MessageSaved, type TerminalEvent, type TurnEvent } from "./TurnEvent.ts"

export interface TurnReply {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  readonly messageId: MessageId
  readonly role: "user" | "assistant"
  readonly status: MessageStatus
  /** The text of the model's answer. Of a failed or cancelled run: what was said until then. */
  readonly content: string
  /** Calls that wait for the client or, with `approval`, for a person's decision. */
  readonly toolCalls: ReadonlyArray<OpenCall>
  readonly provider: string | null
  readonly model: string | null
  /** Null: the run is older than versions, or the message was only saved. */
  readonly assistantVersion: number | null
  /** The usage of this leg. */
  readonly usage: Usage
  /** The reasoning that the provider sent; null if there was none, or if the reply is made from the store. */
  readonly reasoning: string | null
  readonly contextUsage: ContextUsage | null
  /** Why the run failed; null if it did not. */
  readonly fault: RunFault | null
  /** Why the answer ended; null when it failed, was cancelled, or the message was only saved. */
  readonly stopReason: StopReason | null
  /** Options of the request and of the assistant that had no effect, each with the reason. */
  readonly ignored: ReadonlyArray<IgnoredOption>
  /** Supplements of the answer, by the names of their parts. */
  readonly supplements: Schema.JsonObject
  /** Supplements of the user's message, by the names of their parts; empty in the legs after the first. */
  readonly userSupplements: Schema.JsonObject
  /** The thread that has the conversation as it was, if this turn stands instead of a part of it; null otherwise. */
  readonly keptAs: ThreadId | null
  readonly createdAt: Date
}

/** The thread, the assistant and the run of a reply. */
export type ReplyIds = Pick<TurnReply, "threadId" | "assistantId" | "runId">

/** What the record of a run tells of a leg whose first event is not among the events. */
export type RecordedBeginning = Partial<Pick<TurnReply, "createdAt" | "ignored">>

/** Undefined while the leg has not ended. */
export const foldReply = (
  ids: ReplyIds,
  events: ReadonlyArray<TurnEvent>,
  recorded?: RecordedBeginning
): TurnReply | undefined => {
  const end = events.findLast(isTerminal)
  return end === undefined ? undefined : replyOfEnd(ids, end, events, recorded)
}

export const replyOfEnd = (
  ids: ReplyIds,
  end: TerminalEvent,
  events: ReadonlyArray<TurnEvent>,
  { createdAt = new Date(0), ignored = [] }: RecordedBeginning = {}
): TurnReply => {
  if (end._tag === "MessageSaved") return savedReply(ids, end, events)
  const begin = events.find((event) => event._tag === "RunStarted" || event._tag === "RunContinuing")
  let reasoning = ""
  for (const event of events) if (event._tag === "ReasoningDelta") reasoning += event.text
  return {
    ...ids,
    assistantId: end.assistant?.id ?? ids.assistantId,
    messageId: end.messageId,
    role: "assistant",
    status: statusByTag[end._tag],
    content: end.content,
    toolCalls: end._tag === "ToolSubmitRequired" ? end.toolCalls : [],
    provider: end.provider,
    model: end.model,
    assistantVersion: end.assistant?.version ?? null,
    usage: end.usage,
    reasoning: reasoning === "" ? null : reasoning,
    contextUsage: end.contextUsage,
    fault: faultIn(end),
    stopReason: end.stopReason ?? null,
    ignored: begin === undefined ? ignored : (begin.ignored ?? []),
    supplements: end.supplements ?? {},
    userSupplements: userSupplementsIn(events),
    keptAs: end.keptAs ?? null,
    createdAt: begin === undefined ? createdAt : new Date(begin.at)
  }
}

const userSupplementsIn = (events: ReadonlyArray<TurnEvent>): Schema.JsonObject =>
  events.find((event) => event._tag === "UserMessage")?.supplements ?? {}

const statusByTag: { readonly [Tag in TerminalEvent["_tag"]]: MessageStatus } = {
  RunEnded: "COMPLETED",
  ToolSubmitRequired: "REQUIRES_ACTION",
  RunFailed: "FAILED",
  RunCancelled: "CANCELLED",
  MessageSaved: "COMPLETED"
}

const faultIn = (end: TerminalEvent): RunFault | null =>
  end._tag === "RunFailed"
    ? {
        code: end.code,
        message: end.error,
        retryable: end.retryable,
        ...(end.detail === undefined ? {} : { detail: end.detail })
      }
    : null

const savedReply = (
  ids: ReplyIds,
  { at, ignored = [], keptAs, messageId }: MessageSaved,
  events: ReadonlyArray<TurnEvent>
): TurnReply => ({
  ...ids,
  messageId,
  role: "user",
  status: "COMPLETED",
  content: events.find((event) => event._tag === "UserMessage")?.content ?? "",
  toolCalls: [],
  provider: null,
  model: null,
  assistantVersion: null,
  usage: noUsage,
  reasoning: null,
  contextUsage: null,
  fault: null,
  stopReason: null,
  ignored,
  supplements: {},
  userSupplements: userSupplementsIn(events),
  keptAs: keptAs ?? null,
  createdAt: new Date(at)
})
