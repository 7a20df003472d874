/** What a room gives to `FollowUps`: the work of one kind of follow-up, and how it may fail. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { OwnerId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { FollowUp, NewFollowUp } from "./FollowUp.ts"

/** A failed attempt. The text is stored with the follow-up, so it must contain nothing of a conversation. */
export class FollowUpFailed extends Schema.TaggedError<FollowUpFailed>()("FollowUpFailed", {
  message: Schema.String,
  /** False: another attempt would fail as well. */
  isRetryable: Schema.Boolean,
  /** Set if the cause stated how long to wait. */
  pauseMillis: Schema.optionalKey(Schema.Finite),
  /** True: the cause is outside of this piece of work (a service is unavailable), so the attempt does not count. */
  isOutage: Schema.optionalKey(Schema.Boolean)
}) {}

/** Work that may not spend anything now: it waits until there is a budget again, or ends when only the host can give credit. */
export const withoutCredit =
  (work: string) =>
  ({ reason, waitMillis }: InsufficientCredit): Effect.Effect<never, FollowUpFailed> =>
    Effect.fail(
      waitMillis === undefined
        ? new FollowUpFailed({ message: `There was not enough credit ${work}.`, isRetryable: false })
        : new FollowUpFailed({
            message: `There is not enough credit ${work} now. ${reason ?? ""}`,
            isRetryable: true,
            isOutage: true,
            pauseMillis: waitMillis
          })
    )

export interface FollowUpWorker {
  readonly kind: string
  /** It may run more than once for one follow-up, so its writes must be idempotent. */
  readonly run: (followUp: FollowUp) => Effect.Effect<unknown, FollowUpFailed | StoreUnavailable, Principal>
  /** Called when the last attempt has failed, before the follow-up is dead; for example to inform the user. */
  readonly giveUp?: (followUp: FollowUp, error: string) => Effect.Effect<void, StoreUnavailable, Principal>
  /**
   * What waits for this work although no follow-up of it is open, of all owners. It is added again, and the log says so, with the kind and
   * the number. A worker without it has no record that can wait: its follow-up is stored in one transaction with the record, or before it.
   */
  readonly lost?: Effect.Effect<ReadonlyArray<LostWork>, StoreUnavailable>
}

/** A follow-up that should exist and does not. */
export interface LostWork {
  readonly ownerId: OwnerId
  readonly followUp: NewFollowUp
}

/**
 * A worker whose payload has a schema. A payload that this version cannot read makes the follow-up dead, where an operator can look at it.
 */
export interface TypedWorker<Payload> extends Pick<FollowUpWorker, "giveUp" | "kind" | "lost"> {
  readonly payload: Schema.Codec<Payload, Schema.Json>
  readonly run: (
    payload: Payload,
    followUp: FollowUp
  ) => Effect.Effect<unknown, FollowUpFailed | StoreUnavailable, Principal>
}

/** A worker whose payload is checked before it runs. */
export const typedWorker = <Payload>({ payload, run, ...worker }: TypedWorker<Payload>): FollowUpWorker => {
  const read = Schema.decodeUnknownEffect(payload)
  return {
    ...worker,
    run: (followUp) =>
      Effect.flatMap(
        Effect.mapError(read(followUp.payload), () => unreadable),
        (known) => run(known, followUp)
      )
  }
}

const unreadable = new FollowUpFailed({
  message: "This version cannot read the payload of the follow-up. Run it with the version that stored it.",
  isRetryable: false
})
