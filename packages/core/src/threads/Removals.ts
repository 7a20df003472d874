/**
 * Who keeps something with a thread or an assistant outside of their stores (chunks, bytes) is told before one is removed, and again when it
 * is gone. Rooms register their watchers; `Threads` and `Assistants` remove through here.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** An assistant goes with all its threads. */
export type RemovedPlace = { readonly assistantId: AssistantId } | { readonly threadId: ThreadId }

/**
 * Called while the place is still there; a failure keeps it. What it gives runs when the place is gone. That may never happen (the process
 * may die), so a watcher that must not forget stores a follow-up first.
 */
export type RemovalWatcher = (
  place: RemovedPlace
) => Effect.Effect<Effect.Effect<void, StoreUnavailable, Principal>, StoreUnavailable, Principal>

export class Removals extends Context.Service<
  Removals,
  {
    readonly watch: (watcher: RemovalWatcher) => Effect.Effect<void, never, Scope.Scope>
    /** `removal` answers whether there was something to remove. */
    readonly through: <E, R>(
      place: RemovedPlace,
      removal: Effect.Effect<boolean, E, R>
    ) => Effect.Effect<boolean, E | StoreUnavailable, R | Principal>
  }
>()("@colloquy/core/threads/Removals") {
  static readonly layer: Layer.Layer<Removals> = Layer.sync(Removals, () => {
    const watchers = new Set<RemovalWatcher>()
    return {
      watch: (watcher) =>
        Effect.acquireRelease(
          Effect.sync(() => watchers.add(watcher)),
          () => Effect.sync(() => watchers.delete(watcher))
        ).pipe(Effect.asVoid),
      through: Effect.fnUntraced(function* <E, R>(place: RemovedPlace, removal: Effect.Effect<boolean, E, R>) {
        const afterwards = yield* Effect.forEach([...watchers], (watcher) => watcher(place))
        const isRemoved = yield* removal
        if (isRemoved) yield* Effect.forEach(afterwards, doAfterRemoval, { discard: true })
        return isRemoved
      })
    }
  })
}

/** The removal has succeeded; a fault in what follows it is logged and changes nothing of that. */
const doAfterRemoval = (
  afterwards: Effect.Effect<void, StoreUnavailable, Principal>
): Effect.Effect<void, never, Principal> =>
  Effect.catchCause(afterwards, (cause) => Effect.logWarning("Something of a removed place is left for later", cause))
