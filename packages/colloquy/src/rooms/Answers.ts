/** The room of typed answers: `answers()`. It adds `colloquy.answers`, `questions` and `state` of messages, and `answers` of replies. */
import { AssistantId, MessageId, ThreadId } from "@colloquy/core"
import {
  Answers,
  answersPartName,
  type AnswerPolicy,
  type AnswersReport,
  type AnswersRequest,
  type OutcomeValue,
  type Questions,
  type TurnOutcome,
  TypedAnswers
} from "@colloquy/core/answers"
import { documentSummaries } from "@colloquy/core/documents"
import {
  type CallOptions,
  readId,
  type Room,
  room,
  type RoomFunctions,
  type RoomTypes,
  type RunCall,
  withOptions
} from "@colloquy/core/promises"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"

export type {
  Answer,
  AnswersReport,
  AnswersRequest,
  OutcomeValue,
  Questions,
  TurnOutcome,
  TypedAnswers
} from "@colloquy/core/answers"

/** The true answer to a question that was asked before. */
export interface NewOutcome {
  /** The reply's thread and message. */
  readonly threadId: string
  readonly messageId: string
  readonly question: string
  readonly outcome: OutcomeValue
}

/** Typed questions and their outcomes: `colloquy.answers`. */
export interface AnswerCalls {
  /** Answers all questions without a thread, or rejects: no answer is invented. */
  readonly ask: (request: AnswersRequest, options?: CallOptions) => Promise<TypedAnswers>
  /** Stores what turned out to be true of an answer that a turn gave. */
  readonly record: (outcome: NewOutcome, options?: CallOptions) => Promise<void>
  /** What was stored of the answers in a thread: the newest thousand, newest first. */
  readonly outcomes: (threadId: string, options?: CallOptions) => Promise<ReadonlyArray<TurnOutcome>>
  /** How good the answers were: of an assistant, or of all that were asked without one. */
  readonly report: (assistantId?: string | null, options?: CallOptions) => Promise<AnswersReport>
}

interface AnswersTypes extends RoomTypes {
  readonly calls: { readonly answers: AnswerCalls }
  readonly request: {
    /** Asked instead of a conversation: the model answers these questions. */
    readonly questions?: Questions
    /** Data that the questions are about. */
    readonly state?: Schema.Json
  }
  /** By the names of the questions; null if the message had none, or if a guard did not let them pass as they were. */
  readonly reply: { readonly answers: TypedAnswers["answers"] | null }
  readonly event: never
}

/** What `answers()` gives. */
export type AnswersRoom = Room<AnswersTypes, RoomNeeds>

export const answers = (given: DeepPartial<AnswerPolicy> = {}): AnswersRoom =>
  room<AnswersTypes>()(Layer.provide(Answers.layer(given), documentSummaries), functions)

const functions = Effect.gen(function* () {
  const service = yield* Answers

  const calls = (run: RunCall): AnswerCalls => ({
    ask: (request, options) => run(() => service.ask(request), options),
    record: ({ messageId, threadId, ...outcome }, options) =>
      run(
        () =>
          service.recordOfTurn({
            ...outcome,
            threadId: readId(ThreadId, threadId),
            messageId: readId(MessageId, messageId)
          }),
        options
      ),
    outcomes: (id, options) => run(() => service.outcomesOfThread(readId(ThreadId, id)), options),
    report: (id, options) => run(() => service.report(id == null ? null : readId(AssistantId, id)), options)
  })

  const joined: RoomFunctions<AnswersTypes> = {
    name: answersPartName,
    fields: ["questions", "state"],
    calls: (run) => ({ answers: calls(run) }),
    begin: ({ questions, state }, request, next) =>
      next(withOptions(request, answersPartName, { questions, ...(state === undefined ? {} : { state }) })),
    reply: ({ supplements }) =>
      Effect.succeed({
        answers: Option.match(decode(supplements[answersPartName]), {
          onNone: () => null,
          onSome: (given) => given.answers
        })
      })
  }
  return joined
})

const decode = Schema.decodeUnknownOption(Schema.toCodecJson(TypedAnswers))
