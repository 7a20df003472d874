/**
 * A callback with a deadline. `Effect.timeout` races two effects: two fibers, and a third that waits for both. Here the fiber that waits
 * for the callback is the only one beside that of the timer, which runs by the clock of the fiber that waits, and so of a test.
 *
 * Used by Transport, once for each answer.
 */
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** Ends with what `register` gives to its callback first, or with `late` when that takes too long. */
export const inTime = <A, E>(
  duration: Duration.Input,
  late: () => Effect.Effect<A, E>,
  register: (resume: (effect: Effect.Effect<A, E>) => void) => void
): Effect.Effect<A, E> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.callback<A, E>((resume) => {
      const timer = Effect.runForkWith(context)(
        Effect.andThen(
          Effect.sleep(duration),
          Effect.sync(() => resume(late()))
        )
      )
      register((effect) => {
        timer.interruptUnsafe()
        resume(effect)
      })
      return Effect.sync(() => timer.interruptUnsafe())
    })
  )
