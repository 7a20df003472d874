/**
 * The implementation of `Answers`. It is a separate module, so that code that only names the use case (the HTTP API) does not import the
 * drivers.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { AnswerReply } from "../models/AnswerDriver.ts"
import { describeModel, mergeModelInfo } from "../models/ModelInfo.ts"
import { Providers } from "../models/Provider.ts"
import { estimateTokens } from "../models/EstimateTokens.ts"
import { newId } from "../primitives/Ids.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import type { Message } from "../threads/Message.ts"
import { readSupplement } from "../threads/Supplement.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { AnswerSetId, answersPartName, AnswersUnusable, readAnswers, TypedAnswers } from "./Answer.ts"
import { contextAsState, textOfState } from "./AnswerContext.ts"
import { ask, findDriver } from "./AnswerModel.ts"
import {
  Answers,
  AnswersNotFound,
  type AnswersRequest,
  NoAnswersFrom,
  OutcomeScopeNotFound,
  type OutcomeRequest,
  QuestionsMalformed,
  type TurnOutcomeRequest
} from "./Answers.ts"
import { AnswerSettings, defaultAnswerSettings } from "./AnswerSettings.ts"
import { checkQuestions } from "./CheckQuestions.ts"
import { judge } from "./Judgement.ts"
import { matchOutcome, outcomeValue } from "./Outcome.ts"
import { OutcomeStore } from "./OutcomeStore.ts"
import { Refusals } from "./Refusals.ts"
import { questionsFingerprint, type Questions } from "./Question.ts"

/** The maximum of outcomes that a report uses, newest first. */
const casesOfReport = 10_000

export const answersLayer: Layer.Layer<Answers, never, Catalog | OutcomeStore | Providers | ThreadStore> = Layer.effect(
  Answers,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const keys = yield* ProviderKeys
    const settings = yield* AnswerSettings
    const outcomes = yield* OutcomeStore
    const providers = yield* Providers
    const threads = yield* ThreadStore
    const refusals = new Refusals()

    const describe = Effect.fnUntraced(function* (id: string, model: string) {
      const provider = providers.all.find((each) => each.id === id)
      if (provider === undefined || findDriver(provider, defaultAnswerSettings) === undefined) return undefined
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
      if (!isKept) return yield* new OutcomeScopeNotFound()
    })

    return Answers.of({
      describe,
      ask: tracedFn("Answers.ask")(function* (request: AnswersRequest) {
        const checked = checkQuestions(request.questions)
        if (Result.isFailure(checked)) return yield* new QuestionsMalformed({ problems: checked.failure })
        const { model, provider: id = providers.defaults.provider } = request
        const provider = providers.all.find((each) => each.id === id)
        const driver = provider && findDriver(provider, settings, refusals)
        if (provider === undefined || driver === undefined) {
          const able = providers.all.filter((each) => findDriver(each, settings) !== undefined)
          return yield* new NoAnswersFrom({ provider: id, registered: able.map((each) => each.id) })
        }
        const answerSetId = yield* newId(AnswerSetId)
        const questions = checked.success
        const asked = {
          provider: id,
          model,
          info: (yield* describe(id, model)) ?? describeModel({ name: model, provider: id, modelType: "llm" }),
          state: contextAsState(request),
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
          questionSet: yield* questionsFingerprint(questions),
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

      outcomesOfThread: tracedFn("Answers.outcomesOfThread")(function* (threadId: ThreadId) {
        if (Option.isNone(yield* threads.get(threadId))) return yield* new ThreadNotFound({ threadId })
        return (yield* outcomes.ofThread(threadId, outcomesOfThread)).map((told) => ({
          answerSetId: told.answerSetId,
          question: told.question,
          outcome: outcomeValue(told),
          recordedAt: told.recordedAt
        }))
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

/** The most outcomes that are given of one thread. */
const outcomesOfThread = 1000

const readKept = Schema.decodeUnknownOption(Schema.toCodecJson(TypedAnswers))

/** The typed answers that a turn kept with its message. */
const typedAnswersIn = (message: Message): Option.Option<TypedAnswers> =>
  readKept(readSupplement(message, answersPartName)?.value)

/** For a provider that reports no usage. */
const estimate = (
  { state, questions }: { readonly state: Schema.Json; readonly questions: Questions },
  { distributions }: AnswerReply
): Usage => ({
  ...noUsage,
  inputTokens: estimateTokens(textOfState(state)) + estimateTokens(JSON.stringify(questions)),
  outputTokens: Object.keys(distributions).length,
  estimated: true
})
