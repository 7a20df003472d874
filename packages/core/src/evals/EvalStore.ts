/**
 * Port: keeps cases, experiments with their results, feedback, and the scores of turns. Feedback and scores of turns belong to their thread, the
 * others to their owner alone.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, CaseId, ExperimentId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { AnsweredOnce } from "../runs/Branches.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { EvalCase } from "./Case.ts"
import type { Feedback } from "./Feedback.ts"
import type { Experiment, ExperimentResult, ExperimentState } from "./Experiment.ts"
import type { OnlineScore, RatedScore } from "./OnlineScore.ts"

/** How many cases to list, from which one on, and with which tag. */
export interface CasePage {
  readonly limit: number
  /** The last case of the page before. */
  readonly after?: CaseId
  /** Only cases with this tag. */
  readonly tag?: string
}

/** How many experiments to read, and after which. */
export interface ExperimentPage {
  readonly limit: number
  /** The last experiment of the page before. */
  readonly after?: ExperimentId
}

/** Which results of an experiment to read. */
export interface ResultPage {
  readonly experimentId: ExperimentId
  readonly limit: number
  /** The number of the last result of the page before. */
  readonly after?: number
}

/** Narrows a list of feedback: by thread or assistant, how many, and from which one on. */
export interface FeedbackPage {
  readonly limit: number
  /** The message of the last feedback of the page before. */
  readonly after?: MessageId
  readonly threadId?: ThreadId
  readonly assistantId?: AssistantId
}

/** Which scores of real turns to list. */
export interface OnlinePage {
  readonly limit: number
  /** The run of the last score of the page before. */
  readonly after?: RunId
  readonly assistantId?: AssistantId
  /** Turns that ended at this time or later, and before that one. */
  readonly from?: Date
  readonly before?: Date
  /** Only turns of which a user gave feedback. */
  readonly rated?: boolean
}

/** How an experiment ended before all its attempts. */
export type ExperimentEnd = Pick<ExperimentState, "reason"> & {
  readonly id: ExperimentId
  readonly status: "stopped" | "cancelled"
  readonly at: Date
}

/** Whether something was stored, or why not. */
export type EvalStored = "stored" | "too_many" | "repeated"

export class EvalStore extends Context.Service<
  EvalStore,
  {
    /**
     * MUST store all of these cases in one step, unless the principal would then have more than `most`; then MUST store nothing. With `once`,
     * MUST store the answer for `RunStore.findAnswered` in the same step; when the key was used within the last 24 hours, MUST store nothing
     * and return "repeated".
     */
    readonly insertCases: (
      cases: ReadonlyArray<EvalCase>,
      most: number,
      once: AnsweredOnce | null
    ) => Effect.Effect<EvalStored, StoreUnavailable, Principal>

    /** MUST return none both for an unknown case and for another owner's. */
    readonly getCase: (id: CaseId) => Effect.Effect<Option.Option<EvalCase>, StoreUnavailable, Principal>

    /** MUST return the principal's cases in the reverse order of their insertion, at most `limit`, and begin behind `after`. */
    readonly listCases: (page: CasePage) => Effect.Effect<ReadonlyArray<EvalCase>, StoreUnavailable, Principal>

    /** MUST replace the case; false if the principal has none with this id. */
    readonly replaceCase: (evalCase: EvalCase) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** MUST delete it, and nothing else; false: there was none. */
    readonly removeCase: (id: CaseId) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /**
     * MUST store the experiment as running, and the follow-ups as `FollowUpStore.add` does, in one step, unless the principal has `most`
     * experiments already. A key is used as by `insertCases`.
     */
    readonly insertExperiment: (
      experiment: Experiment,
      followUps: ReadonlyArray<NewFollowUp>,
      most: number,
      once: AnsweredOnce | null
    ) => Effect.Effect<EvalStored, StoreUnavailable, Principal>

    /** MUST find an experiment of the principal, with how far it is. */
    readonly getExperiment: (
      id: ExperimentId
    ) => Effect.Effect<Option.Option<ExperimentState>, StoreUnavailable, Principal>

    /** The principal's experiments: the last one that was inserted MUST come first, at most `limit`, and pages MUST go on behind `after`. */
    readonly listExperiments: (
      page: ExperimentPage
    ) => Effect.Effect<ReadonlyArray<ExperimentState>, StoreUnavailable, Principal>

    /** MUST end a running experiment; false, and nothing changes, when it has ended or is not there. */
    readonly endExperiment: (end: ExperimentEnd) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /**
     * MUST make an experiment that was stopped or cancelled run again, as it is given, and store the follow-ups, in one step. "kept", and
     * nothing changes: no such experiment of the principal has been stopped or cancelled. A key is used as by `insertCases`.
     */
    readonly resumeExperiment: (
      experiment: Experiment,
      followUps: ReadonlyArray<NewFollowUp>,
      once: AnsweredOnce | null
    ) => Effect.Effect<"resumed" | "kept" | "repeated", StoreUnavailable, Principal>

    /**
     * Stores what an attempt came to, adds its cost, and stores the follow-up of the next attempt, in one step; with the last result the
     * experiment MUST become completed. False, and nothing changes, if the experiment does not run, or has a result of this number.
     */
    readonly recordResult: (
      experimentId: ExperimentId,
      result: ExperimentResult,
      next: NewFollowUp | null
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** MUST add what a try without a result has cost to the cost of this experiment of the principal, also when it has ended. */
    readonly addCost: (experimentId: ExperimentId, costUsd: number) => Effect.Effect<void, StoreUnavailable, Principal>

    /** MUST return results of an experiment by rising numbers, from the first one after `after`, at most `limit`. */
    readonly listResults: (
      page: ResultPage
    ) => Effect.Effect<ReadonlyArray<ExperimentResult>, StoreUnavailable, Principal>

    /** MUST take an experiment away with its results, whether it runs or not; false without such an experiment of the principal. */
    readonly removeExperiment: (id: ExperimentId) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /**
     * MUST keep one feedback for each message: the last one. Without the thread MUST keep nothing and return "missing"; feedback MUST go with its
     * thread. When a rewind takes the message back, feedback MUST name the thread that keeps it, or be gone without one. A key is used as by
     * `insertCases`.
     */
    readonly putFeedback: (
      feedback: Feedback,
      once: AnsweredOnce | null
    ) => Effect.Effect<"stored" | "missing" | "repeated", StoreUnavailable, Principal>

    /** What was given last MUST come first, at most `limit`; of one thread or of one assistant, when they are named. */
    readonly listFeedback: (page: FeedbackPage) => Effect.Effect<ReadonlyArray<Feedback>, StoreUnavailable, Principal>

    /**
     * MUST keep one online score for each run: the first one. False, and nothing changes, if the run has one or its thread is gone. An online
     * score MUST go with its thread. When a rewind takes messages of the run back, the score MUST name the thread that the run has then, or be
     * gone.
     */
    readonly putOnlineScore: (score: OnlineScore) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** MUST find the principal's online score of this run. */
    readonly getOnlineScore: (runId: RunId) => Effect.Effect<Option.Option<OnlineScore>, StoreUnavailable, Principal>

    /**
     * Online scores MUST come in the reverse order of their storing, each with the score of the last feedback on one of its messages. Those
     * that the page leaves out MUST NOT count in its limit.
     */
    readonly listOnlineScores: (
      page: OnlinePage
    ) => Effect.Effect<ReadonlyArray<RatedScore>, StoreUnavailable, Principal>
  }
>()("@colloquy/core/evals/EvalStore") {}
