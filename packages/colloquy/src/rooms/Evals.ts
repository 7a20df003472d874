/** The room of evals: `evals()`. It adds `colloquy.evals`: cases of real turns, and experiments that answer and score them. */
import { AssistantId, MessageId, RunId, ThreadId } from "@colloquy/core"
import { CaseId, ExperimentId, type DeepPartial, type IdempotencyKey } from "@colloquy/core/adapters"
import {
  type CaseChange,
  type CaseList,
  type Comparison,
  type EvalCase,
  type Feedback,
  type FeedbackList,
  type NewFeedback,
  type ExperimentList,
  type ExperimentState,
  type JudgeCalibration,
  type OnlineReport,
  type OnlineScoreList,
  type ResultList,
  type VariantSummary,
  type ExperimentVariant,
  type NewExperiment,
  Evals,
  type EvalSettings,
  type JudgeOutcome,
  type NewCase
} from "@colloquy/core/evals"
import {
  type CallOptions,
  readCount,
  readId,
  readTime,
  type Room,
  room,
  type RoomTypes,
  type RunCall
} from "@colloquy/core/promises"
import * as Effect from "effect/Effect"
import type { RoomNeeds } from "../Store.ts"

export type {
  CaseChange,
  CaseList,
  Comparison,
  EvalCase,
  Expectation,
  ExperimentList,
  ExperimentState,
  Feedback,
  FeedbackList,
  JudgeCalibration,
  JudgeOutcome,
  OnlineReport,
  OnlineScoreList,
  ResultList,
  VariantSummary
} from "@colloquy/core/evals"

/** `NewCase` with the assistant's id as plain text. */
export interface CaseFields extends Omit<NewCase, "assistantId"> {
  readonly assistantId?: string | null
}

/** A turn that becomes a case: its question, or an answer to it. */
export interface TurnForCase extends CaseChange {
  readonly threadId: string
  readonly messageId: string
}

/** One way to answer, as an experiment compares it. */
export interface VariantFields extends Omit<ExperimentVariant, "assistantId"> {
  readonly assistantId?: string
}

/** `NewExperiment` with ids as plain text. */
export interface ExperimentFields extends Omit<NewExperiment, "caseIds" | "variants"> {
  readonly caseIds?: ReadonlyArray<string>
  readonly variants: ReadonlyArray<VariantFields>
}

/** The ids of an answer with scores: of a result of an experiment, or of a sampled turn. */
export type ScoredAnswerIds = { readonly experimentId: string; readonly number: number } | { readonly runId: string }

interface Once {
  readonly idempotency?: IdempotencyKey
}

