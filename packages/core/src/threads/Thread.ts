/** A conversation of one user with one assistant. */
import * as Schema from "effect/Schema"
import { AssistantId, MessageId, ThreadId } from "../primitives/Ids.ts"

/** What a client keeps with a record: one JSON object. */
export const Metadata = Schema.JsonObject
export type Metadata = typeof Metadata.Type

export const Thread = Schema.Struct({
  id: ThreadId,
  assistantId: AssistantId,
  metadata: Schema.NullOr(Metadata),
  /** The version of the assistant that answers. Null: the present one. */
  assistantVersion: Schema.NullOr(Schema.Int),
  /** The assistant to which the conversation was handed over. Absent: the thread's own answers. */
  actingAssistantId: Schema.optionalKey(AssistantId),
  /** True: it serves one attempt of an experiment, or a client's trial, and stands in no list of threads or runs. */
  scratch: Schema.optionalKey(Schema.Literal(true)),
  createdAt: Schema.Date,
  /** The time of its newest message, or of its creation if that is later. */
  updatedAt: Schema.Date,
  /** Set for a fork: the thread and its last message that was copied. Either may have been deleted since. */
  forkedFrom: Schema.optionalKey(Schema.Struct({ threadId: ThreadId, messageId: MessageId }))
})
export type Thread = typeof Thread.Type

/** The owner has no thread with this id. */
export class ThreadNotFound extends Schema.TaggedError<ThreadNotFound>()("ThreadNotFound", { threadId: ThreadId }) {
  override get message() {
    return `There is no thread ${this.threadId}.`
  }
}

/** A voice session is the only writer of its thread. */
export class ThreadInSession extends Schema.TaggedError<ThreadInSession>()("ThreadInSession", { threadId: ThreadId }) {
  override get message() {
    return "The thread is busy with a realtime session, which is its only writer. End the session first."
  }
}
