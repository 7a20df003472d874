/** A conversation of one user with one assistant. */
import * as Schema from "effect/Schema"
import { AssistantId, ThreadId } from "../primitives/Ids.ts"

export const Metadata = Schema.JsonObject
export type Metadata = typeof Metadata.Type

export const Thread = Schema.Struct({
  id: ThreadId,
  assistantId: AssistantId,
  metadata: Schema.NullOr(Metadata),
  createdAt: Schema.Date,
  /** The time of its newest message; without messages, the time of its creation. */
  updatedAt: Schema.Date
})
export type Thread = typeof Thread.Type

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
