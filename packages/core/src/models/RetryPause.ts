/** Whether and when a call of a provider is tried again. Used by everything that asks a model. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { ModelError } from "./ModelError.ts"

export interface RetryPolicy {
  readonly retries: number
  /** A provider that asks for a longer pause than this is reported instead of awaited. */
  readonly longestRetryPause: Duration.Input
}

/** Null: do not try again. The provider's own word on the pause comes first, then 0.5 s doubling to 8 s, with jitter. */
export const pauseBeforeRetry = (
  error: ModelError,
  policy: RetryPolicy,
  failures: number
): Effect.Effect<number | null> =>
  Effect.map(Random.next, (jitter) => {
    if (!error.isRetryable || failures >= policy.retries) return null
    if (error.retryAfterMillis === undefined) return Math.min(8000, 500 * 2 ** failures) * (0.75 + jitter / 2)
    return error.retryAfterMillis > Duration.toMillis(policy.longestRetryPause) ? null : error.retryAfterMillis
  })
