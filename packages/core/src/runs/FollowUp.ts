/**
 * A follow-up: work that must happen after something was stored, and that outlives the process that stored it (indexing a document,
 * learning from a turn, summarising a long thread). It is stored in the same transaction as the record that it follows. Any process may
 * claim it. A failed follow-up is retried after a pause; one that failed too often is kept as *dead*, so that an operator can look at it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { FollowUpId, newId, OwnerId } from "../primitives/Ids.ts"

/** A hundred years, in milliseconds. A store keeps times as dates, which take no number that is much larger. */
export const longestDelay = 100 * 365 * 24 * 3_600_000

/** A follow-up as a part orders it. The kernel adds an id and a time, and stores it with what it follows. */
export const FollowUpOrder = Schema.Struct({
  kind: Schema.String,
  key: Schema.String,
  payload: Schema.Json,
  sequence: Schema.optionalKey(Schema.String),
  delayMillis: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: -longestDelay, maximum: longestDelay }))
  )
})
export type FollowUpOrder = typeof FollowUpOrder.Type

const checkOrders = Schema.decodeEffect(Schema.Array(FollowUpOrder))

/** What a part orders. A part that fails here, or orders something that cannot be stored, loses its follow-ups and nothing else. */
export const readOrders = (
  part: string,
  order: () => ReadonlyArray<FollowUpOrder>
): Effect.Effect<ReadonlyArray<FollowUpOrder>> =>
  Effect.catchCause(Effect.flatMap(Effect.sync(order), checkOrders), (cause) =>
    Effect.as(Effect.logError(`The follow-ups of the part "${part}" are lost`, cause), [])
  )

/** A follow-up as it is stored. */
export interface NewFollowUp {
  readonly id: FollowUpId
  /** The kind of worker that does the work. */
  readonly kind: string
  /** A name for this piece of work. An owner has at most one open follow-up for each kind and key. */
  readonly key: string
  /** The input of the worker. */
  readonly payload: Schema.Json
  /**
   * Follow-ups of one owner and one sequence are done one after the other, in the order in which they were stored; null: in parallel with
   * others.
   */
  readonly sequence: string | null
  /** Milliseconds between storing and the first attempt: a hundred years at most. */
  readonly delayMillis: number
  /** True: a user waits for this work, for example for the file of a message. It is done before other work. */
  readonly isUrgent?: boolean
  readonly createdAt: Date
}

/** A follow-up of this moment, with an id. By default it is done at once, and in parallel with others. */
export const newFollowUp = ({
  delayMillis = 0,
  key,
  kind,
  payload,
  sequence
}: FollowUpOrder): Effect.Effect<NewFollowUp> =>
  Effect.zipWith(newId(FollowUpId), Clock.currentTimeMillis, (id, now) => {
    return { id, kind, key, payload, sequence: sequence ?? null, delayMillis, createdAt: new Date(now) }
  })

/** *Open* follow-ups are pending or running; *done* and *dead* ones are at rest. */
export const FollowUpStatus = Schema.Literals(["pending", "running", "done", "dead"])
export type FollowUpStatus = typeof FollowUpStatus.Type

export const FollowUp = Schema.Struct({
  id: FollowUpId,
  ownerId: OwnerId,
  kind: Schema.String,
  key: Schema.String,
  payload: Schema.Json,
  sequence: Schema.NullOr(Schema.String),
  isUrgent: Schema.Boolean,
  status: FollowUpStatus,
  /** How often it was claimed. */
  attempts: Schema.Int,
  /** Why the last attempt failed: a sentence that contains nothing of a conversation. */
  lastError: Schema.NullOr(Schema.String),
  createdAt: Schema.Date,
  endedAt: Schema.NullOr(Schema.Date)
})
export type FollowUp = typeof FollowUp.Type

/** There is no dead follow-up with this id. */
export class FollowUpNotFound extends Schema.TaggedError<FollowUpNotFound>()("FollowUpNotFound", {
  followUpId: FollowUpId
}) {
  override get message() {
    return `There is no dead follow-up ${this.followUpId}.`
  }
}
