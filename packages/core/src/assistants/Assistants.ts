/** Use cases of assistants: create, look at, list, update, clone, delete. Specification parts 2 and 4. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import type { NameTooLong } from "../models/NameTooLong.ts"
import type { ProviderNotFound } from "../models/Provider.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Metadata, Thread } from "../threads/Thread.ts"
import type { Assistant, AssistantNotFound, AssistantPatch, EmbeddingModelFixed } from "./Assistant.ts"

export type NewAssistant = Pick<Assistant, "name"> &
  Partial<Omit<Assistant, "id" | "embedding" | "createdAt" | "updatedAt">> & {
    readonly embedding?: Partial<Assistant["embedding"]>
  }

export type AssistantUpdate = AssistantPatch & { readonly embedding?: Partial<Assistant["embedding"]> }

export interface CloneRequest {
  /** Default: the source's name with " Copy" behind it. */
  readonly name?: string
  readonly systemPrompt?: string | null
  /** Names of copiers (`documents`, `memories`) whose part stays behind. Default: everything is copied. */
  readonly without?: ReadonlyArray<string>
}

export interface ClonedAssistant {
  readonly assistant: Assistant
  /** How many of each kind were copied, by the names of the copiers: `{ documents: 3 }`. */
  readonly copied: Readonly<Record<string, number>>
}

/** What a new assistant embeds with when it does not say. Without names: the first provider that has a default. */
export const DefaultEmbedding = Context.Reference<Assistant["embedding"]>(
  "@colloquy/core/assistants/DefaultEmbedding",
  { defaultValue: () => ({ provider: null, model: null, dimensions: 3072 }) }
)

export class Assistants extends Context.Service<
  Assistants,
  {
    readonly create: (
      assistant: NewAssistant
    ) => Effect.Effect<Assistant, ProviderNotFound | NameTooLong | StoreUnavailable, Principal>
    readonly get: (id: AssistantId) => Effect.Effect<Assistant, AssistantNotFound | StoreUnavailable, Principal>
    readonly list: (page: Page, name?: string) => Effect.Effect<ReadonlyArray<Assistant>, StoreUnavailable, Principal>
    readonly update: (
      id: AssistantId,
      update: AssistantUpdate
    ) => Effect.Effect<
      Assistant,
      AssistantNotFound | EmbeddingModelFixed | ProviderNotFound | NameTooLong | StoreUnavailable,
      Principal
    >
    /**
     * Copies the configuration under a new id, and what the registered copiers copy. Threads stay with the source. The clone is seen when
     * all of it is there; one that fails half way is never seen, and what is there of it is removed.
     */
    readonly clone: (
      id: AssistantId,
      request: CloneRequest
    ) => Effect.Effect<ClonedAssistant, AssistantNotFound | StoreUnavailable, Principal>
    /** Deletes the assistant with all its threads. */
    readonly remove: (id: AssistantId) => Effect.Effect<void, AssistantNotFound | StoreUnavailable, Principal>
    readonly createThread: (
      id: AssistantId,
      metadata: Metadata | null
    ) => Effect.Effect<Thread, AssistantNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/assistants/Assistants") {}
