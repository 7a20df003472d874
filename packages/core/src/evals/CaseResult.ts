/** What one attempt at a case came to: the case, the variant that answered, and the scores. All summaries are folds of a list of these. */
import * as Schema from "effect/Schema"
import type { JudgedTurn } from "./JudgedTurn.ts"
import { isPassed, Score } from "./Score.ts"
import { isAnswered } from "./Scorers.ts"

export const CaseResult = Schema.Struct({
  caseId: Schema.String,
  caseName: Schema.String,
  tags: Schema.Array(Schema.String),
  variant: Schema.String,
  /** From 0: the same case may be tried several times. */
  repeat: Schema.Int,
  passed: Schema.Boolean,
  scores: Schema.Array(Score),
  /** Why there are no scores: the attempt could not be made, or the answer could not be judged. Null: it was. */
  error: Schema.NullOr(Schema.String),
  content: Schema.String,
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  assistantVersion: Schema.NullOr(Schema.Int),
  promptHash: Schema.NullOr(Schema.String),
  /** Null: not known. */
  costUsd: Schema.NullOr(Schema.Finite),
  millis: Schema.Finite,
  tokens: Schema.Int
})
export type CaseResult = typeof CaseResult.Type

export type Attempt = Pick<CaseResult, "caseId" | "caseName" | "tags" | "variant" | "repeat">

/** The result of an attempt whose answer was scored. */
export const scoredResult = (attempt: Attempt, turn: JudgedTurn, scores: ReadonlyArray<Score>): CaseResult => ({
  ...attempt,
  passed: isPassed(isAnswered(turn), scores),
  scores,
  error: null,
  content: turn.content,
  provider: turn.provider,
  model: turn.model,
  assistantVersion: turn.assistantVersion,
  promptHash: turn.promptHash,
  costUsd: turn.costUsd,
  millis: turn.millis,
  tokens: turn.usage.inputTokens + turn.usage.outputTokens
})

/** The result of an attempt that could not be made or judged. It is not passed. */
export const failedResult = (attempt: Attempt, error: string): CaseResult => ({
  ...attempt,
  passed: false,
  scores: [],
  error,
  content: "",
  provider: null,
  model: null,
  assistantVersion: null,
  promptHash: null,
  costUsd: null,
  millis: 0,
  tokens: 0
})
