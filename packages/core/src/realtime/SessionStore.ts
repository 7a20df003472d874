/**
 * Port: stores voice sessions. A session is the only writer of its thread: it holds the thread with a lease that expires unless it is
 * renewed, by the store's own clock, so that the thread of a process that dies is free within seconds. The conversation becomes ordinary
 * messages.
 *
 * - The session's id is the fencing token: after another session or a run has taken the thread, writes of the first one MUST change nothing
 *   and return false. An expired lease still permits writes until the thread is taken.
 * - Each operation is atomic, and ordered with all others on the same thread (`RunStore` included).
 * - A thread of another owner MUST be treated as if it did not exist.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { Charge } from "../metering/Charge.ts"
import { OwnerId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { RefusedByLimit } from "../metering/Quota.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { Message, NewMessage } from "../threads/Message.ts"

/** The right to write one thread. */
export interface SessionLease {
  readonly sessionId: RunId
  readonly threadId: ThreadId
  readonly ownerId: OwnerId
}

/** Whether the session has its thread, or what holds it. */
export type OpenOutcome =
  | {
      readonly _tag: "Opened"
      readonly lease: SessionLease
      /** The newest messages, as many as requested, oldest first. */
      readonly messages: ReadonlyArray<Message>
      /** The number of messages of the thread. */
      readonly total: number
    }
  /** Another session or an active run writes the thread. Nothing was changed. */
  | { readonly _tag: "Conflict"; readonly by: "session" | "run" }
  /** The owner has `sessionsAtOnce` open sessions already. Nothing was changed. */
  | RefusedByLimit
  | { readonly _tag: "ThreadMissing" }

/** The cost of a part of a session. The numbers of one session rise from 1. */
export const SessionCharge = Schema.Struct({
  ...Charge.fields,
  sessionId: RunId,
  number: Schema.Int,
  ownerId: OwnerId,
  threadId: ThreadId
})
export type SessionCharge = typeof SessionCharge.Type

/** The records that a session stores in one step. */
export interface SessionWrite {
  /** In the order of speaking. */
  readonly messages: ReadonlyArray<NewMessage>
  readonly charges: ReadonlyArray<SessionCharge>
  /** Stored in the same step, as by `FollowUpStore.add`. */
  readonly followUps: ReadonlyArray<NewFollowUp>
}

export class SessionStore extends Context.Service<
  SessionStore,
  {
    /**
     * Takes the thread. If several callers open at the same time, one of them MUST succeed. A session with an expired lease does not block;
     * a run that is QUEUED or IN_PROGRESS does, whatever its lease. A run in REQUIRES_ACTION is superseded as by a new message. While the
     * session is open, `RunStore.begin` MUST return `InSession`, and `ThreadStore.remove` MUST fail. Of concurrent callers on the threads of
     * one owner, no more than `sessionsAtOnce` (absent or null: no limit) MUST succeed.
     */
    readonly open: (
      threadId: ThreadId,
      sessionId: RunId,
      options: {
        readonly lease: Duration.Duration
        readonly messages: number
        readonly at: Date
        readonly sessionsAtOnce?: number | null
      }
    ) => Effect.Effect<OpenOutcome, StoreUnavailable, Principal>
    /**
     * Adds messages and charges; false when the lease is lost. A message whose id the thread has already replaces that one; the others MUST
     * be appended after all stored messages, in the given order. A charge whose number is not above the last stored one is stored already
     * and MUST be skipped. The charges count in `UsageLedger` at once, and are listed by `unreported`.
     */
    readonly write: (
      lease: SessionLease,
      write: SessionWrite,
      at: Date
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** Prolongs leases of any owners, and returns the sessions that have lost theirs. */
    readonly renew: (
      leases: ReadonlyArray<SessionLease>,
      duration: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<RunId>, StoreUnavailable>
    /** Releases the thread. Repeating it, or closing a lost lease, changes nothing. */
    readonly close: (lease: SessionLease) => Effect.Effect<void, StoreUnavailable, Principal>
    /** Charges of all owners that were written before this time and are not reported yet, oldest first. */
    readonly unreported: (before: Date, limit: number) => Effect.Effect<ReadonlyArray<SessionCharge>, StoreUnavailable>
    /** Marks these charges as reported. */
    readonly reported: (
      charges: ReadonlyArray<Pick<SessionCharge, "ownerId" | "sessionId" | "number">>
    ) => Effect.Effect<void, StoreUnavailable>
  }
>()("@colloquy/core/realtime/SessionStore") {}
