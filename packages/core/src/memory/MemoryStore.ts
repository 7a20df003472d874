/**
 * Port: stores and searches memories. A memory, its versions, its terms and its vector change in one step, so that a search never finds a
 * removed memory and never misses an existing one.
 *
 * Every operation concerns one assistant of the principal. An assistant that does not exist, or is another owner's, MUST look the same: it
 * has no memories, and accepts none. Memories are removed with their assistant.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ChunkSearch, IndexedDocument, VectorModel } from "../retrieval/ChunkIndex.ts"
import type { MemoryId, MemoryRecord, MemoryVersion } from "./MemoryRecord.ts"

/** The searchable form of a memory: one chunk, ready for the index. */
export type IndexedMemory = Pick<IndexedDocument, "language" | "chunks" | "vectors">

/** Its language and terms, without vectors. */
export type MemoryTerms = Pick<IndexedMemory, "language" | "chunks">

/** A memory beside a written one of its session, with the terms that it has from now on. */
export interface ReweighedMemory {
  readonly id: MemoryId
  readonly content: string
  readonly indexed: MemoryTerms
}

/**
 * A position among the memories of a session that were written by hand: that of a memory, or (`id` null) the one behind all that were said at
 * that moment. They are in the order of `saidAt` (`createdAt` without one), then of storing.
 */
export interface SessionPosition {
  readonly session: string
  /** For the position of a memory, its own moment. */
  readonly at: Date
  readonly id: MemoryId | null
}

/** One memory that is added, changed or deleted. */
export type MemoryChange =
  | { readonly _tag: "Add"; readonly memory: MemoryRecord; readonly indexed: IndexedMemory }
  | {
      readonly _tag: "Update"
      /** The new state of the memory; `createdAt` is not changed. */
      readonly memory: MemoryRecord
      readonly indexed: IndexedMemory
    }
  | { readonly _tag: "Delete"; readonly id: MemoryId }

/**
 * The result of a change. `Known`: the memory `id` has this text already. `Merged`: the memory `id` would have got the text of another one,
 * and became an earlier version of that one. `Gone`: there is no such memory. `Full`: the principal has
 * as many memories as permitted, and this one was not added.
 */
export interface MemoryOutcome {
  readonly event: "Added" | "Updated" | "Merged" | "Deleted" | "Known" | "Gone" | "Full"
  readonly id: MemoryId
}

/** The run that the changes were learned from, and the time when its learning was ordered. */
export interface LearnedRun {
  readonly runId: RunId
  readonly orderedAt: Date
  /** The thread that it was learned from. */
  readonly threadId?: ThreadId
}

/** Changes that are stored in one step. */
export interface MemoryChanges {
  readonly assistantId: AssistantId
  readonly changes: ReadonlyArray<MemoryChange>
  readonly beside: ReadonlyArray<ReweighedMemory>
  /** Null: changes by hand. */
  readonly learned: LearnedRun | null
  readonly at: Date
  /** The most memories that the principal may have with all assistants; absent or null: no limit. */
  readonly most?: number | null
}

/** The outcomes for a run, with the texts of those memories that still exist. */
export interface AppliedRun {
  readonly assistantId: AssistantId
  readonly outcomes: ReadonlyArray<MemoryOutcome & { readonly content: string | null }>
  readonly appliedAt: Date
}

/** How many memories were removed. */
export interface RemovedMemories {
  readonly memories: number
  /** Their earlier versions. */
  readonly versions: number
}

/** A page of memories, and how many there are. */
export interface MemoryListing {
  readonly memories: ReadonlyArray<MemoryRecord>
  readonly total: number
}

/** What is searched among the memories of an assistant. */
export interface MemorySearch {
  readonly assistantId: AssistantId
  readonly terms: ChunkSearch["terms"]
  readonly vector: ChunkSearch["vector"]
  readonly limit: number
  /** Memories that are no longer true at this time are not found; null: they are found. */
  readonly trueAt: Date | null
}

/** A memory that a search found, with its scores. */
export interface MemoryHit {
  readonly memory: MemoryRecord
  /** 0 to 1; comparable within one search only. */
  readonly score: number
  readonly lexical: number | null
  readonly semantic: number | null
}

