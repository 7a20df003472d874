/**
 * A fiber continues inside the call that gives it its result. A connection may deliver the results of hundreds of statements in one piece;
 * then all their fibers would continue before the event loop does. Here fibers continue at once for some milliseconds of each turn of the
 * event loop. The others yield, so the scheduler of their requests chooses the next one.
 */
import * as Effect from "effect/Effect"

/** The milliseconds of one turn of the event loop in which fibers continue at once. */
const longestTurn = 8

let spent = 0

const beginTurn = (): void => {
  spent = 0
}

/** Gives the outcome of a statement to the fiber that waits for it. */
export const resumeInTurns = <A, E>(
  resume: (outcome: Effect.Effect<A, E>) => void,
  outcome: Effect.Effect<A, E>
): void => {
  if (spent > longestTurn) {
    resume(Effect.andThen(Effect.yieldNow, outcome))
    return
  }
  const began = performance.now()
  resume(outcome)
  spent += performance.now() - began
  if (spent > longestTurn) setImmediate(beginTurn)
}
