/** Use cases of threads: create, get, list, update, delete. Turns add messages to a thread. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { tracedFn } from "../primitives/Traced.ts"
import { Principal } from "../access/Principal.ts"
import { type AssistantId, newId, ThreadId } from "../primitives/Ids.ts"
import { keyedId } from "../primitives/KeyedId.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { withInnerCalls } from "./InnerCalls.ts"
import type { RunIds } from "../tools/ToolCall.ts"
import type { ListedMessage } from "./ListedMessage.ts"
import type { Message } from "./Message.ts"
import { type Metadata, type Thread, type ThreadInSession, ThreadNotFound } from "./Thread.ts"
import { RecalledTexts } from "./RecalledTexts.ts"
import { Removals } from "./Removals.ts"
import { ThreadStore } from "./ThreadStore.ts"

/** What `threads.get` gives: the record of the conversation, and everything that was said, oldest first. */
export interface ThreadWithMessages<Each = Message> {
  readonly thread: Thread
  readonly messages: ReadonlyArray<Each>
}

/** A thread with its messages as lists show them. */
export type ListedThread = ThreadWithMessages<ListedMessage>

/** Which threads to list, and whether with their messages. */
export interface ThreadListing {
  readonly page: Page
  readonly assistantId?: AssistantId
  readonly includeMessages: boolean
}

