/**
 * Long pure work in small steps: a generator yields between steps, so that a server can do other work while it splits a large text. A
 * caller without other work runs all steps at once (`runSteps`).
 */
import * as Effect from "effect/Effect"

export type Steps<A> = Generator<void, A>

export const runSteps = <A>(steps: Steps<A>): A => {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

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