export class MemoryStore extends Context.Service<
  MemoryStore,
  {
    /** Whether vectors are stored. If not, given vectors are ignored, and every search is lexical. */
    readonly keepsVectors: boolean
    /**
     * MUST make all changes, in order, in one step, and return the outcome of each. When there is no such assistant, MUST change nothing
     * and return none.
     * - An `Add` that would be a copy of another memory MUST leave that one unchanged (`Known`, with its id). For a run it MUST add the
     *   source of the change to its `confirmedBy`: each run once, but not the run that it was learned from, and at most the newest
     *   `mostConfirmations`.
     * - An `Update` by hand that would be a copy of another memory MUST change nothing: `Known`. For a run there is one memory afterwards:
     *   the other one, confirmed as above; the updated one is removed and, with its versions, added to the versions of the other (`Merged`).
     * - An `Add` that would be more than `most` memories of the principal MUST change nothing: `Full`; also of concurrent callers.
     * - An `Update` keeps the old text as a version; a `Delete` removes the memory with all its versions.
     * - After the changes, it MUST replace the terms of each memory of `beside` that still has this content; its vectors stay.
     * - If the run was applied before, MUST change nothing and return the first outcomes. If all memories of the assistant were removed at
     *   or after `orderedAt`, or if the thread of the run is gone, MUST change nothing and return no outcomes. Applied runs are remembered as long as
     *   the assistant exists, or until retention deletes these records (`learnedRuns`).
     */
    readonly apply: (
      changes: MemoryChanges
    ) => Effect.Effect<Option.Option<ReadonlyArray<MemoryOutcome>>, StoreUnavailable, Principal>
    /** MUST return what `apply` returned for the run; none when it was not applied. */
    readonly applied: (runId: RunId) => Effect.Effect<Option.Option<AppliedRun>, StoreUnavailable, Principal>
    readonly get: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<Option.Option<MemoryRecord>, StoreUnavailable, Principal>
    /** MUST return, of these, the memories that the principal has with any assistant; earlier versions are none. */
    readonly existing: (
      ids: ReadonlyArray<MemoryId>
    ) => Effect.Effect<ReadonlyArray<MemoryId>, StoreUnavailable, Principal>
    /** MUST list by the time of learning, oldest first, then in the order of storing; `window` null: all of them. */
    readonly list: (
      assistantId: AssistantId,
      window: { readonly skip: number; readonly limit: number } | null
    ) => Effect.Effect<MemoryListing, StoreUnavailable, Principal>
    /** MUST return the earlier versions of a memory, newest first. */
    readonly history: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<ReadonlyArray<MemoryVersion>, StoreUnavailable, Principal>
    /**
     * MUST return, in order and each once, the memories without a source that are at most `reach` memories before or behind these positions of
     * their sessions; the memory of a position is one of those before it.
     */
    readonly beside: (
      assistantId: AssistantId,
      positions: ReadonlyArray<SessionPosition>,
      reach: number
    ) => Effect.Effect<ReadonlyArray<MemoryRecord>, StoreUnavailable, Principal>
    /** The number of memories, and the time of the last write. */
    readonly survey: (
      assistantId: AssistantId
    ) => Effect.Effect<{ readonly total: number; readonly lastUpdated: Date | null }, StoreUnavailable, Principal>
    /**
     * MUST remove all memories with their versions, terms and vectors, and MUST refuse later changes by runs that were ordered before `at`.
     */
    readonly removeAll: (
      assistantId: AssistantId,
      at: Date
    ) => Effect.Effect<RemovedMemories, StoreUnavailable, Principal>
    /**
     * MUST copy all memories with their vectors and without their versions, under new ids; copies of existing memories are left out.
     * Returns how many.
     */
    readonly copyAll: (from: AssistantId, to: AssistantId) => Effect.Effect<number, StoreUnavailable, Principal>
    /** MUST rank the assistant's memories as `ChunkIndex.search` ranks a scope. */
    readonly search: (search: MemorySearch) => Effect.Effect<ReadonlyArray<MemoryHit>, StoreUnavailable, Principal>
    /**
     * MUST return memories without a vector of this model and length (null: any length), oldest first; none when vectors are not stored.
     */
    readonly withoutVectors: (
      assistantId: AssistantId,
      model: { readonly name: string; readonly dimensions: number | null },
      limit: number
    ) => Effect.Effect<ReadonlyArray<MemoryRecord>, StoreUnavailable, Principal>
    /** MUST set the vector of each memory that still has this content, and replace an older one; returns how many. */
    readonly setVectors: (
      assistantId: AssistantId,
      model: VectorModel,
      vectors: ReadonlyArray<{ readonly id: MemoryId; readonly content: string; readonly values: Float32Array }>
    ) => Effect.Effect<number, StoreUnavailable, Principal>
  }
>()("@colloquy/core/memory/MemoryStore") {}
