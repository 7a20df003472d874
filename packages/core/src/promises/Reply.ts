/** The reply of a turn for code without Effect: a union on `status`, so that only a failed reply has a `fault`. */
import * as Schema from "effect/Schema"
import { RunId, ThreadId } from "../primitives/Ids.ts"
import type { RunFault } from "../threads/Message.ts"
import type { TurnReply } from "../turns/TurnReply.ts"

type ReplyFields = Omit<TurnReply, "fault" | "status">

/** The reply of a turn that failed, with the reason. */
export interface FailedReply extends ReplyFields {
  readonly status: "FAILED"
  /** Why the run failed. `content` is what the model said until then. */
  readonly fault: RunFault
}

/** The run ended, was cancelled, or waits for the outputs of the client's tools (`REQUIRES_ACTION`). */
export interface GoodReply extends ReplyFields {
  readonly status: Exclude<TurnReply["status"], "FAILED">
}

export type Reply = FailedReply | GoodReply

/** With `throw: true`, a failed turn rejects with this error. */
export class TurnFailed extends Schema.TaggedError<TurnFailed>()("TurnFailed", {
  /** A sentence that may be shown to the user. */
  message: Schema.String,
  code: Schema.String,
  retryable: Schema.Boolean,
  threadId: ThreadId,
  runId: RunId,
  /** What the model said until then. */
  content: Schema.String
}) {}

export const plainReply = ({ fault, status, ...reply }: TurnReply): Reply =>
  status === "FAILED" ? { ...reply, status, fault: fault ?? unexplained } : { ...reply, status }

const unexplained: RunFault = { code: "unknown", message: "The run failed.", retryable: false }

export const orThrow = (reply: Reply): GoodReply => {
  if (reply.status !== "FAILED") return reply
  const { content, fault, runId, threadId } = reply
  throw new TurnFailed({ ...fault, threadId, runId, content })
}
