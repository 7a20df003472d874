/**
 * Which thread a session or a ticket is for: a thread given wins over an assistant given; without a thread one is made, and without
 * either an assistant too. Finding and making are two steps, so that a request that is refused leaves nothing behind.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { Assistant, AssistantNotFound } from "../assistants/Assistant.ts"
import type { Assistants } from "../assistants/Assistants.ts"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { ThreadNotFound } from "../threads/Thread.ts"

export interface PlaceRequest {
  readonly threadId: string | null
  readonly assistantId: string | null
}

/** What is there. Null is still to be made. */
export interface FoundPlace {
  readonly assistant: Assistant | null
  readonly threadId: ThreadId | null
}

export interface Place {
  readonly assistantId: AssistantId
  readonly threadId: ThreadId
}

export interface Places {
  readonly find: (
    request: PlaceRequest
  ) => Effect.Effect<FoundPlace, ThreadNotFound | AssistantNotFound | StoreUnavailable, Principal>
  readonly make: (found: FoundPlace) => Effect.Effect<Place, AssistantNotFound | StoreUnavailable, Principal>
}

export const makePlaces = (assistants: typeof Assistants.Service, store: typeof AssistantStore.Service): Places => {
  // Its names are the host's own defaults: one that is not found, or too long, is his mistake.
  const unnamed = Effect.catchTag(
    assistants.create({ name: "Assistant" }),
    ["ProviderNotFound", "NameTooLong"],
    Effect.die
  )
  return {
    find: Effect.fnUntraced(function* (request) {
      if (request.threadId !== null) {
        const threadId = yield* idOf(ThreadId, request.threadId)
        const found = yield* store.ofThread(threadId)
        if (Option.isNone(found)) return yield* new ThreadNotFound({ threadId })
        return { assistant: found.value.assistant, threadId }
      }
      if (request.assistantId === null) return { assistant: null, threadId: null }
      return { assistant: yield* assistants.get(yield* idOf(AssistantId, request.assistantId)), threadId: null }
    }),
    make: Effect.fnUntraced(function* ({ assistant, threadId }) {
      const { id: assistantId } = assistant ?? (yield* unnamed)
      if (threadId !== null) return { assistantId, threadId }
      return { assistantId, threadId: (yield* assistants.createThread(assistantId, null)).id }
    })
  }
}

/** A malformed id is an unknown one. */
const idOf = <Id>(brand: { readonly make: (value: string) => Id }, text: string): Effect.Effect<Id> =>
  Effect.sync(() => brand.make(text === "" ? "none" : text))
