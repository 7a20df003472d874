/**
 * A follow-up: work that must happen after something was stored, and that outlives the process that stored it (indexing a document,
 * learning from a turn, summing up a long thread). It is written in the same step as what it follows, done by whichever process claims it,
 * tried again with pauses when it fails, and kept as *dead* when it failed too often, so that an operator can look at it.
 */
import * as Schema from "effect/Schema"
import { FollowUpId, OwnerId } from "../primitives/Ids.ts"

/** What is to be done, as its author writes it. */
export interface NewFollowUp {
  readonly id: FollowUpId
  /** Which worker does it. */
  readonly kind: string
  /** A name for this piece of work. An owner has at most one open follow-up for each kind and key. */
  readonly key: string
  /** What the worker needs to know. */
  readonly payload: Schema.Json
  /** Follow-ups of one owner and one sequence are done one after the other, in the order in which they were stored; null: side by side. */
  readonly sequence: string | null
  /** Milliseconds after storing before it is first tried. */
  readonly delayMillis: number
  readonly createdAt: Date
}

/** *Open* ones are pending or running; *done* and *dead* ones are at rest. */
export const FollowUpStatus = Schema.Literals(["pending", "running", "done", "dead"])
export type FollowUpStatus = typeof FollowUpStatus.Type

export const FollowUp = Schema.Struct({
  id: FollowUpId,
  ownerId: OwnerId,
  kind: Schema.String,
  key: Schema.String,
  payload: Schema.Json,
  sequence: Schema.NullOr(Schema.String),
  status: FollowUpStatus,
  /** How often it was claimed. */
  attempts: Schema.Int,
  /** Why the last attempt failed, in a sentence without anything of a conversation in it. */
  lastError: Schema.NullOr(Schema.String),
  createdAt: Schema.Date,
  endedAt: Schema.NullOr(Schema.Date)
})
export type FollowUp = typeof FollowUp.Type

export class FollowUpNotFound extends Schema.TaggedError<FollowUpNotFound>()("FollowUpNotFound", {
  followUpId: FollowUpId
}) {
  override get message() {
    return `There is no dead follow-up ${this.followUpId}.`
  }
}
