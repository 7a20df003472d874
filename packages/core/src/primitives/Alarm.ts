/**
 * One fiber that wakes at the earliest requested time. With a thousand deadlines, each costs a number in a map instead of a timer and two
 * fibers. Used by `LogWriter` and `Deadlines`.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Alarm {
  /** Requests a wake at this time (in milliseconds), or earlier. */
  readonly at: (time: number) => void
}

/** `work` runs when a time has come, and returns the next one; infinity when there is none. It must not fail. */
export const makeAlarm = (work: (now: number) => Effect.Effect<number>): Effect.Effect<Alarm, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    let planned = Number.POSITIVE_INFINITY
    let isMoved = false
    let wake: (() => void) | null = null

    /** Completes when an earlier time is requested. */
    const moved = Effect.callback<void>((resume) => {
      wake = () => {
        wake = null
        resume(Effect.void)
      }
      if (isMoved) wake()
      return Effect.sync(() => {
        wake = null
      })
    })

    const sleep = Effect.suspend(() => {
      isMoved = false
      if (planned === Number.POSITIVE_INFINITY) return moved
      const pause = planned - clock.currentTimeMillisUnsafe()
      return pause <= 0 ? Effect.void : Effect.raceFirst(moved, clock.sleep(Duration.millis(pause)))
    })

    const round = Effect.andThen(
      sleep,
      Effect.suspend(() => {
        if (clock.currentTimeMillisUnsafe() < planned) return Effect.void
        planned = Number.POSITIVE_INFINITY
        return Effect.map(work(clock.currentTimeMillisUnsafe()), (next) => {
          planned = Math.min(planned, next)
        })
      })
    )
    yield* Effect.forkScoped(Effect.forever(round), { startImmediately: true })

    return {
      at: (time) => {
        if (time >= planned) return
        planned = time
        isMoved = true
        wake?.()
      }
    }
  })
