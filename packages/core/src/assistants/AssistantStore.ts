/** Port: where assistants are kept. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Thread } from "../threads/Thread.ts"
import type { ThreadSummary } from "../threads/ThreadSummary.ts"
import type { Assistant, AssistantPatch } from "./Assistant.ts"

export interface ThreadInContext {
  readonly assistant: Assistant
  readonly thread: Thread
  /** Null: none. */
  readonly summary: ThreadSummary | null
  /** Whether a document of any status is attached to the thread or to its assistant: a turn without any asks no further. */
  readonly hasDocuments: boolean
  /**
   * Names what stands here. MUST be another text after any change of it, but for the thread's `updatedAt`: `RunStore.begin` compares it.
   */
  readonly revision: string
}

export class AssistantStore extends Context.Service<
  AssistantStore,
  {
    readonly insert: (assistant: Assistant) => Effect.Effect<void, StoreUnavailable, Principal>
    /**
     * Inserts an assistant that is not complete yet: a clone before its documents and memories are copied. What belongs to it can be stored,
     * and goes with it; until `publish` MUST `get`, `list`, `update` and `remove` behave as if it were not there.
     */
    readonly insertDraft: (assistant: Assistant) => Effect.Effect<void, StoreUnavailable, Principal>
    /** MUST make a draft an assistant like any other; answers false when there is no such draft (any more). */
    readonly publish: (id: AssistantId) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST delete a draft with all that belongs to it; answers false, and deletes nothing, when there is no such draft. */
    readonly discard: (id: AssistantId) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST answer none for an id that is unknown or another owner's, without a difference. */
    readonly get: (id: AssistantId) => Effect.Effect<Option.Option<Assistant>, StoreUnavailable, Principal>
    /** A thread and its assistant in one look-up: the first step of every turn. */
    readonly ofThread: (
      threadId: ThreadId
    ) => Effect.Effect<Option.Option<ThreadInContext>, StoreUnavailable, Principal>
    /** MUST list the principal's assistants, oldest first, stable between pages; those with exactly this name when given. */
    readonly list: (page: Page, name?: string) => Effect.Effect<ReadonlyArray<Assistant>, StoreUnavailable, Principal>
    /** MUST change the given fields at once and answer the result; concurrent updates of other fields are both kept. */
    readonly update: (
      id: AssistantId,
      patch: AssistantPatch,
      at: Date
    ) => Effect.Effect<Option.Option<Assistant>, StoreUnavailable, Principal>
    /** MUST delete the assistant with all its threads, messages, runs and logs at once; answers false when there is none. */
    readonly remove: (id: AssistantId) => Effect.Effect<boolean, StoreUnavailable, Principal>
  }
>()("@colloquy/core/assistants/AssistantStore") {}
