/**
 * Signals that a run or a thread has changed, shared by all waiting code of this process: one subscription to the store, and a poll for
 * stores without notifications and for lost ones.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import type { RunSignal } from "./LogRecords.ts"
import type { RunStore } from "./RunStore.ts"
import { TransientMap } from "../primitives/Transient.ts"

export interface RunSignals {
  /**
   * Begins to listen. Returns an effect that completes when something may have changed since it was last awaited (or since the start), and
   * at the latest after the poll interval.
   */
  readonly listen: (id: RunId | ThreadId) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
}

export const makeRunSignals = (
  store: typeof RunStore.Service,
  poll: Duration.Input,
  onCancel: (runId: RunId) => Effect.Effect<void>
): Effect.Effect<RunSignals, never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = new TransientMap<string, Set<() => void>>()
    const tell = (signal: RunSignal) => {
      if (listeners.size === 0) return
      for (const id of [signal.runId, signal.threadId]) for (const notify of new Set(listeners.get(id))) notify()
    }
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    yield* store.onChange((signal) => {
      tell(signal)
      if (signal.cancel) fork(onCancel(signal.runId))
    })
    return {
      listen: Effect.fnUntraced(function* (id) {
        const latch = new SignalLatch()
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            listeners.set(id, (listeners.get(id) ?? new Set()).add(latch.notify))
          }),
          () =>
            Effect.sync(() => {
              const set = listeners.get(id)
              if (set?.delete(latch.notify) === true && set.size === 0) listeners.delete(id)
            })
        )
        return Effect.raceFirst(latch.opened, Effect.sleep(poll))
      })
    }
  })

/** Remembers a signal that came while no fiber waited for it. */
class SignalLatch {
  private pending = false
  private resume: (() => void) | null = null

  readonly notify = (): void => {
    this.pending = true
    this.resume?.()
  }

  readonly opened: Effect.Effect<void> = Effect.callback<void>((resume) => {
    const done = () => {
      this.pending = false
      this.resume = null
      resume(Effect.void)
    }
    if (this.pending) done()
    else this.resume = done
    return Effect.sync(() => {
      this.resume = null
    })
  })
}
