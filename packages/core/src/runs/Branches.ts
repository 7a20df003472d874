/**
 * The operations of `RunStore` that make a thread from messages that exist already: an import, a fork, and a rewind, which keeps what it
 * takes back as a thread of its own. Each is one step for readers, however long the thread is: nobody sees a part of a new thread. The work
 * of one statement is limited, so that a long thread delays no other caller.
 *
 * A thread is cut after a number of its oldest messages. Copies have new ids; everything else is equal: order, times, run, steps,
 * supplements, and their size. A copy of a message that waits for its client has the status CANCELLED.
 */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Message, NewMessage } from "../threads/Message.ts"
import type { Thread } from "../threads/Thread.ts"
import type { NewFollowUp } from "./FollowUp.ts"

/** A request that is answered by a record instead of a run. `answer` is what a repeat gets, also when the record has gone since. */
export interface AnsweredOnce {
  readonly key: string
  readonly fingerprint: string
  readonly answer: Schema.Json
}

/** The earlier use of a key for such a request. */
export type Answered = Pick<AnsweredOnce, "fingerprint" | "answer">

/** The position of a message in its thread. */
export interface Located {
  readonly message: Message
  /** The newest message of a user at or before this one; null if there is none. */
  readonly question: Message | null
  /** How many messages the thread has, and the id of the newest. */
  readonly count: number
  readonly newest: MessageId
}

/** The position in a thread at which it is cut. */
export interface Cut {
  readonly threadId: ThreadId
  /** How many of the thread's oldest messages stay before the cut. */
  readonly keeps: number
  /** The newest message of the thread when the caller looked; null: it had none. */
  readonly newest: MessageId | null
}

/** What a rewind does with the messages behind the cut. */
export interface TakeBack extends Omit<Cut, "threadId"> {
  /** The thread that gets the whole conversation as it was; null: what is taken back is deleted. */
  readonly keptAs: ThreadId | null
}

/** A new thread with messages from elsewhere. */
export interface ImportThread {
  readonly thread: Thread
  /** In their order. */
  readonly messages: ReadonlyArray<NewMessage>
  readonly once: AnsweredOnce | null
}

/** A new thread with the beginning of another one. */
export interface ForkThread {
  readonly from: Cut
  readonly thread: Thread
  readonly once: AnsweredOnce | null
}

/** A thread that loses everything behind a message. */
export interface RewindThread extends TakeBack {
  readonly threadId: ThreadId
  readonly at: Date
  readonly followUps: ReadonlyArray<NewFollowUp>
  readonly once: AnsweredOnce | null
}

/** Why a thread cannot be cut there now. */
export type CutRefused =
  /** The thread is unknown, or its assistant is. */
  | { readonly _tag: "ThreadMissing" }
  /** Another run is active. `expired`: its lease has expired. */
  | { readonly _tag: "Busy"; readonly runId: RunId; readonly expired: boolean }
  | { readonly _tag: "InSession" }
  /** The newest message of the thread is another one. */
  | { readonly _tag: "Changed" }

/** Whether a fork, an import or a rewind was stored. */
export type BranchOutcome =
  | { readonly _tag: "Done" }
  | CutRefused
  /** The key was used before. */
  | { readonly _tag: "Answered"; readonly fingerprint: string; readonly answer: Schema.Json }

/**
 * The operations of `RunStore` with threads as a whole. When an outcome is not Done, they MUST have stored nothing. Of concurrent callers with
 * one key, one MUST get Done, and the others Answered, with the answer of that one.
 */
export interface Branches {
  /** MUST return the answer of the request of the principal that used the key within the last 24 hours for one of these operations. */
  readonly findAnswered: (key: string) => Effect.Effect<Option.Option<Answered>, StoreUnavailable, Principal>

  /**
   * MUST find a stored message of the thread, or with null its newest; none for an unknown message, and for a thread that is unknown or
   * another owner's.
   */
  readonly locate: (
    threadId: ThreadId,
    id: MessageId | null
  ) => Effect.Effect<Option.Option<Located>, StoreUnavailable, Principal>

  /** MUST store the thread with all these messages, in this order, in one step for readers; ThreadMissing without its assistant. */
  readonly importThread: (order: ImportThread) => Effect.Effect<BranchOutcome, StoreUnavailable, Principal>

  /**
   * MUST store the thread with copies of the messages before the cut, and with the summary if it covers none behind the cut; the source stays as
   * it is. Both threads have the documents that were there, with the same ids, until the last thread with them is removed; documents that
   * come later belong to one of them.
   */
  readonly forkThread: (order: ForkThread) => Effect.Effect<BranchOutcome, StoreUnavailable, Principal>

  /**
   * MUST take the messages behind the cut out of the thread. The summary stays only if it covers nothing of them. A run that waits behind the cut
   * MUST become CANCELLED. The follow-ups are stored in the same step.
   *
   * - With `keptAs`, that new thread MUST have the whole conversation as it was: copies of the messages before the cut, then the messages
   *   that were taken back, with their ids and their runs; metadata, summary and documents. Memories that were learned from these messages
   *   name it as the thread of their source.
   * - Without `keptAs`, the messages, their runs and logs MUST be gone, and the source of such memories is null. Of a run with messages on both sides
   *   of the cut, the record stays.
   */
  readonly rewindThread: (order: RewindThread) => Effect.Effect<BranchOutcome, StoreUnavailable, Principal>
}
