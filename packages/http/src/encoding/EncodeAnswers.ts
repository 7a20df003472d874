/** Outcomes and reports of typed answers as records of the wire. */
import type { AnswersReport, QuestionReport, TurnOutcome } from "@colloquy/core/wings"
import type * as Wire from "../wire/Answers.ts"
import { writeTimestamp } from "../wire/Fields.ts"

export const outcomesToWire = (outcomes: ReadonlyArray<TurnOutcome>): Wire.OutcomeList => ({
  outcomes: outcomes.map(({ answerSetId, outcome, question, recordedAt }) => ({
    message_id: answerSetId,
    question,
    outcome,
    recorded_at: writeTimestamp(recordedAt)
  }))
})

export const reportToWire = ({ cases, isPartial, questionSets }: AnswersReport): Wire.AnswersReport => ({
  question_sets: questionSets.map((set) => ({
    question_set: set.questionSet,
    cases: set.cases,
    questions: set.questions.map(questionToWire)
  })),
  cases,
  is_partial: isPartial
})

const questionToWire = ({
  accuracyInterval,
  brierScore,
  calibrationError,
  logLoss,
  ...same
}: QuestionReport): Wire.AnswersReport["question_sets"][number]["questions"][number] => ({
  ...same,
  accuracy_interval: accuracyInterval,
  brier_score: brierScore,
  log_loss: logLoss,
  calibration_error: calibrationError
})
