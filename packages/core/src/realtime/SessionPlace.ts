/**
 * The thread of a session or a ticket. If a thread is given, a given assistant is ignored; without a thread a new one is created, and
 * without both also a new assistant. New records are stored in a separate step, so that a refused request leaves nothing behind.
 */
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { embeddingFor } from "../assistants/AssistantFields.ts"
import { DefaultEmbedding } from "../assistants/Assistants.ts"
import { Providers } from "../models/Provider.ts"
import { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { findPlace, type Place, storeNewPlace } from "../turns/Place.ts"

export interface PlaceRequest {
  readonly threadId: string | null
  readonly assistantId: string | null
}

export interface Places {
  /** New records exist in memory only. */
  readonly find: (
    request: PlaceRequest
  ) => Effect.Effect<Place, ThreadNotFound | AssistantNotFound | StoreUnavailable, Principal>
  readonly store: (place: Place) => Effect.Effect<void, AssistantNotFound | StoreUnavailable, Principal>
}

export const makePlaces: Effect.Effect<Places, never, AssistantStore | ThreadStore | Providers> = Effect.gen(
  function* () {
    const assistants = yield* AssistantStore
    const threads = yield* ThreadStore
    const embedding = embeddingFor(yield* DefaultEmbedding, (yield* Providers).all)
    return {
      find: ({ assistantId, threadId }) =>
        findPlace(assistants, embedding, {
          content: "",
          ...(threadId === null ? {} : { threadId: idOf(ThreadId, threadId) }),
          ...(assistantId === null ? {} : { assistantId: idOf(AssistantId, assistantId) })
        }),
      store: (place) => storeNewPlace(assistants, threads, place)
    }
  }
)

/** A malformed id counts as unknown. */
const idOf = <Id>(brand: { readonly make: (value: string) => Id }, text: string): Id =>
  brand.make(text === "" ? "none" : text)
