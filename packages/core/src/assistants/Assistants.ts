/** Use cases of assistants: create, get, list, update, clone, delete. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { OverLimit } from "../metering/Quota.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import type { NameTooLong } from "../models/NameTooLong.ts"
import type { ProviderNotFound } from "../models/Provider.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Metadata, Thread } from "../threads/Thread.ts"
import type {
  Assistant,
  AssistantInSession,
  AssistantNotFound,
  AssistantPatch,
  EmbeddingModelFixed
} from "./Assistant.ts"

export type NewAssistant = Pick<Assistant, "name"> &
  Partial<Omit<Assistant, "id" | "embedding" | "createdAt" | "updatedAt">> & {
    readonly embedding?: Partial<Assistant["embedding"]>
  }

export type AssistantUpdate = AssistantPatch & { readonly embedding?: Partial<Assistant["embedding"]> }

export interface CloneRequest {
  /** Default: the name of the source, followed by " Copy". */
  readonly name?: string
  readonly systemPrompt?: string | null
  /** Names of copiers (`documents`, `memories`) that are not run. Default: everything is copied. */
  readonly without?: ReadonlyArray<string>
}

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
    readonly createThread: (
      id: AssistantId,
      metadata: Metadata | null
    ) => Effect.Effect<Thread, AssistantNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/assistants/Assistants") {}
