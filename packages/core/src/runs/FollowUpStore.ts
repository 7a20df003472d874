/**
 * Port: where follow-ups are kept until they are done. Settlements store theirs through `RunStore.settle`, in the settlement's own step;
 * whatever else wants work done later adds it here.
 *
 * Words used below:
 * - *Claim*: the right to work on one follow-up. It has a token, and it expires unless renewed, by the store's own clock. Every answer of a
 *   worker names its claim; one with an older token MUST change nothing and answer false.
 * - *Due*: pending and its time has come, or running under a claim that has expired; and, when it has a `sequence`, no follow-up of the same
 *   owner and sequence that was stored before it is still open.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { FollowUpId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { FollowUp, NewFollowUp } from "./FollowUp.ts"

/** The right to work on one follow-up. */
export interface FollowUpClaim {
  readonly followUp: FollowUp
  readonly token: number
}

export interface FailedAttempt {
  /** A sentence without anything of a conversation in it. */
  readonly error: string
  readonly pause: Duration.Duration | null
  /** False: nothing was tried, or the cause lay outside; the attempt is taken off the count again. */
  readonly isCounted: boolean
}

export class FollowUpStore extends Context.Service<
  FollowUpStore,
  {
    /** Stores follow-ups of the principal, in this order. One whose kind and key are open already MUST be skipped, and so MUST an id that is stored. */
    readonly add: (followUps: ReadonlyArray<NewFollowUp>) => Effect.Effect<void, StoreUnavailable, Principal>

    /**
     * Claims what is due, of these kinds and of all owners, oldest first, and counts an attempt for each. Of concurrent callers only one
     * MUST get a follow-up.
     */
    readonly claim: (
      kinds: ReadonlyArray<string>,
      limit: number,
      duration: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<FollowUpClaim>, StoreUnavailable>

    /** Prolongs claims; gives the ids of those that are lost. */
    readonly renew: (
      claims: ReadonlyArray<FollowUpClaim>,
      duration: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<FollowUpId>, StoreUnavailable>

    /** The work is done. Repeating it under the same claim MUST answer true. */
    readonly complete: (claim: FollowUpClaim) => Effect.Effect<boolean, StoreUnavailable>

    /** The attempt failed. With a pause it is pending again and due after it; without one it is dead. */
    readonly fail: (claim: FollowUpClaim, failure: FailedAttempt) => Effect.Effect<boolean, StoreUnavailable>

    /** The principal's newest follow-up of this kind and key, in whatever status. */
    readonly find: (kind: string, key: string) => Effect.Effect<Option.Option<FollowUp>, StoreUnavailable, Principal>

    /** Dead follow-ups of all owners, newest first: what an operator looks at. */
    readonly dead: (page: Page) => Effect.Effect<ReadonlyArray<FollowUp>, StoreUnavailable>

    /** A dead follow-up is pending again, with no attempts counted. False when it is not dead. */
    readonly revive: (id: FollowUpId) => Effect.Effect<boolean, StoreUnavailable>

    /** Deletes up to `limit` done ones that ended before this time, and answers how many. */
    readonly prune: (before: Date, limit: number) => Effect.Effect<number, StoreUnavailable>
  }
>()("@colloquy/core/runs/FollowUpStore") {}
