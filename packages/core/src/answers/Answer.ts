/**
 * The answers to typed questions. Each is computed from its distribution only, whatever else the
 * upstream sent. `TypedAnswers` is the result of one request, complete enough to be stored and judged later.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { AnswerReply } from "../models/AnswerDriver.ts"
import { Usage } from "../primitives/Usage.ts"
import {
  confidenceOfChoice,
  confidenceOfScore,
  type Distribution,
  DistributionFault,
  likeliestIndex,
  readDistribution,
  expectedScore
} from "./Distribution.ts"
import { questionOptions, type Question, type Questions } from "./Question.ts"

const Probabilities = Schema.Record(Schema.String, Schema.Finite)

export const Answer = Schema.Union([
  Schema.Struct({ type: Schema.Literal("noul"), noul: Schema.Finite }),
  Schema.Struct({
    type: Schema.Literal("choice"),
    choice: Schema.String,
    probabilities: Probabilities,
    confidence: Schema.Finite
  }),
  Schema.Struct({
    type: Schema.Literal("score"),
    score: Schema.Finite,
    legend: Schema.Record(Schema.String, Schema.String),
    probabilities: Probabilities,
    confidence: Schema.Finite
  })
])
export type Answer = typeof Answer.Type

/** The name of this wing as a part of a turn: in the turn's options, and in the supplements of a message. */
export const answersPartName = "answers"

/** Names one set of typed answers, so that what turned out to be true can be recorded for it. Of a message it is the id of the message. */
export const AnswerSetId = Schema.NonEmptyString.pipe(Schema.brand("AnswerSetId"))
export type AnswerSetId = typeof AnswerSetId.Type

/** The answers to all questions of one call, with their probabilities. */
export const TypedAnswers = Schema.Struct({
  /** Outcomes are recorded for this id. A turn uses the id of its message. */
  id: AnswerSetId,
  /** Equal for equal questions, independent of the order of their names. A report has one section for each question set. */
  questionSet: Schema.String,
  /** By the name of the question, in the order of the questions. */
  answers: Schema.Record(Schema.String, Answer),
  provider: Schema.String,
  /** The model that answered. */
  model: Schema.String,
  method: Schema.Literals(["native", "logprobs", "stated", "sampled"]),
  /** True: the probabilities are stated, sampled or derived, and do not measure what the model believes. */
  estimated: Schema.Boolean,
  usage: Usage
})
export type TypedAnswers = typeof TypedAnswers.Type

/** The provider's reply does not fit the questions. No answer is invented to replace it. */
export class AnswersUnusable extends Schema.TaggedError<AnswersUnusable>()("AnswersUnusable", {
  provider: Schema.String,
  model: Schema.String,
  /** The client's name of the question; null for an answer to a question that was not asked. */
  question: Schema.NullOr(Schema.String),
  problem: DistributionFault,
  /** The usage of the reply, which is paid for although it is unusable. */
  usage: Usage
}) {
  override get message() {
    return `${this.provider}/${this.model} gave no usable answer to a typed question: ${this.problem.replaceAll("_", " ")}. Ask again, or choose another model.`
  }
}

export interface AnswerFault {
  readonly question: string | null
  readonly problem: DistributionFault
}

/** Every question with its answer, or the first problem that was found. */
export const readAnswers = (
  questions: Questions,
  { distributions }: Pick<AnswerReply, "distributions">
): Result.Result<{ readonly [question: string]: Answer }, AnswerFault> => {
  if (Object.keys(distributions).some((name) => !Object.hasOwn(questions, name))) {
    return Result.fail({ question: null, problem: "unknown_question" })
  }
  const answers: Array<readonly [string, Answer]> = []
  for (const [name, question] of Object.entries(questions)) {
    const given = Object.hasOwn(distributions, name) ? distributions[name] : undefined
    const distribution = readDistribution(questionOptions(question), given)
    if (Result.isFailure(distribution)) return Result.fail({ question: name, problem: distribution.failure })
    answers.push([name, answerFromDistribution(question, distribution.success)])
  }
  return Result.succeed(Object.fromEntries(answers))
}

/** Computes the answer from a distribution over the options of the question. */
export const answerFromDistribution = (question: Question, distribution: Distribution): Answer => {
  switch (question.type) {
    case "noul":
      return { type: "noul", noul: distribution[0]?.[1] ?? 0 }
    case "choice":
      return {
        type: "choice",
        choice: distribution[likeliestIndex(distribution)]?.[0] ?? "",
        probabilities: Object.fromEntries(distribution),
        confidence: confidenceOfChoice(distribution)
      }
    case "score":
      return {
        type: "score",
        score: expectedScore(distribution),
        legend: Object.fromEntries(question.criteria.map((text, level) => [String(level), text])),
        probabilities: Object.fromEntries(distribution),
        confidence: confidenceOfScore(distribution)
      }
  }
}

/** The distribution behind an answer, in the order of its options as far as an object keeps it; the chosen one of equals is the first. */
export const distributionFromAnswer = (answer: Answer): Distribution => {
  if (answer.type === "noul")
    return [
      ["true", answer.noul],
      ["false", 1 - answer.noul]
    ]
  const listed = Object.entries(answer.probabilities)
  if (answer.type === "score" || listed[likeliestIndex(listed)]?.[0] === answer.choice) return listed
  return listed.toSorted(([a], [b]) => Number(b === answer.choice) - Number(a === answer.choice))
}
