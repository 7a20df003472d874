/**
 * A model as a judge: a typed question about an answer, whose probability is the score. The whole typed answer is kept with the score, so that
 * the truth can be recorded for it later (`judgeOutcome`), and the judge's calibration is a report of typed answers like any other.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AnswersUnusable, distributionFromAnswer, TypedAnswers } from "../answers/Answer.ts"
import type { AnswersReport, OutcomeRequest } from "../answers/Answers.ts"
import type { QuestionReport } from "../answers/Judgement.ts"
import { questionsFingerprint, type Questions } from "../answers/Question.ts"
import type { Charge } from "../metering/Charge.ts"
import { ModelError } from "../models/ModelError.ts"
import { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { JudgedTurn } from "./JudgedTurn.ts"
import type { Score } from "./Score.ts"
import type { Finding } from "./Scorers.ts"
import { type ExpectationOf, NotScored, type ScoringTools } from "./Scorer.ts"

/** The name of the only question that a judge is asked. */
export const judgeName = "judge"

const judgeQuestions = ({ options, question }: ExpectationOf<"judge">): Questions => ({
  [judgeName]:
    options === undefined
      ? { type: "noul", instructions: question }
      : {
          type: "choice",
          instructions: question,
          criteria: Object.fromEntries(options.map((option) => [option, null])),
          order: options
        }
})

/** What a judge reads. */
const judgeState = ({ content, output, question, toolCalls }: JudgedTurn): Schema.Json => ({
  question,
  answer: content,
  ...(output === null ? {} : { output }),
  ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map((call) => ({ ...call })) })
})

const needed = 0.8

export const judgeTurn = Effect.fnUntraced(function* (
  { ask, judge }: ScoringTools,
  expectation: ExpectationOf<"judge">,
  turn: JudgedTurn,
  charges: Array<Charge>
) {
  if (ask === undefined || judge === undefined) {
    return yield* new NotScored({ reason: "No model judges here. Name one.", retryable: false })
  }
  const payee = { ...judge, purpose: judgeName }
  const answer = yield* ask({ ...judge, state: judgeState(turn), questions: judgeQuestions(expectation) }).pipe(
    Effect.mapError((error) => {
      const isPaid = error instanceof AnswersUnusable || error instanceof ModelError
      if (isPaid && error.usage !== undefined) charges.push({ ...payee, usage: error.usage })
      const retryable =
        error instanceof ModelError
          ? error.isRetryable
          : error instanceof AnswersUnusable || error instanceof StoreUnavailable
      return new NotScored({ reason: error.message, retryable })
    })
  )
  charges.push({ ...payee, usage: answer.usage })
  const { at_least = needed, expected = "yes" } = expectation
  const probability = probabilityIn(answer, expected)
  const finding: Finding = {
    value: probability,
    passed: probability >= at_least,
    reason: `${answer.model} gives "${expected}" the probability ${Number(probability.toFixed(3))}, and ${at_least} is needed.`,
    detail: encode(answer)
  }
  return finding
})

const probabilityIn = ({ answers }: TypedAnswers, expected: string): number => {
  const answer = answers[judgeName]
  if (answer === undefined) return 0
  if (answer.type === "noul") return expected === "yes" ? answer.noul : 1 - answer.noul
  return distributionFromAnswer(answer).find(([option]) => option === expected)?.[1] ?? 0
}

const encode = Schema.encodeSync(Schema.toCodecJson(TypedAnswers))
const decode = Schema.decodeUnknownOption(Schema.toCodecJson(TypedAnswers))

/** The typed answer behind the score of a judge; none: the score is not a judge's. */
export const judgedAnswer = (score: Score): Option.Option<TypedAnswers> =>
  score.scorer === judgeName ? decode(score.detail) : Option.none()

/** What a judge reads, in letters: so its price can be estimated. */
export const judgePrompt = (expectation: ExpectationOf<"judge">, turn: JudgedTurn): string =>
  JSON.stringify([judgeState(turn), judgeQuestions(expectation)])

/** Where the caller looked, there is no score of a judge. */
export class JudgeScoreNotFound extends Schema.TaggedError<JudgeScoreNotFound>()("JudgeScoreNotFound", {}) {
  override get message() {
    return "There is no score of a judge at this position. Name one by its position among the scores, from 0."
  }
}

/**
 * What `Answers.record` is given when a person says what is true of an answer that was judged: yes or no, or one of the options. Null: the
 * score is not a judge's.
 */
export const judgeOutcome = (score: Score, truth: boolean | string): OutcomeRequest | null =>
  Option.match(judgedAnswer(score), {
    onNone: () => null,
    onSome: (answer) => ({ answer, question: judgeName, outcome: truth })
  })

/** How good this judge was, as far as outcomes tell, of the report `Answers.report(null)`; null where no outcome is known. */
export const judgeCalibration = (
  { questionSets }: AnswersReport,
  expectation: ExpectationOf<"judge">
): Effect.Effect<QuestionReport | null> =>
  Effect.map(
    questionsFingerprint(judgeQuestions(expectation)),
    (wanted) => questionSets.find(({ questionSet }) => questionSet === wanted)?.questions[0] ?? null
  )
