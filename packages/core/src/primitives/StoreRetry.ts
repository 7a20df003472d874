/**
 * Repeats a write when the store did not answer, so that the write may have taken effect or not. The first repeat is sent at once, also when
 * the answer was awaited longer than all repeats may take, because only a repeat tells what the first one did; later ones follow after
 * growing pauses. Every write that uses this function may be repeated without harm (the contract of `RunStore`), and the repeat
 * returns the result of the first one.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { isTagged } from "effect/Predicate"
import type { StoreUnavailable } from "./StoreUnavailable.ts"

const longestPause = 1000

export const repeatWhileUnavailable = <A, E, R>(
  write: Effect.Effect<A, E | StoreUnavailable, R>,
  time: Duration.Input
): Effect.Effect<A, E | StoreUnavailable, R> =>
  Effect.clockWith((clock) => {
    const deadline = clock.currentTimeMillisUnsafe() + Duration.toMillis(time)
    const attempt = (pause: number): Effect.Effect<A, E | StoreUnavailable, R> =>
      Effect.catchIf(write, isUnavailable, (unavailable) =>
        pause === 0 || clock.currentTimeMillisUnsafe() < deadline
          ? Effect.andThen(Effect.sleep(pause), attempt(Math.min(longestPause, pause * 2 + 50)))
          : Effect.fail(unavailable)
      )
    return attempt(0)
  })

/** The store did not answer. A refusal is not repeated: nothing of it took effect. */
const isUnavailable = (error: unknown): error is StoreUnavailable =>
  isTagged(error, "StoreUnavailable") && !("isErasing" in error || "isMoving" in error)
