/**
 * Port: keeps follow-ups until they are done. Settlements store theirs through `RunStore.settle`, in the settlement's transaction; all
 * other code adds them here.
 *
 * Terms:
 * - *Claim*: the right to work on one follow-up. It has a token, and it expires unless it is renewed, by the store's own clock. Every call
 *   of a worker names its claim; a call with an older token, or after the attempt has failed, MUST change nothing and return false.
 * - *Due*: pending and its time has come, or running under a claim that has expired. If it has a `sequence`, it is due only when no
 *   follow-up of the same owner and sequence that was stored before it is still open.
 * - *Suspect*: due, with two or more attempts, and its last claim has expired. It may be what kills its process.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { FollowUpId, OwnerId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { FollowUp, NewFollowUp } from "./FollowUp.ts"

/** The right to work on one follow-up. */
export interface FollowUpClaim {
  readonly followUp: FollowUp
  readonly token: number
  /** True: an earlier claim has expired, because its process died or hung. */
  readonly isRetaken: boolean
}

/** How many follow-ups of one priority a caller takes. */
export interface ClaimLane {
  readonly limit: number
  /** The owners of those that the caller works on already, once for each. */
  readonly held: ReadonlyArray<OwnerId>
}

/** Keeps one owner's work, and work that killed its process, out of the way of others. Without these rules owners only take turns. */
export interface ClaimRules {
  readonly urgent: ClaimLane
  readonly other: ClaimLane
  /** The largest number of follow-ups of one owner and one priority that the caller works on at a time. */
  readonly share: number
  /** How many suspects the caller takes. */
  readonly suspects: number
}

/** Why an attempt failed, and when the next one is. */
export interface FailedAttempt {
  /** A sentence that contains nothing of a conversation. */
  readonly error: string
  readonly pause: Duration.Duration | null
  /** False: nothing was attempted, or the cause lay outside. The attempt is subtracted from the count again. */
  readonly isCounted: boolean
}

export class FollowUpStore extends Context.Service<
  FollowUpStore,
  {
    /**
     * Stores follow-ups of the principal, in this order. A follow-up whose kind and key belong to one that is still open MUST be skipped,
     * and so MUST one whose id is stored already.
     */
    readonly add: (followUps: ReadonlyArray<NewFollowUp>) => Effect.Effect<void, StoreUnavailable, Principal>

    /**
     * Claims due follow-ups of these kinds and of all owners, and counts an attempt for each, also for one whose last claim has expired. If
     * several callers claim at the same time, only one of them MUST get a follow-up. Urgent ones MUST come first; of each priority the
     * owners MUST take turns, one follow-up each, from one call to the next; of one owner the one that is due the longest comes first. MUST
     * keep to the rules, if there are any. A claim reads few of them, however many are open.
     */
    readonly claim: (
      kinds: ReadonlyArray<string>,
      limit: number,
      duration: Duration.Duration,
      rules?: ClaimRules
    ) => Effect.Effect<ReadonlyArray<FollowUpClaim>, StoreUnavailable>

    /** Prolongs claims, and MUST return the ids of all that are lost. */
    readonly renew: (
      claims: ReadonlyArray<FollowUpClaim>,
      duration: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<FollowUpId>, StoreUnavailable>

    /** The work is done. A repeat under the same claim MUST return true. */
    readonly complete: (claim: FollowUpClaim) => Effect.Effect<boolean, StoreUnavailable>

    /** The attempt failed. With a pause the follow-up is pending again and due after the pause; without one it is dead. */
    readonly fail: (claim: FollowUpClaim, failure: FailedAttempt) => Effect.Effect<boolean, StoreUnavailable>

    /** The principal's newest follow-up of this kind and key, in any status. */
    readonly find: (kind: string, key: string) => Effect.Effect<Option.Option<FollowUp>, StoreUnavailable, Principal>

    /** A page of all that the principal has of this kind: open, done and dead ones, newest first. */
    readonly list: (kind: string, page: Page) => Effect.Effect<ReadonlyArray<FollowUp>, StoreUnavailable, Principal>

    /**
     * MUST delete the principal's open follow-up of this kind and key, and return false if there is none. The claim of a running one is lost
     * by that.
     */
    readonly cancel: (kind: string, key: string) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** MUST return a page of the dead follow-ups of all owners, for an operator: the one that was stored last comes first. */
    readonly dead: (page: Page) => Effect.Effect<ReadonlyArray<FollowUp>, StoreUnavailable>

    /**
     * Makes a dead follow-up pending again and resets its count of attempts. False if it is not dead, or if another one of its owner, kind
     * and key is open.
     */
    readonly revive: (id: FollowUpId) => Effect.Effect<boolean, StoreUnavailable>

    /** Deletes up to `limit` done follow-ups that ended before this time, and returns their number. */
    readonly prune: (before: Date, limit: number) => Effect.Effect<number, StoreUnavailable>
  }
>()("@colloquy/core/runs/FollowUpStore") {}
