/** Evals: cases, what they expect of an answer, how answers are scored, and what the scores of many cases say. A wing, `@colloquy/core/evals`. */
import { wingLayers } from "../primitives/WingLayer.ts"
import { Evals as UseCases } from "./Evals.ts"
import { layerEvals } from "./EvalsLayer.ts"
import { EvalSettings } from "./EvalSettings.ts"

export { askedFields, askedFromFields, AskedParts, fieldsFromAsked } from "./AskedParts.ts"
export {
  CaseChange,
  CaseMessage,
  CaseNotFound,
  CaseOfTurn,
  type CaseProblem,
  CaseRefused,
  EvalCase,
  NewCase,
  RecordedTool,
  TooManyCases
} from "./Case.ts"
export { type Attempt, CaseResult, failedResult, scoredResult } from "./CaseResult.ts"
export { compare, type ComparedCase, type Comparison, differenceInWords, type Judgement } from "./Comparison.ts"
export { Feedback, FeedbackRefused, NewFeedback } from "./Feedback.ts"
export type { JudgeCalibration } from "./Calibrations.ts"
export type {
  CaseList,
  ExperimentList,
  FeedbackList,
  OnlineRange,
  OnlineReport,
  OnlineScoreList,
  ResultList,
  JudgeOutcome,
  ScoredAnswerIds,
  ScorePosition
} from "./Evals.ts"
export {
  attemptsIn,
  Experiment,
  ExperimentNotFound,
  ExperimentRefused,
  ExperimentResult,
  type ExperimentState,
  ExperimentStatus,
  NewExperiment,
  ExperimentVariant,
  TooManyExperiments,
  VariantNotFound
} from "./Experiment.ts"
export type { EvalSettings } from "./EvalSettings.ts"
export { copyAsTest, type CopyOptions } from "./CopyAsTest.ts"
export {
  type CasePage,
  EvalStore,
  type EvalStored,
  type ExperimentEnd,
  type ExperimentPage,
  type FeedbackPage,
  type OnlinePage,
  type ResultPage
} from "./EvalStore.ts"
export { describeExpectation, Expectation, Expectations, type PlainExpectation } from "./Expectation.ts"
export { judgedReply, JudgedTurn, judgedTurn, type NamedDocument, type TurnFigures } from "./JudgedTurn.ts"
export {
  evaluate,
  type EvaluatedKernel,
  type EvaluateOptions,
  type Evaluation,
  type JudgingOptions,
  readTurn,
  scoreTurn,
  type Variant
} from "./Evaluate.ts"
export { gate, type Gate, type GateOptions } from "./Gate.ts"
export { OnlineScore, OnlineSettings, type RatedScore } from "./OnlineScore.ts"
export type { OnlineDay, OnlineGroup } from "./OnlineSummary.ts"
export { judgeCalibration, judgeOutcome, JudgeScoreNotFound } from "./Judge.ts"
export { comparisonRecord, gateRecord, resultRecord, toJUnit, toMarkdown, variantRecord } from "./Reports.ts"
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
export { simulate, type SimulatedKernel, type SimulateOptions, type Simulation } from "./Simulate.ts"
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
export { CasesUnreadable, readCases, type RecordedOutput, type TestCase } from "./TestCase.ts"
export { type CaseSummary, type ScorerSummary, summarize, type VariantSummary } from "./Summary.ts"

/** The use cases, and the whole wing: `Evals.layer()` over `Kernel.layer`. It gives `Evals`. */
export const Evals = Object.assign(
  UseCases,
  wingLayers(EvalSettings, layerEvals, {
    positive: ["tries", "poll"],
    unchecked: ["scoring", "online"]
  })
)
export type Evals = UseCases
