/**
 * Lists of threads with their messages, few at a time: a list may have many megabytes, and all of them are in memory until the list is written.
 * Owners take turns, so who asks for hundreds of lists at once waits for them, and others do not.
 */
import { type OwnerId, Principal } from "@colloquy/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PartitionedSemaphore from "effect/PartitionedSemaphore"

/** How many lists are made at once in this process. */
const atOnce = 4

export class ThreadLists extends Context.Service<
  ThreadLists,
  { readonly inTurn: <A, E, R>(list: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | Principal> }
>()("@colloquy/http/ThreadLists") {
  static readonly layer = Layer.effect(
    ThreadLists,
    Effect.map(PartitionedSemaphore.make<OwnerId>({ permits: atOnce }), (semaphore) => ({
      inTurn: (list) => Principal.use(({ ownerId }) => semaphore.withPermit(ownerId)(list))
    }))
  )
}
