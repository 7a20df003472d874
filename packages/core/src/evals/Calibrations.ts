/**
 * Pure: how far each judge can be believed. Its probabilities are held against what users thought of the turns that it judged online, and
 * against what persons said is true of its answers (`judgeOutcome`).
 */
import * as Option from "effect/Option"
import type { AnswersReport } from "../answers/Answers.ts"
import { judgedAnswer } from "./Judge.ts"
import type { RatedScore } from "./OnlineScore.ts"
import type { Score } from "./Score.ts"
import { type Calibration, calibrate } from "./Statistics.ts"

/** How often one judge agreed with users and with outcomes. */
export interface JudgeCalibration {
  /** The question and the expected answer, in a few words. */
  readonly expected: string
  /** Equal for equal questions. */
  readonly questionSet: string
  /** A good feedback counts as the expected answer, a bad one as another. Null: no turn that it judged has one. */
  readonly feedback: Calibration | null
  /** Null: no person has said what is true. */
  readonly outcomes: Calibration | null
}

/** One for each judge of these scores, in the order in which they occur. */
export const calibrateJudges = (
  scores: ReadonlyArray<Score>,
  rated: ReadonlyArray<RatedScore>,
  { questionSets }: Pick<AnswersReport, "questionSets">
): ReadonlyArray<JudgeCalibration> => {
  const predictions = new Map<string, Array<{ readonly probability: number; readonly cameTrue: boolean }>>()
  for (const { feedback, score } of rated) {
    if (feedback === null || feedback === 0) continue
    for (const each of score.scores) {
      const key = judgeKey(each)
      if (key === null) continue
      const prediction = { probability: each.value, cameTrue: feedback > 0 }
      const known = predictions.get(key)
      if (known === undefined) predictions.set(key, [prediction])
      else known.push(prediction)
    }
  }
  const judges = new Map<string, JudgeCalibration>()
  for (const score of scores) {
    const key = judgeKey(score)
    if (key === null || judges.has(key)) continue
    const questionSet = Option.match(judgedAnswer(score), { onNone: () => "", onSome: (answer) => answer.questionSet })
    const predicted = predictions.get(key)
    judges.set(key, {
      expected: score.expected,
      questionSet,
      feedback: predicted === undefined ? null : calibrate(predicted),
      outcomes: questionSets.find((set) => set.questionSet === questionSet)?.questions[0] ?? null
    })
  }
  return [...judges.values()]
}

/** A question whose expected answer is "no" is another judge than one with "yes". */
const judgeKey = (score: Score): string | null =>
  Option.getOrNull(Option.map(judgedAnswer(score), ({ questionSet }) => `${questionSet} ${score.expected}`))
