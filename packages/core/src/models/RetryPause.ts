/** Whether and when a call of a provider is retried. Used by all code that calls a model. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { ModelError } from "./ModelError.ts"

export interface RetryPolicy {
  readonly retries: number
  /** If a provider asks for a longer pause than this, the call fails instead of waiting. */
  readonly longestRetryPause: Duration.Input
}

/** Null: no retry. The pause that the provider asks for comes first; without one, 0.5 s, doubling up to 8 s, with jitter. */
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
