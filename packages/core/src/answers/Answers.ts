/**
 * Use case: typed answers. A host asks directly, without a thread or an assistant; a turn asks for a client. Both get the same checks, and
 * answers that are computed from probabilities only. Outcomes are recorded for given answers, and a report judges the answers by them.
 *
 * This service does not ask for credit: a host that asks directly gets the usage, and a turn has asked for credit before it stored
 * anything.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { ModelError } from "../models/ModelError.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import { type AssistantId, MessageId, type ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import type { AnswerSetId, AnswersUnusable, TypedAnswers } from "./Answer.ts"
import type { AnswerContext } from "./AnswerContext.ts"
import type { QuestionSetReport } from "./Judgement.ts"
import type { OutcomeRefused, OutcomeValue } from "./Outcome.ts"
import type { Questions } from "./Question.ts"

/** Questions, the situation that they are about, and the model that answers. */
export interface AnswersRequest extends AnswerContext {
  readonly questions: Questions
  readonly model: string
  /** Default: the host's default provider. */
  readonly provider?: string
  /** Stable for a conversation: a cache key for providers that use one. */
  readonly conversationId?: string
}

/** The true answer to one question of a set that was answered before. */
export interface OutcomeRequest {
  readonly answer: TypedAnswers
  readonly question: string
  readonly outcome: OutcomeValue
  /** The assistant and thread of the answer, for a report of the assistant. They must belong to the principal. */
  readonly assistantId?: AssistantId
  readonly threadId?: ThreadId
}

/** An outcome of an answer that a turn gave. */
export interface TurnOutcomeRequest {
  readonly threadId: ThreadId
  /** The answer's message. */
  readonly messageId: MessageId
  readonly question: string
  readonly outcome: OutcomeValue
}

/** What was told of one question of an answer in a thread. */
export interface TurnOutcome {
  /** The id of the answers: of a turn, that of its message. */
  readonly answerSetId: AnswerSetId
  readonly question: string
  readonly outcome: OutcomeValue
  readonly recordedAt: Date
}

/** How right the answers of a host were, for each set of questions. */
export interface AnswersReport {
  readonly questionSets: ReadonlyArray<QuestionSetReport>
  readonly cases: number
  /** True if there are more outcomes than a report uses; the report uses the newest ones. */
  readonly isPartial: boolean
}

/** The questions break a rule. A client's questions are checked before, by `checkTypedAsk`. */
export class QuestionsMalformed extends Schema.TaggedError<QuestionsMalformed>()("QuestionsMalformed", {
  problems: Schema.Array(
    Schema.Struct({
      path: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
      problem: Schema.String,
      message: Schema.String
    })
  )
}) {
  override get message() {
    const sentences = this.problems.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")
    return `The questions are not valid. Correct them and ask again. ${sentences}.`
  }
}

/** The provider gives neither typed answers nor conversations. */
export class NoAnswersFrom extends Schema.TaggedError<NoAnswersFrom>()("NoAnswersFrom", {
  provider: Schema.String,
  registered: Schema.Array(Schema.String)
}) {
  override get message() {
    return `There is no provider "${this.provider}" for typed answers. Registered: ${this.registered.join(", ") || "none"}.`
  }
}

/** The thread has no such message, or the message contains no typed answers. */
export class AnswersNotFound extends Schema.TaggedError<AnswersNotFound>()("AnswersNotFound", {
  messageId: MessageId
}) {
  override get message() {
    return `The thread has no message ${this.messageId} with typed answers.`
  }
}

/** The scope of an outcome, its assistant or its thread, does not exist. */
export class OutcomeScopeNotFound extends Schema.TaggedError<OutcomeScopeNotFound>()("OutcomeScopeNotFound", {}) {
  override get message() {
    return "The assistant or the thread of this answer does not exist. The outcome was not recorded."
  }
}

/** Everything with which `ask` can fail. */
export type AskError = AnswersUnusable | ModelError | NoAnswersFrom | QuestionsMalformed | StoreUnavailable

export class Answers extends Context.Service<
  Answers,
  {
    /** Answers all questions, or fails: no answer is invented for a question that the model did not answer. */
    readonly ask: (request: AnswersRequest) => Effect.Effect<TypedAnswers, AskError, Principal>
    /** Stores the outcome of a question. A second outcome for the same question of the same answer replaces the first. */
    readonly record: (
      request: OutcomeRequest
    ) => Effect.Effect<void, OutcomeScopeNotFound | OutcomeRefused | StoreUnavailable, Principal>
    /** Stores the outcome of an answer that a turn gave. */
    readonly recordOfTurn: (
      request: TurnOutcomeRequest
    ) => Effect.Effect<
      void,
      AnswersNotFound | OutcomeScopeNotFound | OutcomeRefused | StoreUnavailable | ThreadNotFound,
      Principal
    >
    /** What was told of the answers in a thread: the newest thousand, newest first. */
    readonly outcomesOfThread: (
      threadId: ThreadId
    ) => Effect.Effect<ReadonlyArray<TurnOutcome>, StoreUnavailable | ThreadNotFound, Principal>
    /** Information on a model as one that answers; undefined if its provider neither answers nor converses. */
    readonly describe: (provider: string, model: string) => Effect.Effect<ModelInfo | undefined>
    /** How good the answers of an assistant were, or (null) those that were given without an assistant. */
    readonly report: (assistantId: AssistantId | null) => Effect.Effect<AnswersReport, StoreUnavailable, Principal>
  }
>()("@colloquy/core/answers/Answers") {}
