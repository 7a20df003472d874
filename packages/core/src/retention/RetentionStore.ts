/**
 * Port: deletes what conversations leave behind and no promise needs any more. It is for the whole database: no owner asks for it, and
 * nothing that belongs to a conversation itself (threads, messages, runs, documents, memories, sums of usage) is ever deleted by it.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/**
 * What can be deleted by its age.
 *
 * - `logs`: the stored events of runs; a run is as old as its end. The run itself stays.
 * - `idempotencyKeys`: as old as their use.
 * - `deletedRuns`: notes of runs that were deleted while they were active, so that what they used is charged; as old as the deletion.
 * - `chargeReceipts`: notes that a charge outside of a turn was counted, so that a repeat counts nothing; as old as the charge.
 * - `deadFollowUps`: follow-ups that failed for good; as old as their last attempt.
 */
export type Prunable = "logs" | "idempotencyKeys" | "deletedRuns" | "chargeReceipts" | "deadFollowUps"

export class RetentionStore extends Context.Service<
  RetentionStore,
  {
    /**
     * Deletes what is older than a moment, up to `limit` of them (of `logs`: those of so many runs), and answers how many. MUST NOT wait for
     * rows that another caller has locked: these are left for the next time. Of a run that has not ended (one that waits for its client
     * among them) the log MUST stay whole; a log MUST go whole.
     */
    readonly prune: (what: Prunable, before: Date, limit: number) => Effect.Effect<number, StoreUnavailable>
  }
>()("@colloquy/core/retention/RetentionStore") {}
