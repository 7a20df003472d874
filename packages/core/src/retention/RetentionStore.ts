/**
 * Port: deletes records that conversations leave behind and that no promise needs any more. It works on the whole database, without an
 * owner, and never deletes the conversation itself (threads, messages, runs, documents, memories, sums of usage).
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/**
 * The kinds of records that can be deleted by age.
 *
 * - `logs`: the stored events of runs; the age of a log is the time since its run ended. The run itself stays.
 * - `idempotencyKeys`: the age is the time since their use.
 * - `deletedRuns`: notes of runs that were deleted while they were active, so that their usage is charged; the age is the time since the
 *   deletion.
 * - `chargeReceipts`: notes that a charge outside of a turn was counted, so that a repeat counts nothing; the age is the time since the
 *   charge.
 * - `deadFollowUps`: follow-ups that failed permanently; the age is the time since their last attempt.
 * - `learnedRuns`: records of which memories a run changed (events and ids, no texts); the age is the time since the change. The memories stay.
 */
export type Prunable = "logs" | "idempotencyKeys" | "deletedRuns" | "chargeReceipts" | "deadFollowUps" | "learnedRuns"

export class RetentionStore extends Context.Service<
  RetentionStore,
  {
    /**
     * Deletes records older than a time, at most `limit` of them (for `logs`: the logs of at most `limit` runs), and returns how many. Each log
     * MUST be counted once, also an empty one. MUST NOT wait for rows that another caller has locked; these are left for the next call. The log
     * of a run that has not ended (also one that waits for its client) MUST stay complete. A log MUST be deleted as a whole.
     */
    readonly prune: (what: Prunable, before: Date, limit: number) => Effect.Effect<number, StoreUnavailable>
  }
>()("@colloquy/core/retention/RetentionStore") {}
