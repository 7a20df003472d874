/**
 * Long pure work in small steps: a generator gives way at every `yield`, so that a server goes on with everything else while it cuts a large
 * text. A caller that has nothing else to serve runs all steps at once (`runSteps`).
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

/** Other fibers, and what waits for the network, have their turn in between. An exception is a defect. */
export const runGently = <A>(steps: Steps<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    for (let left = stepsAtOnce; left > 0; left--) {
      const step = steps.next()
      if (step.done === true) return Effect.succeed(step.value)
    }
    return Effect.andThen(Effect.yieldNow, runGently(steps))
  })
