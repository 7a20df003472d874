/** Typed answers: decisions, probabilities and scores instead of prose. A separate wing, `@colloquy/core/answers`. */
import { wingLayers } from "../primitives/WingLayer.ts"
import { Answers as UseCases } from "./Answers.ts"
import { AnswerSettings } from "./AnswerSettings.ts"
import { answersPart } from "./AnswersPart.ts"

export { Answer, AnswerSetId, answersPartName, AnswersUnusable, TypedAnswers } from "./Answer.ts"
export { type AnswerContext, contextAsState, textOfState } from "./AnswerContext.ts"
export {
  AnswersNotFound,
  type AnswersReport,
  type AnswersRequest,
  type AskError,
  NoAnswersFrom,
  OutcomeScopeNotFound,
  type OutcomeRequest,
  QuestionsMalformed,
  type TurnOutcome,
  type TurnOutcomeRequest
} from "./Answers.ts"
export { type AnswerPolicy, defaultAnswerSettings } from "./AnswerSettings.ts"
export { type Checked, checkQuestions, checkTypedAsk, type QuestionProblem, type TypedAsk } from "./CheckQuestions.ts"
export { DocumentSummaries, type ReadSummaries, type SummarizedThread } from "../prompts/DocumentSummaries.ts"
export { DistributionFault } from "./Distribution.ts"
export { type Interval, type QuestionReport, type QuestionSetReport, type ReliabilityBin } from "./Judgement.ts"
export { Outcome, OutcomeRefused, type OutcomeValue } from "./Outcome.ts"
export { OutcomeStore } from "./OutcomeStore.ts"
export { Question, Questions } from "./Question.ts"

/** The use cases, and the whole wing: `Answers.layer()` over `Kernel.layer`. It gives `Answers`. */
export const Answers = Object.assign(
  UseCases,
  wingLayers(AnswerSettings, answersPart, {
    positive: ["samples", "concurrency", "timeout"],
    words: { withoutLogProbabilities: ["stated", "sampled"] }
  })
)
export type Answers = UseCases
