/** Waiting for work that goes on behind the calls, without a loop in the caller's code. */
import * as Effect from "effect/Effect"

/**
 * Asks until there is an answer. The pauses are real time, also in a test whose clock stands still: what is waited for does not depend on
 * that clock. They grow from 10 to 500 milliseconds.
 */
export const awaited = <A, E, R>(ask: Effect.Effect<A | null, E, R>, pause = 10): Effect.Effect<A, E, R> =>
  Effect.flatMap(ask, (answer) =>
    answer === null
      ? Effect.andThen(realPause(pause), awaited(ask, Math.min(pause * 1.5, 500)))
      : Effect.succeed(answer)
  )

const realPause = (millis: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    // @effect-diagnostics-next-line globalTimersInEffect:off -- real time on purpose
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })
