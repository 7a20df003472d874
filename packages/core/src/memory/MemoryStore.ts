/**
 * Port: where memories are kept and searched. A memory, its history, its terms and its vector change in one step, so that a search never
 * finds what is gone and never misses what is there.
 *
 * Everything is about one assistant of the principal. An assistant of another owner, and one that does not exist, MUST look the same: it has
 * no memories, and takes none. What an assistant remembers goes with the assistant.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ChunkSearch, IndexedDocument, VectorModel } from "../retrieval/ChunkIndex.ts"
import type { MemoryId, MemoryRecord, MemoryVersion } from "./MemoryRecord.ts"

/** How a memory is found: one chunk, ready for the index. */
export type IndexedMemory = Pick<IndexedDocument, "language" | "chunks" | "vectors">

export type MemoryChange =
  | { readonly _tag: "Add"; readonly memory: MemoryRecord; readonly indexed: IndexedMemory }
  | {
      readonly _tag: "Update"
      /** As it will be; `createdAt` stays what it was. */
      readonly memory: MemoryRecord
      readonly indexed: IndexedMemory
    }
  | { readonly _tag: "Delete"; readonly id: MemoryId }

/**
 * What became of a change. `Known`: the memory `id` says the same already. `Merged`: the memory `id` would have said what another one says,
 * and became an earlier version of that one. `Gone`: there is no such memory.
 */
export interface MemoryOutcome {
  readonly event: "Added" | "Updated" | "Merged" | "Deleted" | "Known" | "Gone"
  readonly id: MemoryId
}

/** The run that the changes were learned from, and when its learning was ordered. */
export interface LearnedRun {
  readonly runId: RunId
  readonly orderedAt: Date
}

export interface MemoryChanges {
  readonly assistantId: AssistantId
  readonly changes: ReadonlyArray<MemoryChange>
  /** Null: changes by hand. */
  readonly learned: LearnedRun | null
  readonly at: Date
}

/** What was done for a run, with the texts of those memories that are still there. */
export interface AppliedRun {
  readonly assistantId: AssistantId
  readonly outcomes: ReadonlyArray<MemoryOutcome & { readonly content: string | null }>
  readonly appliedAt: Date
}

/** How much was removed. */
export interface RemovedMemories {
  readonly memories: number
  /** What they said before. */
  readonly versions: number
}

export interface MemoryListing {
  readonly memories: ReadonlyArray<MemoryRecord>
  readonly total: number
}

export interface MemorySearch {
  readonly assistantId: AssistantId
  readonly terms: ChunkSearch["terms"]
  readonly vector: ChunkSearch["vector"]
  readonly limit: number
  /** Those that are no longer true at this moment are not found; null: they are. */
  readonly trueAt: Date | null
}

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
    /** Whether vectors are kept. When not, those that are given are dropped, and every search is lexical. */
    readonly keepsVectors: boolean
    /**
     * MUST make all changes, in order, in one step, and answer what became of each; none, and nothing changed, when there is no such assistant.
     * - An `Add` that would be a copy of another memory MUST leave that one as it is (`Known`, with its id), and for a run note the source
     *   of the change in its `confirmedBy`: each run once and not the one that it was learned from, at most `mostConfirmations`, the newest.
     * - An `Update` by hand that would be a copy of another memory MUST change nothing: `Known`. For a run there is one memory afterwards:
     *   the other one, confirmed as above; what was to be updated is gone and stands, with its versions, among those of the other (`Merged`).
     * - An `Update` keeps what was there as a version; a `Delete` removes the memory with all its versions.
     * - For a run MUST change nothing when the run was applied before, and answer what was answered then; and MUST change nothing, and answer
     *   no outcomes, when all memories of the assistant were removed at or after `orderedAt`. Runs that were applied are remembered as long as
     *   the assistant is there, or until retention deletes these records (`learnedRuns`).
     */
    readonly apply: (
      changes: MemoryChanges
    ) => Effect.Effect<Option.Option<ReadonlyArray<MemoryOutcome>>, StoreUnavailable, Principal>
    /** MUST answer what `apply` did for the run; none when it was not applied. */
    readonly applied: (runId: RunId) => Effect.Effect<Option.Option<AppliedRun>, StoreUnavailable, Principal>
    readonly get: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<Option.Option<MemoryRecord>, StoreUnavailable, Principal>
    /** MUST list by the time of learning, oldest first, then in the order of storing; `window` null: all of them. */
    readonly list: (
      assistantId: AssistantId,
      window: { readonly skip: number; readonly limit: number } | null
    ) => Effect.Effect<MemoryListing, StoreUnavailable, Principal>
    /** MUST give what a memory said before, newest first. */
    readonly history: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<ReadonlyArray<MemoryVersion>, StoreUnavailable, Principal>
    /** How many there are, and when one was last written or changed. */
    readonly survey: (
      assistantId: AssistantId
    ) => Effect.Effect<{ readonly total: number; readonly lastUpdated: Date | null }, StoreUnavailable, Principal>
    /** MUST remove all memories with their versions, terms and vectors, and what runs from before `at` are still going to bring. */
    readonly removeAll: (
      assistantId: AssistantId,
      at: Date
    ) => Effect.Effect<RemovedMemories, StoreUnavailable, Principal>
    /** MUST copy all memories, vectors included and versions not, under new ids; copies of what is there already are left out. Answers how many. */
    readonly copyAll: (from: AssistantId, to: AssistantId) => Effect.Effect<number, StoreUnavailable, Principal>
    /** MUST rank the assistant's memories as `ChunkIndex.search` ranks a scope. */
    readonly search: (search: MemorySearch) => Effect.Effect<ReadonlyArray<MemoryHit>, StoreUnavailable, Principal>
    /** MUST give memories that have no vector of this model and length (null: any), oldest first; none when vectors are not kept. */
    readonly withoutVectors: (
      assistantId: AssistantId,
      model: { readonly name: string; readonly dimensions: number | null },
      limit: number
    ) => Effect.Effect<ReadonlyArray<MemoryRecord>, StoreUnavailable, Principal>
    /** MUST set the vector of each memory that still has this content, in the place of an older one; answers how many. */
    readonly setVectors: (
      assistantId: AssistantId,
      model: VectorModel,
      vectors: ReadonlyArray<{ readonly id: MemoryId; readonly content: string; readonly values: Float32Array }>
    ) => Effect.Effect<number, StoreUnavailable, Principal>
  }
>()("@colloquy/core/memory/MemoryStore") {}
