/**
 * Use cases of memories: look at them, write them by hand, search, forget, carry them over, and ask how the learning of a turn went. What is
 * written by hand is stored verbatim, without a model. Specification: "Memory". `MemoriesLayer` makes them: naming them carries nothing else.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { AssistantId, RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { MemoryLinesUnusable } from "./MemoryLines.ts"
import type { MemoryId, MemoryNotFound, MemoryRecord, MemoryUnusable, MemoryVersion } from "./MemoryRecord.ts"
import type { AppliedRun, MemoryHit, MemoryListing, RemovedMemories } from "./MemoryStore.ts"

export interface MemoryText {
  readonly content: string
  /** Absent in a change: it stays. */
  readonly metadata?: Schema.JsonObject | null
}

/** The learning of one turn. Its id is the run's. */
export interface MemoryOperation {
  readonly id: RunId
  readonly status: "PENDING" | "IN_PROGRESS" | "COMPLETED" | "FAILED"
  /** What was changed; a memory that is gone since has no content. */
  readonly changes: AppliedRun["outcomes"]
  /** Why it failed. */
  readonly error: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface Imported {
  readonly imported: number
  /** Copies of what is there already. */
  readonly skipped: number
}

type Refused = AssistantNotFound | StoreUnavailable

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
    /** What it said before, newest first. */
    readonly history: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<ReadonlyArray<MemoryVersion>, MemoryNotFound | Refused, Principal>
    /** A copy of an existing memory answers with that one. */
    readonly add: (
      assistantId: AssistantId,
      text: MemoryText
    ) => Effect.Effect<MemoryRecord, MemoryUnusable | Refused, Principal>
    readonly update: (
      assistantId: AssistantId,
      id: MemoryId,
      text: MemoryText
    ) => Effect.Effect<MemoryRecord, MemoryNotFound | MemoryUnusable | Refused, Principal>
    /** With everything that it ever said. */
    readonly remove: (
      assistantId: AssistantId,
      id: MemoryId
    ) => Effect.Effect<RemovedMemories, MemoryNotFound | Refused, Principal>
    /** All memories with everything that they ever said, and what turns until now would still bring. */
    readonly forgetAll: (assistantId: AssistantId) => Effect.Effect<RemovedMemories, Refused, Principal>
    /** Best first. Those that are no longer true are found as well. */
    readonly search: (
      assistantId: AssistantId,
      query: string,
      limit: number
    ) => Effect.Effect<ReadonlyArray<MemoryHit>, Refused, Principal>
    readonly stats: (
      assistantId: AssistantId
    ) => Effect.Effect<{ readonly total: number; readonly lastUpdated: Date | null }, Refused, Principal>
    /** One JSON object a line. */
    readonly export: (assistantId: AssistantId) => Effect.Effect<string, Refused, Principal>
    /** All lines when each is a memory, else none. When the store fails half way, a repeat adds what is missing. */
    readonly import: (
      assistantId: AssistantId,
      lines: string
    ) => Effect.Effect<Imported, MemoryLinesUnusable | Refused, Principal>
    /** None: no turn with this id was learned from, nor will be. */
    readonly operation: (id: RunId) => Effect.Effect<Option.Option<MemoryOperation>, StoreUnavailable, Principal>
  }
>()("@colloquy/core/memory/Memories") {}