/** Cases, experiments and feedback: `colloquy.evals`. */
export interface EvalCalls {
  /** A case of a stored turn, or one that is written by hand. With `idempotency`, a repeat within a day gets the first answer. */
  readonly createCase: (asked: (CaseFields | TurnForCase) & Once, options?: CallOptions) => Promise<EvalCase>
  /** All of these cases, or none; their ids, in order. */
  readonly importCases: (
    list: { readonly cases: ReadonlyArray<CaseFields> } & Once,
    options?: CallOptions
  ) => Promise<ReadonlyArray<string>>
  readonly getCase: (caseId: string, options?: CallOptions) => Promise<EvalCase>
  /** Newest first. */
  readonly listCases: (
    page?: { readonly limit?: number; readonly after?: string; readonly tag?: string },
    options?: CallOptions
  ) => Promise<CaseList>
  /** Changes what is given. */
  readonly updateCase: (change: CaseChange & { readonly caseId: string }, options?: CallOptions) => Promise<EvalCase>
  readonly removeCase: (caseId: string, options?: CallOptions) => Promise<void>
  /** A stored turn as a file for Vitest: a scripted model says what the model said, tools answer from the record. */
  readonly copyTurn: (
    answer: { readonly threadId: string; readonly messageId: string },
    options?: CallOptions
  ) => Promise<string>
  /** Begins to answer and score cases, in the background. With `idempotency`, a repeat within a day gets the first answer. */
  readonly createExperiment: (asked: ExperimentFields & Once, options?: CallOptions) => Promise<ExperimentState>
  readonly getExperiment: (experimentId: string, options?: CallOptions) => Promise<ExperimentState>
  /** Newest first. */
  readonly listExperiments: (
    page?: { readonly limit?: number; readonly after?: string },
    options?: CallOptions
  ) => Promise<ExperimentList>
  readonly cancelExperiment: (experimentId: string, options?: CallOptions) => Promise<ExperimentState>
  /** Goes on with what was stopped or cancelled. `budgetUsd` replaces the budget; null: there is none. */
  readonly resumeExperiment: (
    asked: { readonly experimentId: string; readonly budgetUsd?: number | null } & Once,
    options?: CallOptions
  ) => Promise<ExperimentState>
  readonly removeExperiment: (experimentId: string, options?: CallOptions) => Promise<void>
  readonly listResults: (
    page: { readonly experimentId: string; readonly limit?: number; readonly after?: number },
    options?: CallOptions
  ) => Promise<ResultList>
  /** What the results so far come to, for each variant. */
  readonly summarize: (experimentId: string, options?: CallOptions) => Promise<ReadonlyArray<VariantSummary>>
  /** How far the judges of an experiment can be believed, as users and persons who said what is true have it. */
  readonly calibrate: (experimentId: string, options?: CallOptions) => Promise<ReadonlyArray<JudgeCalibration>>
  /** Two variants on the cases that both have answered. */
  readonly compare: (
    names: { readonly experimentId: string; readonly before: string; readonly after: string },
    options?: CallOptions
  ) => Promise<Comparison>
  /** Keeps what a user thought of an answer, in the place of what was kept before. */
  readonly giveFeedback: (
    feedback: NewFeedback & { readonly threadId: string; readonly messageId: string } & Once,
    options?: CallOptions
  ) => Promise<Feedback>
  /** Newest first. */
  readonly listFeedback: (
    page?: {
      readonly limit?: number
      readonly after?: string
      readonly threadId?: string
      readonly assistantId?: string
    },
    options?: CallOptions
  ) => Promise<FeedbackList>
  /** What a person says is true of the answer of a judge: `score` is the position of its score among those of a result or of a sampled turn. */
  readonly recordJudgeOutcome: (
    asked: ScoredAnswerIds & { readonly score: number; readonly outcome: boolean | string },
    options?: CallOptions
  ) => Promise<void>
  /** What persons said is true of the judges' answers about this one, in the order of the scores. */
  readonly listJudgeOutcomes: (answer: ScoredAnswerIds, options?: CallOptions) => Promise<ReadonlyArray<JudgeOutcome>>
  /** What the sampled turns scored, by day and by version of the assistant. Days are in UTC; the default is 30 of them, up to today. */
  readonly online: (
    range?: { readonly from?: Date; readonly to?: Date; readonly assistantId?: string },
    options?: CallOptions
  ) => Promise<OnlineReport>
  /** The sampled turns with their scores, newest first; with `rated`, those of which a user gave feedback. */
  readonly listOnlineScores: (
    page?: {
      readonly limit?: number
      readonly after?: string
      readonly assistantId?: string
      readonly rated?: boolean
    },
    options?: CallOptions
  ) => Promise<OnlineScoreList>
}

interface EvalsTypes extends RoomTypes {
  readonly calls: { readonly evals: EvalCalls }
  readonly event: never
}

/** What `evals()` gives. */
export type EvalsRoom = Room<EvalsTypes, RoomNeeds>

export const evals = (given: DeepPartial<EvalSettings> = {}): EvalsRoom =>
  room<EvalsTypes>()(Evals.layer(given), functions)

const withId = ({ assistantId, ...fields }: CaseFields): NewCase => ({
  ...fields,
  ...(assistantId === undefined ? {} : { assistantId: assistantId === null ? null : readId(AssistantId, assistantId) })
})

const readScored = (ids: ScoredAnswerIds) =>
  "runId" in ids
    ? { runId: readId(RunId, ids.runId) }
    : { experimentId: readId(ExperimentId, ids.experimentId), number: ids.number }

