/**
 * Decides which calls may still begin a turn, and counts the calls that are beginning one. A shutdown first refuses new calls. Then it
 * waits for the calls that were admitted and for the runs that they began. At every moment from its first step to its end, a turn is either
 * an admitted call or a running run, so the shutdown misses none.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { RunningTurns } from "./RunningTurns.ts"
import { ShuttingDown } from "./TurnErrors.ts"
import { TurnSettings } from "./TurnSettings.ts"
import { TransientSet } from "../primitives/Transient.ts"

/**
 * How long a closing kernel waits for calls that are still beginning a turn. The limit exists because such a call may hang in the host's
 * own code.
 */
const longestWait = Duration.seconds(10)

export class Admissions extends Context.Service<
  Admissions,
  {
    /** Calls `begin` and runs what it returns, unless the kernel is shutting down. */
    readonly admit: <A, E, R>(begin: () => Effect.Effect<A, E, R>) => Effect.Effect<A, E | ShuttingDown, R>
    /** Refuses new calls from now on and waits until no turn is under way. Turns that outlast `drainTimeout` are stopped and settled. */
    readonly drain: Effect.Effect<void>
    /** Refuses new calls from now on, and stops and settles the turns that are under way. */
    readonly close: Effect.Effect<void>
  }
>()("@colloquy/core/turns/Admissions") {
  static readonly layer: Layer.Layer<Admissions, never, RunningTurns> = Layer.effect(
    Admissions,
    Effect.gen(function* () {
      const running = yield* RunningTurns
      const { drainTimeout } = yield* TurnSettings
      const admitted = new TransientSet<Deferred.Deferred<void>>()
      let refuses = false

      const admissionsEnd = Effect.suspend(() =>
        Effect.forEach([...admitted], (each) => Deferred.await(each), { concurrency: "unbounded", discard: true })
      )
      const runsEnd = Effect.suspend(() =>
        Effect.forEach(
          running.all().flatMap(({ fiber }) => (fiber === null ? [] : [fiber])),
          (fiber) => Fiber.await(fiber),
          { concurrency: "unbounded", discard: true }
        )
      )
      const nothingLeft: Effect.Effect<void> = Effect.suspend(() =>
        admitted.size === 0 && running.all().length === 0
          ? Effect.void
          : Effect.andThen(Effect.andThen(admissionsEnd, runsEnd), nothingLeft)
      )
      const stopRuns = Effect.suspend(() =>
        Effect.forEach(running.all(), (run) => running.stop(run.lease.runId, "shutdown"), {
          concurrency: "unbounded",
          discard: true
        })
      )
      /** Runs are stopped twice, because an admitted call may begin a run while the others are being stopped. */
      const stopAll: Effect.Effect<void> = Effect.gen(function* () {
        yield* stopRuns
        if (admitted.size > 0) yield* Effect.timeoutOption(admissionsEnd, longestWait)
        yield* stopRuns
      })
      const refuse = Effect.sync(() => {
        refuses = true
      })

      return Admissions.of({
        admit: <A, E, R>(begin: () => Effect.Effect<A, E, R>) =>
          Effect.suspend((): Effect.Effect<A, E | ShuttingDown, R> => {
            if (refuses) return Effect.fail(new ShuttingDown())
            const ended = Deferred.makeUnsafe<void>()
            admitted.add(ended)
            return Effect.onExitPrimitive(begin(), () => {
              admitted.delete(ended)
              Deferred.doneUnsafe(ended, Effect.void)
              return undefined
            })
          }),
        drain: Effect.andThen(refuse, Effect.andThen(Effect.timeoutOption(nothingLeft, drainTimeout), stopAll)),
        close: Effect.andThen(refuse, stopAll)
      })
    })
  )
}
