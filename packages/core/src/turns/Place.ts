/**
 * Where a turn takes place: its assistant and thread. If a thread is given, its own assistant is used and a given assistant is ignored. If
 * neither is given, both are created. A new assistant or thread exists in memory only, until the turn is accepted.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { type Assistant, AssistantNotFound, AssistantVersionUnknown } from "../assistants/Assistant.ts"
import { embeddingFor, newAssistant } from "../assistants/AssistantFields.ts"
import { DefaultEmbedding } from "../assistants/Assistants.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { Providers } from "../models/Provider.ts"
import { AssistantId, newId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type Thread, ThreadNotFound } from "../threads/Thread.ts"
import type { ThreadSummary } from "../threads/ThreadSummary.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
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
  /** The revision of a place that was read for an earlier turn; the store compares it. Null: the place was read just now. */
  readonly decidedOn: string | null
}

/** The version that the thread is pinned to. It is one of the thread's own assistant, and of no other that answers in its place. */
const pinnedVersion = ({ assistant, thread }: Place): number | null =>
  assistant.id === thread.assistantId ? thread.assistantVersion : null

/** The turn was decided or refused on a remembered place that is outdated. It must be decided again, on the place as it is now. */
export class PlaceOutdated extends Schema.TaggedError<PlaceOutdated>()("PlaceOutdated", {}) {}

/** The records of a place. */
export class PlaceRecords extends Context.Service<
  PlaceRecords,
  {
    readonly find: (
      request: Pick<TurnRequest, "assistantId" | "threadId">
    ) => Effect.Effect<Place, ThreadNotFound | AssistantNotFound | StoreUnavailable, Principal>
    /** The place with the assistant as it was in the version that a message wants, or else the thread. */
    readonly atVersion: (
      place: Place,
      wanted?: number
    ) => Effect.Effect<Place, AssistantVersionUnknown | StoreUnavailable, Principal>
    /** Stores what is new of a place. */
    readonly storeNew: (place: Place) => Effect.Effect<void, AssistantNotFound | StoreUnavailable, Principal>
    /**
     * Removes what `storeNew` stored. Needed when the turn is refused after all, or when it repeats a turn that began elsewhere at the same
     * moment.
     */
    readonly removeNew: (place: Place) => Effect.Effect<void, never, Principal>
  }
>()("@colloquy/core/turns/PlaceRecords") {
  static readonly layer: Layer.Layer<PlaceRecords, never, AssistantStore | ThreadStore | Providers> = Layer.effect(
    PlaceRecords,
    Effect.gen(function* () {
      const assistants = yield* AssistantStore
      const threads = yield* ThreadStore
      const embedding = embeddingFor(yield* DefaultEmbedding, (yield* Providers).all)

      const findAssistant = Effect.fnUntraced(function* (id: AssistantId) {
        const found = yield* assistants.get(id)
        return Option.isSome(found) ? found.value : yield* new AssistantNotFound({ assistantId: id })
      })

      return PlaceRecords.of({
        find: Effect.fnUntraced(function* ({ assistantId, threadId }) {
          if (threadId !== undefined) {
            const found = yield* assistants.ofThread(threadId)
            if (Option.isNone(found)) return yield* new ThreadNotFound({ threadId })
            return { ...found.value, isNewAssistant: false, isNewThread: false, decidedOn: null }
          }
          const at = new Date(yield* Clock.currentTimeMillis)
          const assistant =
            assistantId === undefined
              ? newAssistant(yield* newId(AssistantId), { name: "Assistant", embedding }, at)
              : yield* findAssistant(assistantId)
          const id = yield* newId(ThreadId)
          const made = { metadata: null, assistantVersion: null, createdAt: at, updatedAt: at }
          const thread: Thread = { id, assistantId: assistant.id, ...made }
          const isNewAssistant = assistantId === undefined
          const isNew = { isNewAssistant, isNewThread: true, revision: null, decidedOn: null }
          return { assistant, thread, summary: null, hasDocuments: !isNewAssistant, ...isNew }
        }),

        atVersion: (place, wanted) => {
          const { assistant } = place
          const version = wanted ?? pinnedVersion(place) ?? assistant.version
          if (version === assistant.version) return Effect.succeed(place)
          return Effect.flatMap(assistants.version(assistant.id, version), (found) =>
            Option.isSome(found)
              ? Effect.succeed({ ...place, assistant: found.value.assistant })
              : new AssistantVersionUnknown({ assistantId: assistant.id, version })
          )
        },

        storeNew: ({ assistant, isNewAssistant, isNewThread, thread }) => {
          const assistantStored = isNewAssistant ? assistants.insert(assistant) : Effect.void
          if (!isNewThread) return assistantStored
          return Effect.flatMap(Effect.andThen(assistantStored, threads.insert(thread)), (isStored) =>
            isStored ? Effect.void : new AssistantNotFound({ assistantId: assistant.id })
          )
        },

        removeNew: (place) => {
          if (!place.isNewThread) return Effect.void
          const made = place.isNewAssistant ? assistants.remove(place.assistant.id) : threads.remove(place.thread.id)
          return Effect.ignore(made)
        }
      })
    })
  )
}
