/** Waits for what no event tells, for example the state of another process. The time limit of the test is the only limit. */
import { setImmediate, setTimeout } from "node:timers/promises"

/** Lets the event loop go on once. */
export const loopTurn = (): Promise<void> => setImmediate()

/**
 * Looks until the condition holds. The first looks follow one another with each turn of the event loop. Later ones leave the CPU to what is
 * waited for: there is a pause between them, which grows to 20 milliseconds.
 */
export const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (let looks = 0; !(await holds()); looks++) {
    await (looks < 20 ? setImmediate() : setTimeout(Math.min(looks - 19, 20)))
  }
}
