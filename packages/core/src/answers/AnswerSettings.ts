/** How typed answers are asked for. A host replaces the reference, for all or, with `Effect.provideService`, for one ask. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface AnswerPolicy {
  /** For models that tell how probable their tokens are: ask every question with its options in both orders, and average. */
  readonly bothOrders: boolean
  /** For chat models that do not: they write a distribution down, or are asked many times. */
  readonly withoutLogProbabilities: "stated" | "sampled"
  /** How often a model is asked under `sampled`. */
  readonly samples: number
  /** Requests of one ask that are under way at the same time. */
  readonly concurrency: number
  readonly retries: number
  /** A provider that asks for a longer pause than this is reported instead of awaited. */
  readonly longestRetryPause: Duration.Input
  /** For one request. */
  readonly timeout: Duration.Input
}

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
