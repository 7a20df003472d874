/**
 * What turned out to be true about an answered question. Reports judge probabilities by it. An outcome contains the distribution that it
 * judges, so a report needs no other data.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AssistantId, ThreadId } from "../primitives/Ids.ts"
import { AnswerSetId, distributionFromAnswer, type TypedAnswers } from "./Answer.ts"

export const Outcome = Schema.Struct({
  answerSetId: AnswerSetId,
  questionSet: Schema.String,
  question: Schema.String,
  type: Schema.Literals(["noul", "choice", "score"]),
  /** In the order of the options. */
  distribution: Schema.Array(Schema.Tuple([Schema.String, Schema.Finite])),
  /** The option that was right. */
  outcome: Schema.String,
  provider: Schema.String,
  model: Schema.String,
  method: Schema.Literals(["native", "logprobs", "stated", "sampled"]),
  /** The assistant and thread of the answer; null if the host asked without them. */
  assistantId: Schema.NullOr(AssistantId),
  threadId: Schema.NullOr(ThreadId),
  recordedAt: Schema.Date
})
export type Outcome = typeof Outcome.Type

/** The outcome names a question that was not asked, or no option of it. */
export class OutcomeRefused extends Schema.TaggedError<OutcomeRefused>()("OutcomeRefused", {
  /** The client's name of the question. */
  question: Schema.String,
  problem: Schema.Literals(["no_such_question", "not_an_option"])
}) {
  override get message() {
    return this.problem === "no_such_question"
      ? "The answer has no question of this name. Use one of the names that were asked."
      : "The outcome is none of the options of this question. Use true or false, the name of an option, or the number of a level."
  }
}

/** True or false for `noul`, the name of an option for `choice`, the number of a level for `score`. */
export type OutcomeValue = string | number | boolean

/** An outcome as it was told. */
export const outcomeValue = ({ outcome, type }: Outcome): OutcomeValue => {
  if (type === "noul") return outcome === "true"
  return type === "score" ? Number(outcome) : outcome
}

/** The outcome as one of the answer's own options, with the distribution that it judges. */
export const matchOutcome = (
  { answers }: Pick<TypedAnswers, "answers">,
  question: string,
  outcome: OutcomeValue
): Result.Result<Pick<Outcome, "type" | "distribution" | "outcome">, OutcomeRefused> => {
  const answer = Object.hasOwn(answers, question) ? answers[question] : undefined
  if (answer === undefined) return Result.fail(new OutcomeRefused({ question, problem: "no_such_question" }))
  const distribution = distributionFromAnswer(answer)
  const option = String(outcome)
  // An option of a choice may be called "1" or "true", but a number or a boolean is not an option of a choice.
  const isOfType = { noul: "boolean", choice: "string", score: "number" }[answer.type] === typeof outcome
  const isWritten = typeof outcome === "string" && answer.type !== "choice"
  return (isOfType || isWritten) && distribution.some(([each]) => each === option)
    ? Result.succeed({ type: answer.type, distribution, outcome: option })
    : Result.fail(new OutcomeRefused({ question, problem: "not_an_option" }))
}
