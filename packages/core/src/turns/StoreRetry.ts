/**
 * A write to the store whose answer did not come, so that it may have taken effect or not: it is sent again, at once and then with a growing pause. Every write
 * that goes through here may be repeated without harm (the promises of `RunStore`), so the caller learns what became of the first one.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

const longestPause = 1000

export const repeatWhileAway = <A, E, R>(
  write: Effect.Effect<A, E | StoreUnavailable, R>,
  time: Duration.Input
): Effect.Effect<A, E | StoreUnavailable, R> =>
  Effect.clockWith((clock) => {
    const deadline = clock.currentTimeMillisUnsafe() + Duration.toMillis(time)
    const attempt = (pause: number): Effect.Effect<A, E | StoreUnavailable, R> =>
      Effect.catchIf(write, isAway, (away) =>
        clock.currentTimeMillisUnsafe() < deadline
          ? Effect.andThen(Effect.sleep(pause), attempt(Math.min(longestPause, pause * 2 + 50)))
          : Effect.fail(away)
      )
    return attempt(0)
  })

const isAway = (error: unknown): error is StoreUnavailable =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "StoreUnavailable"
