/**
 * The runs that this process works on: their logs for followers, one heartbeat that renews all their leases, and a way to stop them. A
 * process that takes a run over after a crash needs nothing of this; it reads the store.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { RunId } from "../primitives/Ids.ts"
import { UnderWay } from "../primitives/UnderWay.ts"
import type { LogTail } from "./LogTail.ts"
import type { RunLog } from "./RunLog.ts"
import type { Lease, LogEvent } from "./LogRecords.ts"
import type { RunStore } from "./RunStore.ts"
import { TransientMap } from "../primitives/Transient.ts"

/** Why a leg was stopped from outside; null if it was not. */
export type StopReason = "cancelled" | "lost" | "shutdown"

export interface LiveRun<E extends LogEvent> {
  readonly lease: Lease
  readonly log: RunLog<E>
  readonly tail: LogTail<E>
  stopped: StopReason | null
  fiber: Fiber.Fiber<unknown, unknown> | null
}

export interface LiveRuns<E extends LogEvent> {
  readonly add: (run: LiveRun<E>) => void
  readonly remove: (run: LiveRun<E>) => void
  readonly get: (runId: RunId) => LiveRun<E> | undefined
  readonly all: () => ReadonlyArray<LiveRun<E>>
  /** Stops the work on a run and waits until it is settled. If it is stopped twice, the first reason stays. */
  readonly stop: (runId: RunId, reason: StopReason) => Effect.Effect<void>
  /** Stops this leg of the run, but no later leg. */
  readonly stopRun: (run: LiveRun<E>, reason: StopReason) => Effect.Effect<void>
}

export const makeLiveRuns = <E extends LogEvent>(
  store: typeof RunStore.Service,
  lease: Duration.Duration
): Effect.Effect<LiveRuns<E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runs = new TransientMap<RunId, LiveRun<E>>()
    const { begin } = yield* UnderWay
    const ends = new TransientMap<LiveRun<E>, () => void>()

    const stopRun = (run: LiveRun<E>, reason: StopReason): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (run.fiber === null) return Effect.void
        run.stopped ??= reason
        return Fiber.interrupt(run.fiber)
      })

    const stop = (runId: RunId, reason: StopReason): Effect.Effect<void> =>
      Effect.suspend(() => {
        const run = runs.get(runId)
        return run === undefined ? Effect.void : stopRun(run, reason)
      })

    const renewLeases = Effect.suspend(() => {
      const held = [...runs.values()]
      if (held.length === 0) return Effect.void
      return Effect.flatMap(
        store.renew(
          held.map((run) => run.lease),
          lease
        ),
        ({ lost, cancelRequested }) => {
          // The store's result concerns the legs whose leases were renewed. Meanwhile the next leg of the same run may have begun, with a
          // lease of its own.
          const stopAll = (ids: ReadonlyArray<RunId>, reason: StopReason) =>
            held.filter((run) => ids.includes(run.lease.runId)).map((run) => stopRun(run, reason))
          return Effect.forEach(
            [...stopAll(lost, "lost"), ...stopAll(cancelRequested, "cancelled")],
            (effect) => Effect.forkChild(effect),
            { discard: true }
          )
        }
      )
    })

    yield* renewLeases.pipe(
      // An unavailable store is queried again at the next heartbeat. If a lease expires meanwhile, the next heartbeat reports it as lost.
      Effect.catchTag("StoreUnavailable", () => Effect.void),
      Effect.catchCause((cause) => Effect.logError("The heartbeat of running turns failed; it is repeated", cause)),
      Effect.delay(Duration.times(lease, 1 / 3)),
      Effect.forever,
      Effect.forkScoped
    )

    return {
      add: (run) => {
        ends.set(run, begin())
        runs.set(run.lease.runId, run)
      },
      remove: (run) => {
        ends.get(run)?.()
        ends.delete(run)
        if (runs.get(run.lease.runId) === run) runs.delete(run.lease.runId)
      },
      get: (runId) => runs.get(runId),
      all: () => [...runs.values()],
      stop,
      stopRun
    }
  })
