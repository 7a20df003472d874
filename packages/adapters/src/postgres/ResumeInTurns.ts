/**
 * A fiber goes on inside the call that gives it its result. The results of hundreds of statements can come in one piece from a connection:
 * then their fibers would all go on before the event loop does. Here the fibers that go on at once have some milliseconds of each turn of
 * the loop; the others let other fibers go first, so the scheduler of their requests chooses who is next.
 */
import * as Effect from "effect/Effect"

/** The milliseconds of one turn of the event loop in which fibers go on at once. */
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
