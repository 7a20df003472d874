/** Evals: what a case expects of an answer, how answers are scored, and what the scores of many cases say. A wing, `@colloquy/core/evals`. */
export { type Attempt, CaseResult, failedResult, scoredResult } from "./CaseResult.ts"
export { compare, type ComparedCase, type Comparison, differenceInWords, type Judgement } from "./Comparison.ts"
export { describeExpectation, Expectation, Expectations, type PlainExpectation } from "./Expectation.ts"
export { JudgedTurn, judgedTurn, type NamedDocument, type TurnFigures } from "./JudgedTurn.ts"
export { judgeCalibration, judgeOutcome } from "./Judge.ts"
export { isPassed, Score } from "./Score.ts"
export { type Finding, isAnswered, scorePlain, toScore } from "./Scorers.ts"
export {
  type ExpectationOf,
  type Found,
  type HostScorer,
  scorer,
  type Scored,
  type ScoredTurn,
  ScoringFailed,
  type ScoringTools
} from "./Scorer.ts"
export { scoreAll, Scoring, type ScoringSettings } from "./Scoring.ts"
export {
  type BootstrapOptions,
  type Calibration,
  calibrate,
  type Interval,
  mcNemar,
  type MeanDifference,
  pairedBootstrap,
  type Prediction,
  type ReliabilityBin,
  wilsonInterval
} from "./Statistics.ts"
export { type CaseSummary, type ScorerSummary, summarize, type VariantSummary } from "./Summary.ts"
