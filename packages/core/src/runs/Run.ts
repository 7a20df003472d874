/**
 * A run: the kernel's work on one user message, from its first model call to its end. It may pause for the client's tool outputs. Each
 * stretch between pauses is a *leg*, with its own answer message and its own stretch of the log.
 */
import * as Schema from "effect/Schema"
import { AssistantId, MessageId, RunId, ScheduleId, ThreadId } from "../primitives/Ids.ts"
import { Usage } from "../primitives/Usage.ts"
import { RunFault } from "../threads/Message.ts"

/** Where a run is between its message and its end. */
export const RunStatus = Schema.Literals([
  "QUEUED",
  "IN_PROGRESS",
  "REQUIRES_ACTION",
  "COMPLETED",
  "FAILED",
  "CANCELLED"
])
export type RunStatus = typeof RunStatus.Type

/**
 * All transitions of a run that is answered. Stores refuse every other one by comparing the state that they find. A run whose message is
 * only saved is completed by the store at once, or when its turn in the queue comes.
 */
export const transitions: { readonly [From in RunStatus]: ReadonlyArray<RunStatus> } = {
  QUEUED: ["IN_PROGRESS", "FAILED", "CANCELLED"],
  IN_PROGRESS: ["REQUIRES_ACTION", "COMPLETED", "FAILED", "CANCELLED"],
  REQUIRES_ACTION: ["IN_PROGRESS", "CANCELLED"],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: []
}

/** Whether a run may go from one status to another. */
export const canMove = (from: RunStatus, to: RunStatus): boolean => transitions[from].includes(to)

/** At rest: no more events come unless tool outputs are submitted. */
export const isAtRest = (status: RunStatus): boolean => status !== "QUEUED" && status !== "IN_PROGRESS"

/** Whether nothing more happens in this status. */
export const isEnded = (status: RunStatus): boolean => transitions[status].length === 0

export const Run = Schema.Struct({
  id: RunId,
  threadId: ThreadId,
  assistantId: AssistantId,
  /** The version of the assistant that answers; null: the run is older than versions. */
  assistantVersion: Schema.NullOr(Schema.Int),
  status: RunStatus,
  /** 0 for the first leg; every submission of tool outputs adds one. */
  leg: Schema.Int,
  /** Sequence of the first event of the current leg. */
  legStart: Schema.Int,
  /** Sequence of the last stored event. */
  lastSequence: Schema.Int,
  userMessageId: MessageId,
  /** The answer of the current leg. Its id is known before the first model call. */
  answerId: MessageId,
  stream: Schema.Boolean,
  provider: Schema.String,
  model: Schema.String,
  /** The turn's plan, for the process that resumes the run. Only the turn writes and reads it. */
  plan: Schema.Json,
  /** The sum of all legs. */
  usage: Usage,
  /** The number of model calls of all legs that have ended. */
  modelCalls: Schema.Int,
  /** When a model wrote its first text or call; null: it has not, or the leg in which it does has not ended. */
  firstTokenAt: Schema.NullOr(Schema.Date),
  /** The schedule that sent the message. */
  scheduleId: Schema.NullOr(ScheduleId),
  /** The run whose helper this one is. */
  parentRunId: Schema.NullOr(RunId),
  fault: Schema.NullOr(RunFault),
  /** What the last prompt contained and what it left out; written by the turn. */
  explanation: Schema.NullOr(Schema.Json),
  cancelRequested: Schema.Boolean,
  createdAt: Schema.Date,
  startedAt: Schema.NullOr(Schema.Date),
  endedAt: Schema.NullOr(Schema.Date)
})
export type Run = typeof Run.Type

/** The owner has no run with this id. */
export class RunNotFound extends Schema.TaggedError<RunNotFound>()("RunNotFound", { runId: RunId }) {
  override get message() {
    return `There is no run ${this.runId}.`
  }
}

export interface RunPage {
  readonly limit: number
  /** Absent: runs of every status. */
  readonly status?: RunStatus
  /** `ListedRuns.next` of the page before. Absent: the first page. */
  readonly after?: number
}

export interface ListedRuns {
  readonly runs: ReadonlyArray<Run>
  /** The position of the last run, when there are more. Only the store knows what it means. */
  readonly next: number | null
}
