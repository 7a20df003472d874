/**
 * Stores the logs of all runs of this process while they go on. Events wait for a short pause, and everything that is due at the same time
 * goes into one call: a hundred streams need about as many calls as one. The settlement stores the rest at the end of a leg.
 *
 * A run whose lease is lost is stopped. While the store is unavailable, events wait for the next pause. A log that makes the store's call
 * fail is left to its settlement, so that the other logs are written.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Alarm, makeAlarm } from "../primitives/Alarm.ts"
import type { LiveRun, LiveRuns } from "./LiveRuns.ts"
import type { LogEvent } from "./LogRecords.ts"
import type { RunStore } from "./RunStore.ts"
import { TransientMap } from "../primitives/Transient.ts"

export interface LogWriter<E extends LogEvent> {
  /** Writes the run's log from now on. */
  readonly add: (run: LiveRun<E>) => void
  /** Begins no further write. The settlement stores the rest. */
  readonly close: (run: LiveRun<E>) => void
}

export const makeLogWriter = <E extends LogEvent>(
  store: Pick<typeof RunStore.Service, "append">,
  live: Pick<LiveRuns<E>, "stopRun">
): Effect.Effect<LogWriter<E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    /** Runs with events to write, and the time when they are due. */
    const due = new TransientMap<LiveRun<E>, number>()

    const plan = (run: LiveRun<E>, now: number): void => {
      if (!run.tail.isWaiting) return void due.delete(run)
      const time = run.tail.dueAt(now)
      due.set(run, time)
      alarm.at(time)
    }

    const defer = (run: LiveRun<E>): void => {
      run.tail.notBefore = clock.currentTimeMillisUnsafe() + run.tail.pause
    }

    const write = (runs: ReadonlyArray<LiveRun<E>>): Effect.Effect<void> => {
      const parts = runs.map((run) => ({ run, ...run.tail.rest() }))
      const batches = parts
        .filter(({ events }) => events.length > 0)
        .map(({ events, run }) => ({ lease: run.lease, events }))
      if (batches.length === 0) return Effect.sync(() => parts.forEach(({ end, run }) => run.tail.confirm(end)))
      return store.append(batches).pipe(
        Effect.flatMap(({ later, lost }) => {
          for (const { end, run } of parts) {
            if (later.includes(run.lease.runId)) defer(run)
            else if (!lost.includes(run.lease.runId)) run.tail.confirm(end)
          }
          const lostRuns = runs.filter((run) => !run.tail.isClosed && lost.includes(run.lease.runId))
          for (const { tail } of lostRuns) tail.close()
          return Effect.forEach(lostRuns, (run) => Effect.forkDetach(live.stopRun(run, "lost")), { discard: true })
        }),
        Effect.catchTag("StoreUnavailable", () => Effect.sync(() => runs.forEach(defer))),
        Effect.catchCause((cause) => {
          const [only, ...others] = runs
          if (only === undefined || others.length > 0)
            return Effect.forEach(runs, (run) => write([run]), { discard: true })
          only.tail.close()
          return Effect.logError(`The log of run ${only.lease.runId} cannot be written before its end`, cause)
        })
      )
    }

    const writeDue = (now: number): Effect.Effect<number> =>
      Effect.suspend(() => {
        // Runs that are due soon are included, so that runs with different start times share their calls.
        const runs = [...due].filter(([run, time]) => time - run.tail.pause / 2 <= now).map(([run]) => run)
        return Effect.map(write(runs), () => {
          for (const run of runs) plan(run, clock.currentTimeMillisUnsafe())
          return Math.min(Number.POSITIVE_INFINITY, ...due.values())
        })
      })

    const alarm: Alarm = yield* makeAlarm(writeDue)

    return {
      add: (run) =>
        run.log.listen(() => {
          if (!run.tail.isWaiting || (due.has(run) && !run.tail.isUrgent)) return
          plan(run, clock.currentTimeMillisUnsafe())
        }),
      close: (run) => {
        run.tail.close()
        due.delete(run)
      }
    }
  })
