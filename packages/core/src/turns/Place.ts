/** Step 1 of a turn: its assistant and thread. A new assistant or thread exists in memory only, until the turn is accepted. */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import { type Assistant, AssistantNotFound } from "../assistants/Assistant.ts"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import { newAssistant } from "../assistants/AssistantFields.ts"
import { AssistantId, newId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type Thread, ThreadNotFound } from "../threads/Thread.ts"
import type { ThreadSummary } from "../threads/ThreadSummary.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { TurnRequest } from "./TurnRequest.ts"

export interface Place {
  readonly assistant: Assistant
  readonly thread: Thread
  readonly summary: ThreadSummary | null
  readonly hasDocuments: boolean
  readonly isNewAssistant: boolean
  readonly isNewThread: boolean
  /** As `AssistantStore.ofThread` returned it; null for a new thread. */
  readonly revision: string | null
  /** True if the place was read for an earlier turn. */
  readonly isKnown: boolean
}

/** The turn was decided or refused on a remembered place that is outdated. It must be decided again, on the place as it is now. */
export class PlaceOutdated extends Data.TaggedError("PlaceOutdated") {}

/** If a thread is given, its own assistant is used and a given assistant is ignored. If neither is given, both are created. */
export const findPlace = Effect.fnUntraced(function* (
  assistants: typeof AssistantStore.Service,
  embedding: Assistant["embedding"],
  request: TurnRequest
) {
  if (request.threadId !== undefined) {
    const found = yield* assistants.ofThread(request.threadId)
    if (Option.isNone(found)) return yield* new ThreadNotFound({ threadId: request.threadId })
    return { ...found.value, isNewAssistant: false, isNewThread: false, isKnown: false }
  }
  const at = new Date(yield* Clock.currentTimeMillis)
  const assistant =
    request.assistantId === undefined
      ? newAssistant(yield* newId(AssistantId), { name: "Assistant", embedding }, at)
      : yield* findAssistant(assistants, request.assistantId)
  const threadId = yield* newId(ThreadId)
  const thread: Thread = { id: threadId, assistantId: assistant.id, metadata: null, createdAt: at, updatedAt: at }
  const isNewAssistant = request.assistantId === undefined
  const made = { isNewAssistant, isNewThread: true, isKnown: false, revision: null }
  return { assistant, thread, summary: null, hasDocuments: !isNewAssistant, ...made }
})

const findAssistant = Effect.fnUntraced(function* (store: typeof AssistantStore.Service, id: AssistantId) {
  const found = yield* store.get(id)
  return Option.isSome(found) ? found.value : yield* new AssistantNotFound({ assistantId: id })
})

export const storeNewPlace = (
  assistants: typeof AssistantStore.Service,
  threads: typeof ThreadStore.Service,
  { assistant, isNewAssistant, isNewThread, thread }: Place
): Effect.Effect<void, AssistantNotFound | StoreUnavailable, Principal> => {
  const assistantStored = isNewAssistant ? assistants.insert(assistant) : Effect.void
  if (!isNewThread) return assistantStored
  return Effect.flatMap(Effect.andThen(assistantStored, threads.insert(thread)), (isStored) =>
    isStored ? Effect.void : new AssistantNotFound({ assistantId: assistant.id })
  )
}

/**
 * Removes the assistant and thread that were created for this turn. Needed when the turn is refused after all, or when it repeats a turn
 * that began elsewhere at the same moment.
 */
export const removeNewPlace = (
  assistants: typeof AssistantStore.Service,
  threads: typeof ThreadStore.Service,
  place: Place
) => {
  if (!place.isNewThread) return Effect.void
  const made = place.isNewAssistant ? assistants.remove(place.assistant.id) : threads.remove(place.thread.id)
  return Effect.ignore(made)
}
