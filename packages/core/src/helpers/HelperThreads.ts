/**
 * The threads on which helpers answer: one for each thread and helper, kept between calls. Its id follows from both, so every process finds
 * the same one, and none is made twice. The metadata of the thread above names them, so that they are removed with it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import type { Colleague } from "../assistants/Colleague.ts"
import { ThreadId } from "../primitives/Ids.ts"
import { keyedId } from "../primitives/KeyedId.ts"
import { firstPage } from "../primitives/Page.ts"
import type { Thread } from "../threads/Thread.ts"
import { newFollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { RunStore } from "../runs/RunStore.ts"
import { childEndKind } from "../turns/ChildEnd.ts"
import { removeLater } from "../turns/ScratchThreads.ts"
import { Removals } from "../threads/Removals.ts"
import { Threads } from "../threads/Threads.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"

/** The field of the upper thread's metadata, and that of the helper's own. */
const field = "helper_threads"
const parentField = "parent_thread_id"

const decodeIds = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.String))

const idsIn = ({ metadata }: Pick<Thread, "metadata">): Readonly<Record<string, string>> =>
  Option.getOrElse(decodeIds(metadata?.[field]), () => ({}))

export const isHelpers = ({ metadata }: Pick<Thread, "metadata">): boolean =>
  typeof metadata?.[parentField] === "string"

const isRelated = (thread: Thread): boolean => isHelpers(thread) || Object.keys(idsIn(thread)).length > 0

export const helperThreads = Effect.gen(function* () {
  const store = yield* ThreadStore
  const threads = yield* Threads
  const removals = yield* Removals
  const runs = yield* RunStore
  const followUps = yield* FollowUps

  const make = Effect.fnUntraced(function* (id: ThreadId, parent: ThreadId, { assistantId, name }: Colleague) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const metadata = { [parentField]: parent, helper: name }
    const made: Thread = { id, assistantId, metadata, assistantVersion: null, createdAt: now, updatedAt: now }
    const above = Option.getOrUndefined(yield* store.get(parent))
    const thread: Thread = above?.scratch === true ? { ...made, scratch: true } : made
    // No list of threads names it, so nobody finds it when it is left behind by a deleted assistant.
    if (thread.scratch === true) yield* removeLater(followUps, id, now)
    yield* store.mergeMetadata(parent, (before) => ({ [field]: { ...idsIn({ metadata: before }), [name]: id } }))
    const isStored = yield* store.insert(thread)
    return isStored ? Option.some(id) : Option.none()
  })

  /** None: there is no such assistant any more. */
  const find = Effect.fnUntraced(function* (parent: ThreadId, helper: Colleague) {
    const { ownerId } = yield* Principal
    const id = yield* keyedId(ThreadId, [ownerId, parent, helper.assistantId, helper.name])
    if (Option.isSome(yield* store.get(id))) return Option.some(id)
    // Two calls of one answer may come here at once; the second one finds the thread of the first.
    return yield* Effect.catchDefect(make(id, parent, helper), (defect) =>
      Effect.flatMap(store.get(id), (found) =>
        Option.isSome(found) ? Effect.succeed(Option.some(id)) : Effect.die(defect)
      )
    )
  })

  /** A thread that was copied names helpers of another thread, which stay. */
  const removeChildren = Effect.fnUntraced(function* (parent: Thread) {
    for (const text of Object.values(idsIn(parent))) {
      const id = ThreadId.make(text)
      const found = yield* store.get(id)
      if (Option.isNone(found) || found.value.metadata?.[parentField] !== parent.id) continue
      yield* Effect.catchTags(threads.remove(id), {
        ThreadNotFound: () => Effect.void,
        // While a voice session writes the helper's thread, the thread stays, as any other thread does.
        ThreadInSession: () => Effect.void
      })
    }
  })

  const allThreads = Effect.fnUntraced(function* (assistantId: Thread["assistantId"]) {
    const { limit } = firstPage
    const found: Array<Thread> = []
    for (let skip = 0; ; skip += limit) {
      const page = yield* store.list({ skip, limit }, assistantId)
      found.push(...page.filter(isRelated))
      if (page.length < limit) return found
    }
  })

  /** The run above that waits for a run of this thread goes on: what it waits for was deleted, or ended by another message. */
  const tellAbove = Effect.fnUntraced(function* ({ metadata }: Pick<Thread, "metadata">) {
    const parent = metadata?.[parentField]
    if (typeof parent !== "string") return
    const threadId = ThreadId.make(parent)
    const waiting = yield* runs.waitingOn(threadId)
    if (Option.isNone(waiting)) return
    const runId = waiting.value.id
    const order = { kind: childEndKind, key: runId, payload: { threadId, runId }, sequence: runId }
    yield* followUps.add([yield* newFollowUp(order)])
  })

  yield* removals.watch(
    Effect.fnUntraced(function* (removed) {
      const found =
        "threadId" in removed
          ? Option.toArray(yield* store.get(removed.threadId))
          : yield* allThreads(removed.assistantId)
      return Effect.forEach(found, (thread) => Effect.andThen(removeChildren(thread), tellAbove(thread)), {
        discard: true
      })
    })
  )

  /** The helpers' threads of a thread. */
  const below = (parent: ThreadId) =>
    Effect.map(store.get(parent), (found) =>
      Option.isNone(found) ? [] : Object.values(idsIn(found.value)).map((id) => ThreadId.make(id))
    )

  return {
    below,
    find,
    tellAbove: (id: ThreadId) =>
      Effect.flatMap(store.get(id), (found) => (Option.isSome(found) ? tellAbove(found.value) : Effect.void))
  }
})
