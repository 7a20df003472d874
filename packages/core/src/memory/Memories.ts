/**
 * Use cases of memories: list, write by hand, search, remove, import and export, and the state of a turn's learning. A memory that is
 * written by hand is stored verbatim, without a model. `MemoriesLayer` implements them; this module imports
 * nothing of that.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { AssistantId, RunId } from "../primitives/Ids.ts"
import type { OverLimit } from "../metering/Quota.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { LinesText, MemoryLinesUnusable } from "./MemoryLines.ts"
import type { MemoryId, MemoryNotFound, MemoryRecord, MemoryUnusable, MemoryVersion } from "./MemoryRecord.ts"
import type { AppliedRun, MemoryHit, MemoryListing, RemovedMemories } from "./MemoryStore.ts"

/** A memory as a person writes it. */
export interface MemoryText {
  readonly content: string
  /** Absent in a change: the metadata stays. */
  readonly metadata?: Schema.JsonObject | null
  /** When, in which conversation and by whom it was said; absent in a change: as it was. */
  readonly saidAt?: Date | null
  readonly session?: string | null
  readonly speaker?: string | null
}

/** The learning of one turn. Its id is the id of the run. */
export interface MemoryOperation {
  readonly id: RunId
  readonly status: "PENDING" | "IN_PROGRESS" | "COMPLETED" | "FAILED"
  /** What was changed; a memory that was removed since has no content. */
  readonly changes: AppliedRun["outcomes"]
  /** The reason of the failure. */
  readonly error: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** How many memories were taken and how many were there already. */
export interface Imported {
  readonly imported: number
  /** Copies of existing memories. */
  readonly skipped: number
}

type Refused = AssistantNotFound | OverLimit | StoreUnavailable

export class Memories extends Context.Service<
  Memories,
  {
    readonly list: (
      assistantId: AssistantId,
      window: { readonly skip: number; readonly limit: number } | null
    ) => Effect.Effect<MemoryListing, Refused, Principal>
    readonly get: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<MemoryRecord, MemoryNotFound | Refused, Principal>
    /** The earlier texts of a memory, newest first. */
    readonly history: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<ReadonlyArray<MemoryVersion>, MemoryNotFound | Refused, Principal>
    /** For a copy of an existing memory, the existing one is returned. */
    readonly add: (
      assistantId: AssistantId,
      text: MemoryText
    ) => Effect.Effect<MemoryRecord, MemoryUnusable | Refused, Principal>
    readonly update: (
      assistantId: AssistantId,
      id: MemoryId,
      text: MemoryText
    ) => Effect.Effect<MemoryRecord, MemoryNotFound | MemoryUnusable | Refused, Principal>
    /** Removes a memory with all its versions. */
    readonly remove: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<RemovedMemories, MemoryNotFound | Refused, Principal>
    /** Removes all memories with all their versions, and prevents memories of turns that began before now. */
    readonly forgetAll: (assistantId: AssistantId) => Effect.Effect<RemovedMemories, Refused, Principal>
    /**
     * Best first. Without `at`, memories that are no longer true are included; with it, only what was true at that time, in the text that the
     * memory had for it.
     */
    readonly search: (
      assistantId: AssistantId,
      query: string,
      limit: number,
      at?: Date | null
    ) => Effect.Effect<ReadonlyArray<MemoryHit>, Refused, Principal>
    /** A sentence when the query is longer than a search takes, otherwise null. */
    readonly noteOn: (query: string) => string | null
    readonly stats: (
      assistantId: AssistantId
    ) => Effect.Effect<{ readonly total: number; readonly lastUpdated: Date | null }, Refused, Principal>
    /** One JSON object per line. */
    readonly export: (assistantId: AssistantId) => Effect.Effect<string, Refused, Principal>
    /** Imports all lines if each is a valid memory, otherwise none. When the store fails half way, a repeat adds what is missing. */
    readonly import: (
      assistantId: AssistantId,
      lines: LinesText
    ) => Effect.Effect<Imported, MemoryLinesUnusable | Refused, Principal>
    /** None: no turn with this id was learned from, or will be. */
    readonly operation: (id: RunId) => Effect.Effect<Option.Option<MemoryOperation>, StoreUnavailable, Principal>
  }
>()("@colloquy/core/memory/Memories") {}
