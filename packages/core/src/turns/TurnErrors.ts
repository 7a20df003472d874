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

/** What can never be left out of the prompt is larger than the model's window. */
export class ContextTooLong extends Schema.TaggedError<ContextTooLong>()("ContextTooLong", {
  needed: Schema.Int,
  available: Schema.Int,
  model: Schema.String
}) {
  override get message() {
    return (
      `The system prompt, the tools and this message need about ${this.needed} tokens; ` +
      `${this.model} leaves ${this.available} for them. Shorten them or choose a model with more room.`
    )
  }
}

export class ThreadBusy extends Schema.TaggedError<ThreadBusy>()("ThreadBusy", { threadId: ThreadId, runId: RunId }) {
  override get message() {
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
