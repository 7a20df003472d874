/**
 * Informs rooms that keep something for a thread or an assistant elsewhere (chunks, bytes): before it is removed, and again after it was.
 * Rooms register their watchers; `Threads` and `Assistants` remove through this service.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** The id of what is removed. An assistant is removed with all its threads. */
export type RemovedRecord = { readonly assistantId: AssistantId } | { readonly threadId: ThreadId }

/**
 * Called while the record still exists; a failure prevents the removal. The returned effect runs after the removal. It may never run (the
 * process may die), so a watcher whose work must not be lost stores a follow-up first.
 */
export type RemovalWatcher = (
  removed: RemovedRecord
) => Effect.Effect<Effect.Effect<void, StoreUnavailable, Principal>, StoreUnavailable, Principal>

export class Removals extends Context.Service<
  Removals,
  {
    readonly watch: (watcher: RemovalWatcher) => Effect.Effect<void, never, Scope.Scope>
    /** `removal` returns whether there was something to remove. */
    readonly through: <E, R>(
      removed: RemovedRecord,
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
      through: Effect.fnUntraced(function* <E, R>(removed: RemovedRecord, removal: Effect.Effect<boolean, E, R>) {
        const afterwards = yield* Effect.forEach([...watchers], (watcher) => watcher(removed))
        const isRemoved = yield* removal
        if (isRemoved) yield* Effect.forEach(afterwards, doAfterRemoval, { discard: true })
        return isRemoved
      })
    }
  })
}

/** The removal has succeeded. A failure of this effect is logged and does not change the result. */
const doAfterRemoval = (
  afterwards: Effect.Effect<void, StoreUnavailable, Principal>
): Effect.Effect<void, never, Principal> =>
  Effect.catchCause(afterwards, (cause) => Effect.logWarning("The cleanup after a removal failed", cause))
