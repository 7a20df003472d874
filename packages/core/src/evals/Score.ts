/** What one scorer found: a number with its reason. */
import * as Schema from "effect/Schema"

export const Score = Schema.Struct({
  /** The kind of the expectation, or the name of the host's scorer. */
  scorer: Schema.String,
  /** What was expected, in a few words. */
  expected: Schema.String,
  /** From 0 to 1. */
  value: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  passed: Schema.Boolean,
  reason: Schema.String,
  /** What the scorer adds for programs, such as the model that judged. */
  detail: Schema.optionalKey(Schema.Json)
})
export type Score = typeof Score.Type

/** Whether an answer passed its case: every expectation is met. A case without expectations is passed by every answer that did not fail. */
export const isPassed = (isAnswered: boolean, scores: ReadonlyArray<Score>): boolean =>
  isAnswered && scores.every(({ passed }) => passed)
