/** What a user thought of an answer: one feedback for each answer, the last one that was given. */
import * as Schema from "effect/Schema"
import { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import { CaseTags } from "./Case.ts"

/** From -1 (bad) to 1 (good). */
export const FeedbackScore = Schema.Finite.check(Schema.isBetween({ minimum: -1, maximum: 1 }))
/** The words of a user about an answer, at most 10,000 characters. */
export const FeedbackComment = Schema.String.check(Schema.isMaxLength(10_000))

/** What a user thinks of an answer. */
export const NewFeedback = Schema.Struct({
  score: FeedbackScore,
  comment: Schema.optionalKey(Schema.NullOr(FeedbackComment)),
  tags: Schema.optionalKey(CaseTags)
})
export type NewFeedback = typeof NewFeedback.Type

export const Feedback = Schema.Struct({
  threadId: ThreadId,
  messageId: MessageId,
  runId: Schema.NullOr(RunId),
  /** The assistant that answered, with the version that it had. */
  assistantId: AssistantId,
  assistantVersion: Schema.NullOr(Schema.Int),
  model: Schema.NullOr(Schema.String),
  score: Schema.Finite,
  comment: Schema.NullOr(Schema.String),
  tags: Schema.Array(Schema.String),
  createdAt: Schema.Date
})
export type Feedback = typeof Feedback.Type

/** Feedback cannot be as it was given, or the message is no answer. */
export class FeedbackRefused extends Schema.TaggedError<FeedbackRefused>()("FeedbackRefused", {
  /** A path leads to a field of the feedback, or is `messageId`. */
  problems: Schema.Array(
    Schema.Struct({ path: Schema.Array(Schema.Union([Schema.String, Schema.Int])), message: Schema.String })
  )
}) {
  override get message() {
    return this.problems.map(({ message, path }) => `${path.join(".")}: ${message}`).join(" ")
  }
}
