/**
 * Use case: typed answers. A host asks directly, without a thread or an assistant, and a turn asks on behalf of a client; both get the same
 * checks, and answers that follow from the probabilities alone. Outcomes are recorded against what was answered, and judged in a report.
 *
 * Money is not asked for here: a host that asks directly is given the usage, and a turn has asked before it stored anything.
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
import type { AnswersUnusable, TypedAnswers } from "./Answer.ts"
import type { AnswerContext } from "./AnswerContext.ts"
import type { QuestionSetReport } from "./Judgement.ts"
import type { OutcomeRefused, OutcomeValue } from "./Outcome.ts"
import type { Questions } from "./Question.ts"

export interface AnswersRequest extends AnswerContext {
  readonly questions: Questions
  readonly model: string
  /** Default: the host's default provider. */
  readonly provider?: string
  /** Stable for a conversation: a cache key for providers that want one. */
  readonly conversationId?: string
}

export interface OutcomeRequest {
  readonly answer: TypedAnswers
  readonly question: string
  readonly outcome: OutcomeValue
  /** Where the answer was given, for a report of the assistant. They must be the principal's. */
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

export interface AnswersReport {
  readonly questionSets: ReadonlyArray<QuestionSetReport>
  readonly cases: number
  /** There are more outcomes than a report looks at; these are the newest. */
  readonly isPartial: boolean
}

/** The questions break a rule of the specification. A client's questions are checked before, by `checkTypedAsk`. */
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
    return `The questions cannot be asked. ${sentences}.`
  }
}

/** Neither typed answers nor conversations are to be had from it. */
export class NoAnswersFrom extends Schema.TaggedError<NoAnswersFrom>()("NoAnswersFrom", {
  provider: Schema.String,
  registered: Schema.Array(Schema.String)
}) {
  override get message() {
    return `There is no provider "${this.provider}" for typed answers. Registered: ${this.registered.join(", ") || "none"}.`
  }
}

/** The thread has no such message, or the message holds no typed answers. */
export class AnswersNotFound extends Schema.TaggedError<AnswersNotFound>()("AnswersNotFound", {
  messageId: MessageId
}) {
  override get message() {
    return `The thread has no message ${this.messageId} with typed answers.`
  }
}

/** The assistant or the thread of an outcome is not there. */
export class OutcomePlaceNotFound extends Schema.TaggedError<OutcomePlaceNotFound>()("OutcomePlaceNotFound", {}) {
  override get message() {
    return "The assistant or the thread of this answer does not exist. The outcome was not recorded."
  }
}

export type AskError = AnswersUnusable | ModelError | NoAnswersFrom | QuestionsMalformed | StoreUnavailable

export class Answers extends Context.Service<
  Answers,
  {
    /** Answers all questions, or fails: nothing is made up for a question that the model did not answer. */
    readonly ask: (request: AnswersRequest) => Effect.Effect<TypedAnswers, AskError, Principal>
    /** Keeps what turned out to be true; a second outcome for the same question of the same answer replaces the first. */
    readonly record: (
      request: OutcomeRequest
    ) => Effect.Effect<void, OutcomePlaceNotFound | OutcomeRefused | StoreUnavailable, Principal>
    /** The same for an answer that a turn gave. */
    readonly recordOfTurn: (
      request: TurnOutcomeRequest
    ) => Effect.Effect<
      void,
      AnswersNotFound | OutcomePlaceNotFound | OutcomeRefused | StoreUnavailable | ThreadNotFound,
      Principal
    >
    /** What is known of a model as one that answers; undefined when the provider neither answers nor converses. */
    readonly describe: (provider: string, model: string) => Effect.Effect<ModelInfo | undefined>
    /** How good the answers of an assistant were, or those that were given outside of any (null). */
    readonly report: (assistantId: AssistantId | null) => Effect.Effect<AnswersReport, StoreUnavailable, Principal>
  }
>()("@colloquy/core/answers/Answers") {}
