import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

/** Looks until there is something, as long as it takes: the time of the test is its only limit. */
export const until = <A, R>(found: Effect.Effect<A | null, unknown, R>): Effect.Effect<A, unknown, R> =>
  Effect.flatMap(found, (value) => (value === null ? Effect.fail("not yet") : Effect.succeed(value))).pipe(
    Effect.retry({ schedule: Schedule.spaced("50 millis") })
  )
