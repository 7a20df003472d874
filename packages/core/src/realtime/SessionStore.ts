/**
 * Port: what a voice session keeps. A session is the only writer of its thread: it holds the thread by a lease that expires unless it is
 * renewed, by the store's own clock, so that a process that dies frees the thread in seconds. What was said becomes ordinary messages.
 *
 * - The session's id is the fencing token: once another session has taken the thread, the first one's writes MUST change nothing and
 *   answer false. A lease that has run out and was taken by nobody still allows them.
 * - Each operation is one atomic step, ordered with all others on the same thread (`RunStore` included).
 * - A thread of another owner MUST be treated like one that does not exist.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { Charge } from "../metering/Charge.ts"
import { OwnerId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { Message, NewMessage } from "../threads/Message.ts"

/** The right to write one thread. */
export interface SessionLease {
  readonly sessionId: RunId
  readonly threadId: ThreadId
  readonly ownerId: OwnerId
}

export type OpenOutcome =
  | {
      readonly _tag: "Opened"
      readonly lease: SessionLease
      /** The newest messages, as many as were asked for, oldest first. */
      readonly messages: ReadonlyArray<Message>
      /** How many messages the thread has. */
      readonly total: number
    }
  /** Another session, or a run that is active, writes the thread. Nothing was changed. */
  | { readonly _tag: "Conflict"; readonly by: "session" | "run" }
  | { readonly _tag: "ThreadMissing" }

/** What a part of a session used. The numbers of one session rise from 1. */
export const SessionCharge = Schema.Struct({
  ...Charge.fields,
  sessionId: RunId,
  number: Schema.Int,
  ownerId: OwnerId,
  threadId: ThreadId
})
export type SessionCharge = typeof SessionCharge.Type

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
     * Takes the thread. Of concurrent callers one MUST win. A session whose lease has run out is no obstacle; a run that is QUEUED or
     * IN_PROGRESS is one, whatever its lease. A run in REQUIRES_ACTION is superseded as by a new message. While the session is open,
     * `RunStore.begin` MUST answer `InSession`, and `ThreadStore.remove` MUST fail.
     */
    readonly open: (
      threadId: ThreadId,
      sessionId: RunId,
      options: { readonly lease: Duration.Duration; readonly messages: number; readonly at: Date }
    ) => Effect.Effect<OpenOutcome, StoreUnavailable, Principal>
    /**
     * Adds messages and charges; false when the lease is lost. A message whose id the thread has already takes the place of that one;
     * the others MUST come behind everything stored, in the given order. A charge whose number is not above the last stored one is there
     * already and MUST be skipped. The charges count in `UsageLedger` at once, and wait in `unreported`.
     */
    readonly write: (
      lease: SessionLease,
      write: SessionWrite,
      at: Date
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** Prolongs leases of whatever owners, and answers with the sessions that have lost theirs. */
    readonly renew: (
      leases: ReadonlyArray<SessionLease>,
      duration: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<RunId>, StoreUnavailable>
    /** Gives the thread back. Repeating it, or closing a lost lease, changes nothing. */
    readonly close: (lease: SessionLease) => Effect.Effect<void, StoreUnavailable, Principal>
    /** Charges of all owners that were written before this time and that nobody has reported yet, oldest first. */
    readonly unreported: (before: Date, limit: number) => Effect.Effect<ReadonlyArray<SessionCharge>, StoreUnavailable>
    /** These charges have reached the meter. */
    readonly reported: (
      charges: ReadonlyArray<Pick<SessionCharge, "ownerId" | "sessionId" | "number">>
    ) => Effect.Effect<void, StoreUnavailable>
  }
>()("@colloquy/core/realtime/SessionStore") {}