const functions = Effect.gen(function* () {
  const service = yield* Evals
  const calls = (run: RunCall): EvalCalls => ({
    createCase: ({ idempotency, ...asked }, options) =>
      run(
        () =>
          service.createCase(
            "threadId" in asked
              ? { ...asked, threadId: readId(ThreadId, asked.threadId), messageId: readId(MessageId, asked.messageId) }
              : withId(asked),
            idempotency
          ),
        options
      ),
    importCases: ({ cases, idempotency }, options) =>
      run(() => service.importCases(cases.map(withId), idempotency), options),
    getCase: (caseId, options) => run(() => service.getCase(readId(CaseId, caseId)), options),
    listCases: ({ after, limit = 20, tag } = {}, options) =>
      run(
        () =>
          service.listCases({
            limit: readCount("limit", limit),
            ...(tag === undefined ? {} : { tag }),
            ...(after === undefined ? {} : { after: readId(CaseId, after) })
          }),
        options
      ),
    updateCase: ({ caseId, ...change }, options) =>
      run(() => service.updateCase(readId(CaseId, caseId), change), options),
    removeCase: (caseId, options) => run(() => service.removeCase(readId(CaseId, caseId)), options),
    copyTurn: ({ messageId, threadId }, options) =>
      run(() => service.copyTurn(readId(ThreadId, threadId), readId(MessageId, messageId)), options),
    createExperiment: ({ caseIds, idempotency, variants, ...asked }, options) =>
      run(
        () =>
          service.createExperiment(
            {
              ...asked,
              ...(caseIds === undefined ? {} : { caseIds: caseIds.map((id) => readId(CaseId, id)) }),
              variants: variants.map(({ assistantId, ...variant }) => ({
                ...variant,
                ...(assistantId === undefined ? {} : { assistantId: readId(AssistantId, assistantId) })
              }))
            },
            idempotency
          ),
        options
      ),
    getExperiment: (id, options) => run(() => service.getExperiment(readId(ExperimentId, id)), options),
    listExperiments: ({ after, limit = 20 } = {}, options) =>
      run(
        () =>
          service.listExperiments({
            limit: readCount("limit", limit),
            ...(after === undefined ? {} : { after: readId(ExperimentId, after) })
          }),
        options
      ),
    cancelExperiment: (id, options) => run(() => service.cancelExperiment(readId(ExperimentId, id)), options),
    resumeExperiment: ({ experimentId, idempotency, ...change }, options) =>
      run(() => service.resumeExperiment(readId(ExperimentId, experimentId), change, idempotency), options),
    removeExperiment: (id, options) => run(() => service.removeExperiment(readId(ExperimentId, id)), options),
    listResults: ({ after, experimentId, limit = 20 }, options) =>
      run(
        () =>
          service.listResults({
            experimentId: readId(ExperimentId, experimentId),
            limit: readCount("limit", limit),
            ...(after === undefined ? {} : { after: readCount("after", after) })
          }),
        options
      ),
    summarize: (id, options) => run(() => service.summarizeExperiment(readId(ExperimentId, id)), options),
    compare: ({ experimentId, ...names }, options) =>
      run(() => service.compareVariants(readId(ExperimentId, experimentId), names), options),
    calibrate: (id, options) => run(() => service.calibrateExperiment(readId(ExperimentId, id)), options),
    online: ({ assistantId, from, to } = {}, options) =>
      run(
        () =>
          service.onlineReport({
            ...(from === undefined ? {} : { from: readTime("from", from) }),
            ...(to === undefined ? {} : { to: readTime("to", to) }),
            ...(assistantId === undefined ? {} : { assistantId: readId(AssistantId, assistantId) })
          }),
        options
      ),
    listOnlineScores: ({ after, assistantId, limit = 20, ...page } = {}, options) =>
      run(
        () =>
          service.listOnlineScores({
            limit: readCount("limit", limit),
            ...page,
            ...(after === undefined ? {} : { after: readId(RunId, after) }),
            ...(assistantId === undefined ? {} : { assistantId: readId(AssistantId, assistantId) })
          }),
        options
      ),
    recordJudgeOutcome: ({ outcome, score, ...ids }, options) =>
      run(() => Effect.asVoid(service.recordJudgeOutcome({ ...readScored(ids), score }, outcome)), options),
    listJudgeOutcomes: (ids, options) => run(() => service.listJudgeOutcomes(readScored(ids)), options),
    giveFeedback: ({ idempotency, messageId, threadId, ...feedback }, options) =>
      run(
        () =>
          service.giveFeedback(
            { threadId: readId(ThreadId, threadId), messageId: readId(MessageId, messageId) },
            feedback,
            idempotency
          ),
        options
      ),
    listFeedback: ({ after, assistantId, limit = 20, threadId } = {}, options) =>
      run(
        () =>
          service.listFeedback({
            limit: readCount("limit", limit),
            ...(after === undefined ? {} : { after: readId(MessageId, after) }),
            ...(threadId === undefined ? {} : { threadId: readId(ThreadId, threadId) }),
            ...(assistantId === undefined ? {} : { assistantId: readId(AssistantId, assistantId) })
          }),
        options
      )
  })
  return { name: "evals", calls: (run: RunCall) => ({ evals: calls(run) }) }
})