export class Threads extends Context.Service<
  Threads,
  {
    /** None when the principal has no such assistant. */
    readonly create: (
      assistantId: AssistantId,
      metadata: Metadata | null,
      assistantVersion?: number | null
    ) => Effect.Effect<Option.Option<Thread>, StoreUnavailable, Principal>
    /**
     * The thread of this assistant that has this name outside of the kernel, such as the id that a client has made for a conversation. The
     * same name finds the same thread in every process; the first call creates it. None when the principal has no such assistant.
     */
    readonly named: (
      assistantId: AssistantId,
      name: string
    ) => Effect.Effect<Option.Option<Thread>, StoreUnavailable, Principal>
    readonly get: (id: ThreadId) => Effect.Effect<ThreadWithMessages, ThreadNotFound | StoreUnavailable, Principal>
    readonly list: (
      listing: ThreadListing
    ) => Effect.Effect<ReadonlyArray<ThreadWithMessages>, StoreUnavailable, Principal>
    /** Some messages of a thread in its order, after `skip` others. An unknown thread has none. */
    readonly messages: (
      id: ThreadId,
      skip: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable, Principal>
    /** `get` and `list` for code that only serialises the messages. */
    readonly show: (id: ThreadId) => Effect.Effect<ListedThread, ThreadNotFound | StoreUnavailable, Principal>
    readonly showAll: (
      listing: ThreadListing
    ) => Effect.Effect<ReadonlyArray<ListedThread>, StoreUnavailable, Principal>
    /** Sets these top-level fields of the thread's metadata and leaves the others. */
    readonly update: (
      id: ThreadId,
      metadata: Metadata
    ) => Effect.Effect<Thread, ThreadNotFound | StoreUnavailable, Principal>
    readonly remove: (
      id: ThreadId
    ) => Effect.Effect<void, ThreadNotFound | ThreadInSession | StoreUnavailable, Principal>
  }
>()("@colloquy/core/threads/Threads") {
  static readonly layer: Layer.Layer<Threads, never, RecalledTexts | Removals | ThreadStore> = Layer.effect(
    Threads,
    Effect.gen(function* () {
      const store = yield* ThreadStore
      const removals = yield* Removals
      const texts = yield* RecalledTexts
      /** A helper's thread goes on only with the run that waits there. */
      const findAnswer = ({ runId, threadId }: RunIds) =>
        Effect.map(store.messagesBefore(threadId, afterAll, 1), (found) => found.find((each) => each.runId === runId))
      const shown = <Each extends ListedMessage>(found: ReadonlyArray<Each>) =>
        Effect.flatMap(texts.messages(found), (all) => withInnerCalls(all, findAnswer))
      const messages: typeof store.messages = (ids) => Effect.flatMap(store.messages(ids), shown)
      const listed: typeof store.listed = (ids) => Effect.flatMap(store.listed(ids), shown)

      const insert = Effect.fnUntraced(function* (
        id: ThreadId,
        { assistantId, assistantVersion, metadata }: Pick<Thread, "assistantId" | "assistantVersion" | "metadata">
      ) {
        const now = new Date(yield* Clock.currentTimeMillis)
        const thread: Thread = { id, assistantId, metadata, assistantVersion, createdAt: now, updatedAt: now }
        return (yield* store.insert(thread)) ? Option.some(thread) : Option.none()
      })

      return Threads.of({
        create: tracedFn("Threads.create")(function* (
          assistantId: AssistantId,
          metadata: Metadata | null,
          assistantVersion: number | null = null
        ) {
          return yield* insert(yield* newId(ThreadId), { assistantId, metadata, assistantVersion })
        }),
        named: tracedFn("Threads.named")(function* (assistantId: AssistantId, name: string) {
          const { ownerId } = yield* Principal
          const id = yield* keyedId(ThreadId, ["named", ownerId, assistantId, name])
          const found = yield* store.get(id)
          if (Option.isSome(found)) return found
          // Two calls may come here at once; the second one finds the thread of the first.
          return yield* Effect.catchDefect(
            insert(id, { assistantId, metadata: null, assistantVersion: null }),
            (defect) =>
              Effect.flatMap(store.get(id), (made) => (Option.isSome(made) ? Effect.succeed(made) : Effect.die(defect)))
          )
        }),
        get: makeGet(store, messages),
        list: makeList(store, messages),
        messages: (id, skip, limit) =>
          Effect.flatMap(store.messagesBefore(id, skip + limit + 1, limit), (found) =>
            shown(found.filter(({ sequence }) => sequence > skip))
          ),
        show: makeGet(store, listed),
        showAll: makeList(store, listed),
        update: tracedFn("Threads.update")(function* (id: ThreadId, metadata: Metadata) {
          yield* store.mergeMetadata(id, metadata)
          const found = yield* store.get(id)
          return Option.isSome(found) ? found.value : yield* new ThreadNotFound({ threadId: id })
        }),
        remove: tracedFn("Threads.remove")(function* (id: ThreadId) {
          const isRemoved = yield* removals.through({ threadId: id }, store.remove(id))
          if (!isRemoved) return yield* new ThreadNotFound({ threadId: id })
        })
      })
    })
  )
}

/** Above every sequence of a message. */
const afterAll = 2_147_483_647

/** Reads the messages of threads. */
type Ask<Each> = (ids: ReadonlyArray<ThreadId>) => Effect.Effect<ReadonlyArray<Each>, StoreUnavailable, Principal>

const makeGet = <Each>(store: typeof ThreadStore.Service, ask: Ask<Each>) =>
  tracedFn("Threads.get")(function* (id: ThreadId) {
    const [found, messages] = yield* Effect.all([store.get(id), ask([id])], { concurrency: 2 })
    if (Option.isNone(found)) return yield* new ThreadNotFound({ threadId: id })
    return { thread: found.value, messages }
  })

const makeList = <Each extends { readonly threadId: ThreadId }>(store: typeof ThreadStore.Service, ask: Ask<Each>) =>
  tracedFn("Threads.list")(function* ({ page, assistantId, includeMessages }: ThreadListing) {
    const threads = yield* store.list(page, assistantId)
    if (!includeMessages || threads.length === 0) return threads.map((thread) => ({ thread, messages: [] }))
    const messages = yield* ask(threads.map((thread) => thread.id))
    const byThread = Map.groupBy(messages, (message) => message.threadId)
    return threads.map((thread) => ({ thread, messages: byThread.get(thread.id) ?? [] }))
  })
