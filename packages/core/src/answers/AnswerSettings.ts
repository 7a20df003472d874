/** The settings of typed answers. A host replaces the reference, for all requests or, with `Effect.provideService`, for one. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

/** How questions are asked: in which orders, how often, and how failures are repeated. */
export interface AnswerPolicy {
  /** For models that report token probabilities: every question is asked with its options in both orders, and the results are averaged. */
  readonly bothOrders: boolean
  /** For chat models that do not report them: the model writes a distribution as text (`stated`), or is asked many times (`sampled`). */
  readonly withoutLogProbabilities: "stated" | "sampled"
  /** The number of samples of `sampled`. */
  readonly samples: number
  /** The maximum of concurrent requests for one call of `ask`. */
  readonly concurrency: number
  readonly retries: number
  /** If a provider asks for a longer pause than this, the request fails instead of waiting. */
  readonly longestRetryPause: Duration.Input
  /** The time limit of one request. */
  readonly timeout: Duration.Input
}

/** The policy of a host that changes none. */
export const defaultAnswerSettings: AnswerPolicy = {
  bothOrders: false,
  withoutLogProbabilities: "stated",
  samples: 10,
  concurrency: 8,
  retries: 2,
  longestRetryPause: "60 seconds",
  timeout: "1 minute"
}

export const AnswerSettings = Context.Reference<AnswerPolicy>("@colloquy/core/answers/AnswerSettings", {
  defaultValue: () => defaultAnswerSettings
})
