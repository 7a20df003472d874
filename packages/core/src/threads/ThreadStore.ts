/**
 * Port: where threads and their messages are kept. Messages are written by runs (`RunStore`), because a message and the state of its
 * run change together; here they are only read.
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
    /** MUST answer false, and store nothing, when the principal has no assistant `thread.assistantId`. */
    readonly insert: (thread: Thread) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * MUST answer none for an id that is unknown or another owner's, without a difference. `updatedAt` MUST be the time of the newest
     * message once there is one, and never go back.
     */
    readonly get: (id: ThreadId) => Effect.Effect<Option.Option<Thread>, StoreUnavailable, Principal>
    /** MUST list the principal's threads, oldest first, stable between pages; of one assistant when given. */
    readonly list: (
      page: Page,
      assistantId?: AssistantId
    ) => Effect.Effect<ReadonlyArray<Thread>, StoreUnavailable, Principal>
    /**
     * MUST give all stored messages of these threads, grouped by thread in the given order, by `sequence` inside; the answer of a run in
     * progress comes last in its thread as a message with status IN_PROGRESS, no content and `sequence` one above the last.
     * Threads of others give nothing.
     */
    readonly messages: (
      ids: ReadonlyArray<ThreadId>
    ) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable, Principal>
    /** MUST give the same messages in the same order. Any of those that are plain MAY come as a `PlainMessage`. */
    readonly listed: (
      ids: ReadonlyArray<ThreadId>
    ) => Effect.Effect<ReadonlyArray<ListedMessage>, StoreUnavailable, Principal>
    /** MUST give the newest stored messages of the thread below a sequence, at most `limit`, by `sequence`. A thread of others gives nothing. */
    readonly messagesBefore: (
      id: ThreadId,
      sequence: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable, Principal>
    /**
     * MUST set these top-level fields of the thread's metadata and leave the others, in one step with regard to other changes; answers false
     * when there is no such thread. `updatedAt` stays. A function gets the metadata as they stand and gives the fields; it is pure, and may
     * be called again when something else was changed meanwhile.
     */
    readonly mergeMetadata: (
      id: ThreadId,
      fields: Metadata | ((now: Metadata) => Metadata)
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * MUST keep the summary unless there is one that reaches as far or further, in one step with regard to other changes; answers false when
     * nothing was kept, for a thread that is unknown or another owner's too. `updatedAt` and the metadata stay. `AssistantStore.ofThread` gives it.
     */
    readonly setSummary: (id: ThreadId, summary: ThreadSummary) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * MUST delete the thread with its messages, runs and logs at once; answers false when there is none. A run that goes on loses its lease.
     * MUST fail, and change nothing, while a voice session (`SessionStore`) holds the thread by a lease that has not run out.
     */
    readonly remove: (id: ThreadId) => Effect.Effect<boolean, ThreadInSession | StoreUnavailable, Principal>
  }
>()("@colloquy/core/threads/ThreadStore") {}
