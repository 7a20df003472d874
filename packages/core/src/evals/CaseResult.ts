/** What one attempt at a case came to: the case, the variant that answered, and the scores. All summaries are folds of a list of these. */
import * as Schema from "effect/Schema"
import type { JudgedTurn } from "./JudgedTurn.ts"
import { isPassed, Score } from "./Score.ts"
import { isAnswered } from "./Scorers.ts"

/** What scores and the figures of a turn come to. */
export const TurnScore = Schema.Struct({
  passed: Schema.Boolean,
  scores: Schema.Array(Score),
  /** Why there are no scores: the attempt could not be made, or the answer could not be judged. Null: it was. */
  error: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  assistantVersion: Schema.NullOr(Schema.Int),
  promptHash: Schema.NullOr(Schema.String),
  /** Null: not known. */
  costUsd: Schema.NullOr(Schema.Finite),
  millis: Schema.Finite,
  tokens: Schema.Int
})
export type TurnScore = typeof TurnScore.Type

export const CaseResult = Schema.Struct({
  caseId: Schema.String,
  caseName: Schema.String,
  tags: Schema.Array(Schema.String),
  variant: Schema.String,
  /** From 0: the same case may be tried several times. */
  repeat: Schema.Int,
  content: Schema.String,
  ...TurnScore.fields
})
export type CaseResult = typeof CaseResult.Type

/** Which case was answered, by which variant, and which repeat it is. */
export type Attempt = Pick<CaseResult, "caseId" | "caseName" | "tags" | "variant" | "repeat">

/** `error`: the turn could not be scored, and is not passed. */
export const turnScore = (turn: JudgedTurn, scores: ReadonlyArray<Score>, error: string | null = null): TurnScore => ({
  passed: error === null && isPassed(isAnswered(turn), scores),
  scores,
  error,
  provider: turn.provider,
  model: turn.model,
  assistantVersion: turn.assistantVersion,
  promptHash: turn.promptHash,
  costUsd: turn.costUsd,
  millis: turn.millis,
  tokens: turn.usage.inputTokens + turn.usage.outputTokens
})

/** The result of an attempt that was answered, with its scores, or why there are none. */
export const scoredResult = (
  attempt: Attempt,
  turn: JudgedTurn,
  scores: ReadonlyArray<Score>,
  error: string | null = null
): CaseResult => ({ ...attempt, content: turn.content, ...turnScore(turn, scores, error) })

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
