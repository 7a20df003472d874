/** Runs long pure work in the process of the server. It stands apart from `Steps`, so that the process that reads files does not load Effect. */
import * as Effect from "effect/Effect"
import type { Steps } from "./Steps.ts"

/** A step takes well under a millisecond. */
const stepsAtOnce = 16

/** Runs the steps and lets other fibers and the network run in between. An exception is a defect. */
export const runYielding = <A>(steps: Steps<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    for (let left = stepsAtOnce; left > 0; left--) {
      const step = steps.next()
      if (step.done === true) return Effect.succeed(step.value)
    }
    return Effect.andThen(Effect.yieldNow, runYielding(steps))
  })
