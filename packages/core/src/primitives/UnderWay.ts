/**
 * Work that the process must not end in the middle of. The timers and the connections of a kernel that is opened without Effect do not keep
 * its process alive; what is under way does. With Effect, the host's own runtime keeps its process alive, and nothing is counted.
 */
import * as Context from "effect/Context"

/** Counts work that a shutdown waits for. */
export interface UnderWayPort {
  /** Work has begun. Call the returned function once, when it has ended. */
  readonly begin: () => () => void
}

export const UnderWay = Context.Reference<UnderWayPort>("@colloquy/core/primitives/UnderWay", {
  defaultValue: () => ({ begin: () => () => {} })
})
