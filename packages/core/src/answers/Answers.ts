/**
 * Use case: typed answers. A host asks directly, without a thread or an assistant, and a turn asks on behalf of a client; both get the same
 * checks, and answers that follow from the probabilities alone. Outcomes are recorded against what was answered, and judged in a report.
 *
 * Money is not asked for here: who asks directly has the usage in his hands, and a turn has asked before it stored anything.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { tracedFn } from "../primitives/Traced.ts"
import type { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { AnswerReply } from "../models/AnswerDriver.ts"
import type { ModelError } from "../models/ModelError.ts"
import { describeModel, mergeModelInfo, type ModelInfo } from "../models/ModelInfo.ts"
import { Providers } from "../models/Provider.ts"
import { estimateTokens } from "../models/TokenCounter.ts"
import { type AssistantId, MessageId, newId, type ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import type { Message } from "../threads/Message.ts"
import { supplementOf } from "../threads/Supplement.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { AnswerSetId, answersPartName, AnswersUnusable, readAnswers, TypedAnswers } from "./Answer.ts"
import { type AnswerContext, stateOf, textOfState } from "./AnswerContext.ts"
import { ask, driverOf } from "./AnswerModel.ts"
import { AnswerSettings, defaultAnswerSettings } from "./AnswerSettings.ts"
import { checkQuestions } from "./CheckQuestions.ts"
import { judge, type QuestionSetReport } from "./Judgement.ts"
import { matchOutcome, type OutcomeRefused, type OutcomeValue } from "./Outcome.ts"
import { OutcomeStore } from "./OutcomeStore.ts"
import { Refusals } from "./Refusals.ts"
import { fingerprintOf, type Questions } from "./Question.ts"

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
    const told = this.problems.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")
    return `The questions cannot be asked. ${told}.`
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

/** How many of the newest outcomes a report looks at. */
const casesOfReport = 10_000

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
>()("@colloquy/core/answers/Answers") {
  static readonly layer: Layer.Layer<Answers, never, Catalog | OutcomeStore | Providers | ThreadStore> = Layer.effect(
    Answers,
    Effect.gen(function* () {
      const catalog = yield* Catalog
      const keys = yield* ProviderKeys
      const outcomes = yield* OutcomeStore
      const providers = yield* Providers
      const threads = yield* ThreadStore
      const refusals = new Refusals()

      const describe = Effect.fnUntraced(function* (id: string, model: string) {
        const provider = providers.all.find((each) => each.id === id)
        if (provider === undefined || driverOf(provider, defaultAnswerSettings) === undefined) return undefined
        const modelType = provider.answers === undefined ? "llm" : "system_one"
        const named = describeModel({ ...provider.describe?.(model), name: model, provider: id, modelType })
        const listed = yield* catalog.known(id, model, modelType)
        return listed === undefined ? named : mergeModelInfo(named, listed)
      })

      const record = tracedFn("Answers.record")(function* (request: OutcomeRequest) {
        const { answer, question } = request
        const matched = yield* Effect.fromResult(matchOutcome(answer, question, request.outcome))
        const isKept = yield* outcomes.record({
          ...matched,
          question,
          answerSetId: answer.id,
          questionSet: answer.questionSet,
          provider: answer.provider,
          model: answer.model,
          method: answer.method,
          assistantId: request.assistantId ?? null,
          threadId: request.threadId ?? null,
          recordedAt: new Date(yield* Clock.currentTimeMillis)
        })
        if (!isKept) return yield* new OutcomePlaceNotFound()
      })

      return Answers.of({
        describe,
        ask: tracedFn("Answers.ask")(function* (request: AnswersRequest) {
          const settings = yield* AnswerSettings
          const checked = checkQuestions(request.questions)
          if (Result.isFailure(checked)) return yield* new QuestionsMalformed({ problems: checked.failure })
          const { model, provider: id = providers.defaults.provider } = request
          const provider = providers.all.find((each) => each.id === id)
          const driver = provider && driverOf(provider, settings, refusals)
          if (provider === undefined || driver === undefined) {
            const able = providers.all.filter((each) => driverOf(each, settings) !== undefined)
            return yield* new NoAnswersFrom({ provider: id, registered: able.map((each) => each.id) })
          }
          const answerSetId = yield* newId(AnswerSetId)
          const questions = checked.success
          const asked = {
            provider: id,
            model,
            info: (yield* describe(id, model)) ?? describeModel({ name: model, provider: id, modelType: "llm" }),
            state: stateOf(request),
            questions,
            apiKey: yield* keys.find(id),
            conversationId: request.conversationId ?? answerSetId
          }
          const reply = yield* ask(driver, asked)
          const usage = reply.usage ?? estimate(asked, reply)
          const answers = readAnswers(questions, reply)
          if (Result.isFailure(answers)) {
            return yield* new AnswersUnusable({ provider: id, model, usage, ...answers.failure })
          }
          return {
            id: answerSetId,
            questionSet: yield* fingerprintOf(questions),
            answers: answers.success,
            provider: id,
            model: reply.model ?? model,
            method: reply.method,
            estimated: reply.estimated,
            usage
          }
        }),

        record,

        recordOfTurn: tracedFn("Answers.recordOfTurn")(function* (request: TurnOutcomeRequest) {
          const { messageId, outcome, question, threadId } = request
          const thread = yield* threads.get(threadId)
          if (Option.isNone(thread)) return yield* new ThreadNotFound({ threadId })
          const message = (yield* threads.messages([threadId])).find(({ id }) => id === messageId)
          const answer = message === undefined ? Option.none() : typedAnswersIn(message)
          if (Option.isNone(answer)) return yield* new AnswersNotFound({ messageId })
          const { assistantId } = thread.value
          yield* record({ answer: answer.value, question, outcome, assistantId, threadId })
        }),

        report: tracedFn("Answers.report")(function* (assistantId: AssistantId | null) {
          const newest = yield* outcomes.newest(assistantId, casesOfReport + 1)
          const cases = newest.slice(0, casesOfReport)
          return {
            questionSets: judge(cases),
            cases: cases.length,
            isPartial: newest.length > cases.length
          }
        })
      })
    })
  )
}

const readKept = Schema.decodeUnknownOption(Schema.toCodecJson(TypedAnswers))

/** What a turn kept with its answer. */
const typedAnswersIn = (message: Message): Option.Option<TypedAnswers> =>
  readKept(supplementOf(message, answersPartName)?.value)

/** For a provider that does not tell. */
const estimate = (
  { state, questions }: { readonly state: Schema.Json; readonly questions: Questions },
  { distributions }: AnswerReply
): Usage => ({
  ...noUsage,
  inputTokens: estimateTokens(textOfState(state)) + estimateTokens(JSON.stringify(questions)),
  outputTokens: Object.keys(distributions).length,
  estimated: true
})
