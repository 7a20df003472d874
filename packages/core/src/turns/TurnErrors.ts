/** Why a turn was not begun. Nothing was stored for it, and no model was called. Errors after that are the run's own state. */
import * as Schema from "effect/Schema"
import { RunId, ThreadId } from "../primitives/Ids.ts"

export class EmptyMessage extends Schema.TaggedError<EmptyMessage>()("EmptyMessage", {}) {
  override get message() {
    return "The message has no content. Send text, a file, audio or a state."
  }
}

export class ToolNameTaken extends Schema.TaggedError<ToolNameTaken>()("ToolNameTaken", {
  name: Schema.String,
  index: Schema.Int
}) {
  override get message() {
    return `The tool name "${this.name}" belongs to a tool that runs on the server. Choose another name.`
  }
}

export class ThreadBusy extends Schema.TaggedError<ThreadBusy>()("ThreadBusy", {
  threadId: ThreadId,
  runId: RunId,
  /** As many messages wait as may wait on one thread. */
  full: Schema.optionalKey(Schema.Int)
}) {
  override get message() {
    if (this.full !== undefined) {
      return `The thread is busy with run ${this.runId}, and ${this.full} messages wait for it already, which is the limit. Send this one when they have been answered.`
    }
    return `The thread is busy with run ${this.runId}. Wait for it to end, or cancel it.`
  }
}

export class NothingPending extends Schema.TaggedError<NothingPending>()("NothingPending", { threadId: ThreadId }) {
  override get message() {
    return `No run of thread ${this.threadId} is waiting for tool outputs.`
  }
}

export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {
  override get message() {
    return "This idempotency key was used for another request. Use a new key for a new request."
  }
}

export class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {}) {
  override get message() {
    return "The server is shutting down and takes no new messages. Send this one again in a moment."
  }
}

/** A part of the turn refuses it. `path` names the place in the part's options. */
export class TurnRefused extends Schema.TaggedError<TurnRefused>()("TurnRefused", {
  part: Schema.String,
  reason: Schema.Literals([
    /** The options are wrong, or do not go together. */
    "invalid",
    /** This kernel has no such part. */
    "absent",
    /** Something that the options name does not exist, or belongs to another owner. */
    "not_found",
    /** Something is still at work: the same request will do later. */
    "not_ready",
    "too_large",
    "unsupported_type",
    "provider_failed",
    "provider_timeout",
    /** The part itself took too long to hear or to decide. */
    "part_timeout"
  ]),
  problems: Schema.Array(
    Schema.Struct({ path: Schema.Array(Schema.Union([Schema.String, Schema.Int])), message: Schema.String })
  ),
  /** For a stream that has begun already, and ends with this refusal: the code of its failed run. Absent: the reason. */
  code: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return this.problems.map(({ message }) => message).join(" ")
  }
}
