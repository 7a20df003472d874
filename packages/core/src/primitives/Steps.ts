/**
 * Long pure work in small steps: a generator yields between steps, so that a server can do other work while it splits a large text
 * (`runYielding`). A caller without other work runs all steps at once (`runSteps`).
 */

export type Steps<A> = Generator<void, A>

/** Runs steps to their end without a pause. */
export const runSteps = <A>(steps: Steps<A>): A => {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}
