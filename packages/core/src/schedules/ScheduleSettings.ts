/** How a host changes the wing `schedules`. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface ScheduleSettings {
  /** How often the store is asked for times that have come. A turn begins at most this much later than its time. */
  readonly poll: Duration.Input
  /** A time that is found later than this was missed. */
  readonly missedAfter: Duration.Input
  /** How many schedules one owner may have. */
  readonly most: number
  /** The most characters of a message. */
  readonly longestContent: number
}

export const ScheduleSettings = Context.Reference<ScheduleSettings>("@colloquy/core/schedules/ScheduleSettings", {
  defaultValue: () => ({ poll: "2 seconds", missedAfter: "1 minute", most: 100, longestContent: 100_000 })
})
