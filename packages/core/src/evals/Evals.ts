/** The use cases of evals as a service; `EvalsLayer` implements them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { OutcomeRefused, OutcomeValue } from "../answers/Outcome.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { AssistantId, CaseId, ExperimentId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import type { MessageNotFound } from "../turns/TurnErrors.ts"
import type { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import type { JudgeCalibration } from "./Calibrations.ts"
import type { CaseChange, CaseNotFound, CaseOfTurn, CaseRefused, EvalCase, NewCase, TooManyCases } from "./Case.ts"
import type { Comparison } from "./Comparison.ts"
import type { CasePage, ExperimentPage, FeedbackPage, OnlinePage, ResultPage } from "./EvalStore.ts"
import type {
  ExperimentNotFound,
  ExperimentRefused,
  ExperimentResult,
  ExperimentState,
  NewExperiment,
  TooManyExperiments,
  VariantNotFound
} from "./Experiment.ts"
import type { Feedback, FeedbackRefused, NewFeedback } from "./Feedback.ts"
import type { JudgeScoreNotFound } from "./Judge.ts"
import type { OnlineSettings, RatedScore } from "./OnlineScore.ts"
import type { OnlineDay, OnlineGroup } from "./OnlineSummary.ts"
import type { Score } from "./Score.ts"
import type { VariantSummary } from "./Summary.ts"

/** Cases, and where the next page begins. */
export interface CaseList {
  readonly cases: ReadonlyArray<EvalCase>
  /** Older cases follow this one; null: these are the last. */
  readonly next: CaseId | null
}

type MakeError = AssistantNotFound | CaseRefused | TooManyCases | IdempotencyConflict | StoreUnavailable

export interface CaseCalls {
  /** A case of a stored turn, or one that is written by hand. */
  readonly createCase: (
    asked: NewCase | CaseOfTurn,
    idempotency?: IdempotencyKey
  ) => Effect.Effect<EvalCase, MakeError | ThreadNotFound | MessageNotFound, Principal>
  /** All of these cases, or none. The ids are in the order of the cases. */
  readonly importCases: (
    cases: ReadonlyArray<NewCase>,
    idempotency?: IdempotencyKey
  ) => Effect.Effect<ReadonlyArray<CaseId>, MakeError, Principal>
  readonly getCase: (id: CaseId) => Effect.Effect<EvalCase, CaseNotFound | StoreUnavailable, Principal>
  /** Newest first. */
  readonly listCases: (page: CasePage) => Effect.Effect<CaseList, StoreUnavailable, Principal>
  /** Changes what is given. */
  readonly updateCase: (
    id: CaseId,
    change: CaseChange
  ) => Effect.Effect<EvalCase, CaseNotFound | CaseRefused | StoreUnavailable, Principal>
  readonly removeCase: (id: CaseId) => Effect.Effect<void, CaseNotFound | StoreUnavailable, Principal>
  /** The file of `copyAsTest` for a stored turn. The message is the question or an answer to it. */
  readonly copyTurn: (
    threadId: ThreadId,
    messageId: MessageId
  ) => Effect.Effect<string, ThreadNotFound | MessageNotFound | StoreUnavailable, Principal>
}

/** Experiments, and where the next page begins. */
export interface ExperimentList {
  readonly experiments: ReadonlyArray<ExperimentState>
  /** `after` of the next page, which has older experiments; null: this is the last page. */
  readonly next: ExperimentId | null
}

/** Results of attempts, and where the next page begins. */
export interface ResultList {
  readonly results: ReadonlyArray<ExperimentResult>
  /** The position of the last result here, where more have been written. */
  readonly next: number | null
}

type Missing = ExperimentNotFound | StoreUnavailable

export interface ExperimentCalls {
  /** Begins to answer and score. Any process carries on with it, until every attempt has a result. */
  readonly createExperiment: (
    asked: NewExperiment,
    idempotency?: IdempotencyKey
  ) => Effect.Effect<
    ExperimentState,
    AssistantNotFound | CaseNotFound | ExperimentRefused | TooManyExperiments | IdempotencyConflict | StoreUnavailable,
    Principal
  >
  readonly getExperiment: (id: ExperimentId) => Effect.Effect<ExperimentState, Missing, Principal>
  /** Newest first. */
  readonly listExperiments: (page: ExperimentPage) => Effect.Effect<ExperimentList, StoreUnavailable, Principal>
  /** No attempt begins any more, and those under way are ended. An experiment that has ended stays as it is. */
  readonly cancelExperiment: (id: ExperimentId) => Effect.Effect<ExperimentState, Missing, Principal>
  /**
   * Goes on with an experiment that was stopped or cancelled: what has no result is tried. One that runs or is complete stays as it is.
   * `budgetUsd` replaces its budget; null: it has none.
   */
  readonly resumeExperiment: (
    id: ExperimentId,
    change?: { readonly budgetUsd?: number | null },
    idempotency?: IdempotencyKey
  ) => Effect.Effect<ExperimentState, ExperimentRefused | IdempotencyConflict | Missing, Principal>
  /** With its results. One that runs is cancelled. */
  readonly removeExperiment: (id: ExperimentId) => Effect.Effect<void, Missing, Principal>
  /** In the order of the attempts. */
  readonly listResults: (page: ResultPage) => Effect.Effect<ResultList, Missing, Principal>
  /** What the results so far come to, a summary for each variant. */
  readonly summarizeExperiment: (id: ExperimentId) => Effect.Effect<ReadonlyArray<VariantSummary>, Missing, Principal>
  /** How far the judges of its results can be believed, as users and persons who said what is true have it. */
  readonly calibrateExperiment: (id: ExperimentId) => Effect.Effect<ReadonlyArray<JudgeCalibration>, Missing, Principal>
  /** Two variants on the cases that both have answered so far. */
  readonly compareVariants: (
    id: ExperimentId,
    names: { readonly before: string; readonly after: string }
  ) => Effect.Effect<Comparison, VariantNotFound | Missing, Principal>
}

