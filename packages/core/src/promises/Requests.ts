/** The requests of turns with ids as plain text, and how the kernel reads them. */
import { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { RunPage } from "../runs/Run.ts"
import type { Instead, ToolOutputsRequest, TurnRequest } from "../turns/TurnRequest.ts"
import { readId } from "./PlainIds.ts"

/** `TurnRequest` with ids as plain text. */
export interface SendRequest extends Omit<
  TurnRequest,
  "threadId" | "assistantId" | "instead" | "child" | "scheduleId"
> {
  /** Absent: a new thread is created, for the assistant `assistantId` or for a new assistant. */
  readonly threadId?: string | undefined
  readonly assistantId?: string | undefined
}

/** `ToolOutputsRequest` with ids as plain text. */
export interface OutputsRequest extends Omit<ToolOutputsRequest, "threadId" | "runId"> {
  readonly threadId: string
  /** Absent: the thread's run that waits for outputs. */
  readonly runId?: string | undefined
}

/** Identifies a run. Turns and replies have these fields. */
export interface RunIds {
  readonly threadId: string
  readonly runId: string
}

/** A run, and the event after which to begin. */
export interface FollowRequest extends RunIds {
  /** The `sequence` of the last event that the caller has. Absent: from the first event. */
  readonly after?: number | undefined
}

export interface RunsRequest extends Partial<RunPage> {
  readonly threadId: string
}

export const turnRequest = ({ assistantId, threadId, ...request }: SendRequest): TurnRequest => ({
  ...request,
  ...(threadId === undefined ? {} : { threadId: readId(ThreadId, threadId) }),
  ...(assistantId === undefined ? {} : { assistantId: readId(AssistantId, assistantId) })
})

/** The options of a message, each in place of that of the first time; absent: as it was then. */
export interface AgainRequest extends Omit<SendRequest, "content" | "threadId" | "assistantId"> {
  readonly threadId: string
  /** A question, or one of its answers. To edit: a question. */
  readonly messageId: string
  /** `place` (the default): the thread goes on from the question. `fork`: a new thread does, and this one stays as it is. */
  readonly in?: "place" | "fork" | undefined
}

export interface EditRequest extends AgainRequest {
  readonly content: string
}

/** The message of `AgainRequest`, as turns read it. */
export const readInstead = (request: AgainRequest & { readonly content?: string }): Instead => ({
  messageId: readId(MessageId, request.messageId),
  in: request.in ?? "place",
  ...(request.content === undefined ? {} : { edited: request.content })
})

export const outputsRequest = ({ runId, threadId, ...request }: OutputsRequest): ToolOutputsRequest => ({
  ...request,
  threadId: readId(ThreadId, threadId),
  ...(runId === undefined ? {} : { runId: readId(RunId, runId) })
})
