/** Use cases of assistants: create, get, list, update, clone, delete. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { OverLimit } from "../metering/Quota.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { NameTooLong } from "../models/NameTooLong.ts"
import type { ProviderNotFound } from "../models/Provider.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import type { Metadata, Thread, ThreadNotFound } from "../threads/Thread.ts"
import type {
  Assistant,
  AssistantChanged,
  AssistantInSession,
  AssistantNotFound,
  AssistantPatch,
  AssistantVersionNotFound,
  AssistantVersionUnknown,
  ColleagueNotFound,
  EmbeddingModelFixed
} from "./Assistant.ts"
import type { VersionPage } from "./AssistantStore.ts"
import type { AssistantVersion, VersionedAssistant } from "./AssistantVersions.ts"

/** A name, and every other field that is not the usual one. */
export type NewAssistant = Pick<Assistant, "name"> &
  Partial<AssistantPatch> & {
    readonly embedding?: Partial<Assistant["embedding"]>
  }

/** A page of an assistant's versions. */
export interface VersionList {
  readonly versions: ReadonlyArray<AssistantVersion>
  /** `VersionPage.before` of the next page; null: there is none. */
  readonly next: number | null
}

/** The fields of an assistant that change. */
export type AssistantUpdate = AssistantPatch & { readonly embedding?: Partial<Assistant["embedding"]> }

/** What the clone has instead of the original's, and what it shall be without. */
export interface CloneRequest {
  /** Default: the name of the source, followed by " Copy". */
  readonly name?: string
  readonly systemPrompt?: string | null
  /** Names of copiers (`documents`, `memories`) that are not run. Default: everything is copied. */
  readonly without?: ReadonlyArray<string>
}

/** The new assistant, and how many things of each room came with it. */
export interface ClonedAssistant {
  readonly assistant: Assistant
  /** How many records each copier copied, by its name: `{ documents: 3 }`. */
  readonly copied: Readonly<Record<string, number>>
}

/**
 * The embedding model of new assistants whose request names none. If it names no provider and no model, the first provider with a default
 * is used.
 */
export const DefaultEmbedding = Context.Reference<Assistant["embedding"]>(
  "@colloquy/core/assistants/DefaultEmbedding",
  { defaultValue: () => ({ provider: null, model: null, dimensions: 3072 }) }
)

export class Assistants extends Context.Service<
  Assistants,
  {
    readonly create: (
      assistant: NewAssistant
    ) => Effect.Effect<Assistant, ColleagueNotFound | ProviderNotFound | NameTooLong | StoreUnavailable, Principal>
    readonly get: (id: AssistantId) => Effect.Effect<Assistant, AssistantNotFound | StoreUnavailable, Principal>
    readonly list: (page: Page, name?: string) => Effect.Effect<ReadonlyArray<Assistant>, StoreUnavailable, Principal>
    /**
     * Makes the next version; an update that changes nothing makes none. With `ifVersion`, it fails when the assistant has none of these
     * versions, so that two editors cannot overwrite each other.
     */
    readonly update: (
      id: AssistantId,
      update: AssistantUpdate,
      ifVersion?: ReadonlyArray<number>
    ) => Effect.Effect<
      Assistant,
      | AssistantNotFound
      | AssistantChanged
      | ColleagueNotFound
      | EmbeddingModelFixed
      | ProviderNotFound
      | NameTooLong
      | StoreUnavailable,
      Principal
    >
    /** Newest first. */
    readonly versions: (
      id: AssistantId,
      page: VersionPage
    ) => Effect.Effect<VersionList, AssistantNotFound | StoreUnavailable, Principal>
    readonly version: (
      id: AssistantId,
      version: number
    ) => Effect.Effect<VersionedAssistant, AssistantNotFound | AssistantVersionNotFound | StoreUnavailable, Principal>
    /** Gives the assistant the fields of an earlier version, as its next version. */
    readonly restore: (
      id: AssistantId,
      version: number,
      ifVersion?: ReadonlyArray<number>,
      idempotency?: IdempotencyKey
    ) => Effect.Effect<
      Assistant,
      | AssistantNotFound
      | AssistantChanged
      | AssistantVersionNotFound
      | ColleagueNotFound
      | IdempotencyConflict
      | ProviderNotFound
      | NameTooLong
      | StoreUnavailable,
      Principal
    >
    /**
     * Copies the configuration to a new id, and runs the registered copiers. Threads stay with the source. The clone becomes visible when
     * it is complete; if cloning fails, what was copied is removed.
     */
    readonly clone: (
      id: AssistantId,
      request: CloneRequest
    ) => Effect.Effect<ClonedAssistant, AssistantNotFound | OverLimit | NameTooLong | StoreUnavailable, Principal>
    /** Deletes the assistant with all its threads. Fails while a voice session writes one of them. */
    readonly remove: (
      id: AssistantId
    ) => Effect.Effect<void, AssistantInSession | AssistantNotFound | StoreUnavailable, Principal>
    /** With a version, the thread is answered by that version of the assistant. */
    readonly createThread: (
      id: AssistantId,
      metadata: Metadata | null,
      version?: number | null
    ) => Effect.Effect<Thread, AssistantNotFound | AssistantVersionUnknown | StoreUnavailable, Principal>
    /** From now on this version of its assistant answers in the thread. Null: the present one. */
    readonly pinThread: (
      threadId: ThreadId,
      version: number | null
    ) => Effect.Effect<Thread, ThreadNotFound | AssistantVersionUnknown | StoreUnavailable, Principal>
  }
>()("@colloquy/core/assistants/Assistants") {}