/** Feedback, and where the next page begins. */
export interface FeedbackList {
  readonly feedback: ReadonlyArray<Feedback>
  /** Where older feedback begins. Null: this is all. */
  readonly next: MessageId | null
}

export interface FeedbackCalls {
  /** Keeps what a user thought of an answer, in the place of what was kept before. It goes with its thread. */
  readonly giveFeedback: (
    answer: { readonly threadId: ThreadId; readonly messageId: MessageId },
    feedback: NewFeedback,
    idempotency?: IdempotencyKey
  ) => Effect.Effect<
    Feedback,
    FeedbackRefused | IdempotencyConflict | MessageNotFound | ThreadNotFound | StoreUnavailable,
    Principal
  >
  /** Newest first. */
  readonly listFeedback: (page: FeedbackPage) => Effect.Effect<FeedbackList, StoreUnavailable, Principal>
}

/** Days in UTC: both are included. */
export interface OnlineRange {
  /** Default: 30 days up to `to`. */
  readonly from?: Date
  /** Default: today. */
  readonly to?: Date
  readonly assistantId?: AssistantId
}

/** What online scoring has found in a range of days. */
export interface OnlineReport extends OnlineSettings {
  /** The first moments of the first and the last day. */
  readonly from: Date
  readonly to: Date
  /** The newest first. */
  readonly days: ReadonlyArray<OnlineDay>
  /** The same over all days. */
  readonly versions: ReadonlyArray<OnlineGroup>
  readonly judges: ReadonlyArray<JudgeCalibration>
  /** True if there are more scores than a report reads; it reads the newest ones. */
  readonly isPartial: boolean
}

/** Scores of real turns, and where the next page begins. */
export interface OnlineScoreList {
  readonly scores: ReadonlyArray<RatedScore>
  /** Older scores follow this one's. Null: there are none. */
  readonly next: RunId | null
}

export interface OnlineCalls {
  /** Averages by day and by version of the assistant, and the calibration of the judges. */
  readonly onlineReport: (range: OnlineRange) => Effect.Effect<OnlineReport, StoreUnavailable, Principal>
  /** Turn by turn, the last one that was scored first. */
  readonly listOnlineScores: (page: OnlinePage) => Effect.Effect<OnlineScoreList, StoreUnavailable, Principal>
}

/** The ids of an answer with scores: of an experiment's result, or of a turn that was scored online. */
export type ScoredAnswerIds =
  | { readonly experimentId: ExperimentId; readonly number: number }
  | { readonly runId: RunId }

/** A score of such an answer: `score` is its position among the scores, from 0. */
export type ScorePosition = { readonly score: number } & ScoredAnswerIds

/** What a person said is true of the answer of a judge: `score` is the position of its score. */
export interface JudgeOutcome {
  readonly score: number
  readonly outcome: OutcomeValue
  readonly recordedAt: Date
}

export interface JudgeOutcomeCalls {
  /**
   * Keeps what a person says is true of the answer that a judge gave: yes or no as true and false, or one of its options. What is said later
   * replaces it. The calibration of the judge counts it. Gives the score.
   */
  readonly recordJudgeOutcome: (
    at: ScorePosition,
    truth: boolean | string
  ) => Effect.Effect<Score, JudgeScoreNotFound | OutcomeRefused | Missing, Principal>
  /** What was said of the judges' answers about this one, in the order of the scores. */
  readonly listJudgeOutcomes: (
    answer: ScoredAnswerIds
  ) => Effect.Effect<ReadonlyArray<JudgeOutcome>, JudgeScoreNotFound | Missing, Principal>
}

export class Evals extends Context.Service<
  Evals,
  CaseCalls & ExperimentCalls & FeedbackCalls & OnlineCalls & JudgeOutcomeCalls
>()("@colloquy/core/evals/Evals") {}
