/** Port: stores assistants. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { AnsweredOnce } from "../runs/Branches.ts"
import type { Thread } from "../threads/Thread.ts"
import type { ThreadSummary } from "../threads/ThreadSummary.ts"
import type { Assistant, AssistantInSession } from "./Assistant.ts"
import type { AssistantVersion, VersionedAssistant, VersionedField } from "./AssistantVersions.ts"

/** A thread with its assistant and what a turn on it needs to know. */
export interface ThreadInContext {
  readonly assistant: Assistant
  readonly thread: Thread
  /** Null: there is none. */
  readonly summary: ThreadSummary | null
  /** Whether the thread or its assistant has a document, in any status. A turn without documents makes no query for them. */
  readonly hasDocuments: boolean
  /**
   * Identifies this state. MUST be another text after any change of it, except of the thread's `updatedAt`: `RunStore.begin` compares it.
   */
  readonly revision: string
}

/**
 * One change of an assistant. The version of `after` is the one after that of `before`. With the same version nothing changes, and only the
 * answer of `once` is kept.
 */
export interface AssistantChange {
  readonly before: Assistant
  readonly after: Assistant
  readonly changes: ReadonlyArray<VersionedField>
  /** What a repeat of the request gets. */
  readonly once?: AnsweredOnce | null
}

/** `changed`: there is no such assistant, or it has another version. `repeated`: the idempotency key was used before. */
export type AssistantStored = "stored" | "changed" | "repeated"

/** How many versions to read, from the newest or before a known one. */
export interface VersionPage {
  readonly limit: number
  /** Only versions below this one. Absent: the newest. */
  readonly before?: number
}

export class AssistantStore extends Context.Service<
  AssistantStore,
  {
    readonly insert: (assistant: Assistant) => Effect.Effect<void, StoreUnavailable, Principal>
    /**
     * Inserts an assistant that is not complete yet: a clone before its documents and memories are copied. Records that belong to it can be
     * stored, and are removed with it. Until `publish`, `get`, `ofThread`, `list`, `update` and `remove` MUST behave as if it did not exist.
     */
    readonly insertDraft: (assistant: Assistant) => Effect.Effect<void, StoreUnavailable, Principal>
    /** MUST make a draft a normal assistant; false when there is no such draft, or no longer. */
    readonly publish: (id: AssistantId) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST delete a draft with all that belongs to it; false, without deleting anything, when there is no such draft. */
    readonly discard: (id: AssistantId) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST return none both for an unknown id and for another owner's id. */
    readonly get: (id: AssistantId) => Effect.Effect<Option.Option<Assistant>, StoreUnavailable, Principal>
    /** A thread and its assistant in one look-up: the first step of every turn. */
    readonly ofThread: (
      threadId: ThreadId
    ) => Effect.Effect<Option.Option<ThreadInContext>, StoreUnavailable, Principal>
    /**
     * MUST list the principal's assistants, oldest first, in an order that is stable between pages; with a name, those with exactly this
     * name.
     */
    readonly list: (page: Page, name?: string) => Effect.Effect<ReadonlyArray<Assistant>, StoreUnavailable, Principal>
    /**
     * MUST store `after` in the place of `before`, and keep `before` as a version with its `changes`, in one step. "changed", and nothing
     * is stored, when there is no such assistant or it no longer has the version of `before`: of two callers at once, one succeeds. With
     * `once`, MUST store the answer for `RunStore.findAnswered` in the same step; when the key was used within the last 24 hours, MUST store
     * nothing and return "repeated".
     */
    readonly update: (change: AssistantChange) => Effect.Effect<AssistantStored, StoreUnavailable, Principal>
    /**
     * MUST list the versions of an assistant with the present one, newest first; `by` is the principal (`actorName`) that inserted or updated.
     * An assistant that is unknown or another owner's has none.
     */
    readonly versions: (
      id: AssistantId,
      page: VersionPage
    ) => Effect.Effect<ReadonlyArray<AssistantVersion>, StoreUnavailable, Principal>
    /**
     * MUST return the assistant as it was in that version; the embedding model and the time of its creation never change. MUST return none for a
     * number that no version can have, such as `NaN`.
     */
    readonly version: (
      id: AssistantId,
      version: number
    ) => Effect.Effect<Option.Option<VersionedAssistant>, StoreUnavailable, Principal>
    /**
     * MUST delete the assistant with all its versions, threads, messages, runs and logs before it returns; false when there is none. It may do so
     * in several steps: MUST NOT return the assistant, nor answer in one of its threads, from the first one on, and what a process leaves that
     * dies in between MUST be deleted by another. MUST fail, and change nothing, while a voice session (`SessionStore`) holds one of its threads
     * with a lease that has not expired.
     */
    readonly remove: (id: AssistantId) => Effect.Effect<boolean, AssistantInSession | StoreUnavailable, Principal>
  }
>()("@colloquy/core/assistants/AssistantStore") {}
