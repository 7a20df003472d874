/** Errors of beginning a turn. When one occurs, nothing was stored and no model was called. Later errors are part of the run's state. */
import * as Schema from "effect/Schema"
import { MessageId, RunId, ThreadId } from "../primitives/Ids.ts"

/** The message has no content of any kind. */
export class EmptyMessage extends Schema.TaggedError<EmptyMessage>()("EmptyMessage", {}) {
  override get message() {
    return "The message has no content. Send text, a file, audio or a state."
  }
}

/** A hosted tool has the name of a tool of the client. */
export class ToolNameTaken extends Schema.TaggedError<ToolNameTaken>()("ToolNameTaken", {
  name: Schema.String,
  index: Schema.Int
}) {
  override get message() {
    return `The tool name "${this.name}" belongs to a tool that runs on the server. Choose another name.`
  }
}

/** A run of the thread is active, and the message may not wait for it. */
export class ThreadBusy extends Schema.TaggedError<ThreadBusy>()("ThreadBusy", {
  threadId: ThreadId,
  runId: RunId,
  /** The limit of waiting messages, if it is reached. */
  full: Schema.optionalKey(Schema.Int)
}) {
  override get message() {
    if (this.full !== undefined) {
      return `The thread is busy with run ${this.runId}, and ${this.full} messages wait for it already, which is the limit. Send this one when they have been answered.`
    }
    return `The thread is busy with run ${this.runId}. Wait for it to end, or cancel it.`
  }
}

/** The thread has no message with this id. */
export class MessageNotFound extends Schema.TaggedError<MessageNotFound>()("MessageNotFound", {
  messageId: MessageId
}) {
  override get message() {
    return `The thread has no message ${this.messageId}.`
  }
}

/** The message cannot be sent again or edited. */
export class MessageNotSendable extends Schema.TaggedError<MessageNotSendable>()("MessageNotSendable", {
  messageId: MessageId,
  reason: Schema.Literals(["no_question", "answer"])
}) {
  override get message() {
    return this.reason === "answer"
      ? "Only a message of the user can be edited. To get another answer, use regenerate."
      : "There is no message of the user before this one that could be sent again."
  }
}

/** Another request has changed the thread between the look-up of a message and the change that was asked for. */
export class ThreadChanged extends Schema.TaggedError<ThreadChanged>()("ThreadChanged", { threadId: ThreadId }) {
  override get message() {
    return "The thread has changed at the same moment. Look at it again, and repeat the request."
  }
}

/** No run of the thread waits for tool outputs. */
export class NothingPending extends Schema.TaggedError<NothingPending>()("NothingPending", { threadId: ThreadId }) {
  override get message() {
    return `No run of thread ${this.threadId} is waiting for tool outputs.`
  }
}

/**
 * A request is repeated with its idempotency key, but the run that it began has been deleted, with the text of the first answer. Nothing is
 * begun a second time.
 */
export class FirstAnswerGone extends Schema.TaggedError<FirstAnswerGone>()("FirstAnswerGone", {
  runId: RunId,
  /** Null: it is not known any more. */
  threadId: Schema.NullOr(ThreadId)
}) {
  override get message() {
    return "What the first request with this idempotency key began was deleted since. Use a new key to send it again."
  }
}

/** The server ends and begins nothing new. */
export class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {}) {
  override get message() {
    return "The server is shutting down and accepts no new messages. Send this one again in a moment."
  }
}

/** A part of the turn refused it. `path` is the position of the problem in the part's options. */
export class TurnRefused extends Schema.TaggedError<TurnRefused>()("TurnRefused", {
  part: Schema.String,
  reason: Schema.Literals([
    /** The options are invalid or contradict each other. */
    "invalid",
    /** This kernel has no such part. */
    "absent",
    /** Something that the options name does not exist, or belongs to another owner. */
    "not_found",
    /** Something that the options name is still being processed. The same request succeeds later. */
    "not_ready",
    "too_large",
    "unsupported_type",
    "provider_failed",
    "provider_timeout",
    /** The part took too long to listen or to decide. */
    "part_timeout"
  ]),
  problems: Schema.Array(
    Schema.Struct({ path: Schema.Array(Schema.Union([Schema.String, Schema.Int])), message: Schema.String })
  ),
  /** The code of the failed run, if the stream had already begun when the part refused. Absent: `reason` is the code. */
  code: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return this.problems.map(({ message }) => message).join(" ")
  }
}
