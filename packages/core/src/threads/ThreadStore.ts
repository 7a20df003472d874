/**
 * Port: stores threads and reads their messages. Runs write messages (`RunStore`), because a message and the state of its run change
 * together.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ListedMessage } from "./ListedMessage.ts"
import type { Message } from "./Message.ts"
import type { Metadata, Thread, ThreadInSession } from "./Thread.ts"
import type { ThreadSummary } from "./ThreadSummary.ts"

export class ThreadStore extends Context.Service<
  ThreadStore,
  {
    /** MUST return false, and store nothing, when the principal has no assistant `thread.assistantId`. */
    readonly insert: (thread: Thread) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * MUST return none both for an unknown id and for another owner's id. `updatedAt` MUST be the time of the newest message, if there is
     * one, and MUST never decrease.
     */
    readonly get: (id: ThreadId) => Effect.Effect<Option.Option<Thread>, StoreUnavailable, Principal>
    /**
     * MUST list the principal's threads, oldest first, in an order that is stable between pages; with an assistant, only its threads. Scratch
     * threads MUST NOT be listed.
     */
    readonly list: (
      page: Page,
      assistantId?: AssistantId
    ) => Effect.Effect<ReadonlyArray<Thread>, StoreUnavailable, Principal>
    /**
     * MUST return all stored messages of these threads, grouped by thread in the given order, and ordered by `sequence` within a thread.
     * The answer of a run in progress comes last in its thread, as a message with status IN_PROGRESS, without content, and with a
     * `sequence` one above the last. Threads of other owners have no messages here.
     */
    readonly messages: (
      ids: ReadonlyArray<ThreadId>
    ) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable, Principal>
    /** MUST return the same messages in the same order. Plain messages MAY be returned as `PlainMessage`. */
    readonly listed: (
      ids: ReadonlyArray<ThreadId>
    ) => Effect.Effect<ReadonlyArray<ListedMessage>, StoreUnavailable, Principal>
    /**
     * MUST return the newest stored messages of the thread below a sequence, at most `limit`, ordered by `sequence`. A thread of another
     * owner has no messages here.
     */
    readonly messagesBefore: (
      id: ThreadId,
      sequence: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable, Principal>
    /**
     * MUST set these top-level fields of the thread's metadata and keep the others, in one step; false when there is no such thread.
     * `updatedAt` stays. If `fields` is a function, it gets the current metadata and returns the fields. It is pure, and may be called
     * again after a concurrent change.
     */
    readonly mergeMetadata: (
      id: ThreadId,
      fields: Metadata | ((now: Metadata) => Metadata)
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * MUST set which assistant of the principal answers in the thread; null: the thread's own. False, without changing anything, when there
     * is no such thread or assistant. When that assistant is removed, the thread's own MUST answer again. `AssistantStore.ofThread` finds
     * the one that answers, and `RunStore.begin` begins its runs.
     */
    readonly handOver: (
      id: ThreadId,
      assistantId: AssistantId | null
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST set which version of its assistant answers in the thread; false when there is no such thread. `updatedAt` stays. */
    readonly pin: (id: ThreadId, assistantVersion: number | null) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * MUST store the summary in one step, unless the thread has a summary that covers as many messages or more. Returns false when nothing
     * was stored, also for a thread that is unknown or another owner's. When the thread has no message `throughId` at that place, because
     * it was rewound, it MUST store nothing. `updatedAt` and the metadata stay. `AssistantStore.ofThread`
     * returns the summary.
     */
    readonly setSummary: (id: ThreadId, summary: ThreadSummary) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * MUST delete the thread with its messages, runs and logs; false when there is none. From the first step on, MUST NOT return any of it; what
     * a process leaves that dies in between MUST be deleted by another. A run in progress loses its lease.
     * MUST fail, and change nothing, while a voice session (`SessionStore`) holds the thread with a lease that has not expired.
     */
    readonly remove: (id: ThreadId) => Effect.Effect<boolean, ThreadInSession | StoreUnavailable, Principal>
  }
>()("@colloquy/core/threads/ThreadStore") {}
