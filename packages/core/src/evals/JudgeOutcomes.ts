/** What persons say is true of a judge's answer: an outcome of its typed answer, by which the judge is calibrated. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { OutcomeRequest } from "../answers/Answers.ts"
import { outcomeValue } from "../answers/Outcome.ts"
import { OutcomeStore } from "../answers/OutcomeStore.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { JudgeOutcomeCalls, ScoredAnswerIds, ScorePosition } from "./Evals.ts"
import { EvalStore } from "./EvalStore.ts"
import { ExperimentNotFound } from "./Experiment.ts"
import { judgedAnswer, judgeName, judgeOutcome, JudgeScoreNotFound } from "./Judge.ts"
import { Scoring } from "./Scoring.ts"

export const makeJudgeOutcomes = Effect.gen(function* () {
  const store = yield* EvalStore
  const outcomes = yield* OutcomeStore
  const { recordOutcome } = yield* Scoring

  const scoresFor = Effect.fnUntraced(function* (ids: ScoredAnswerIds) {
    if ("runId" in ids) {
      const found = yield* store.getOnlineScore(ids.runId)
      if (Option.isNone(found)) return yield* new JudgeScoreNotFound()
      return found.value.scores
    }
    const { experimentId, number } = ids
    if (Option.isNone(yield* store.getExperiment(experimentId))) return yield* new ExperimentNotFound({ experimentId })
    const [found] = yield* store.listResults({ experimentId, limit: 1, after: number - 1 })
    if (found?.number !== number) return yield* new JudgeScoreNotFound()
    return found.scores
  })

  const calls: JudgeOutcomeCalls = {
    recordJudgeOutcome: tracedFn("Evals.recordJudgeOutcome")(function* (at: ScorePosition, truth: boolean | string) {
      const score = (yield* scoresFor(at))[at.score]
      const outcome: OutcomeRequest | null = score === undefined ? null : judgeOutcome(score, truth)
      if (score === undefined || outcome === null) return yield* new JudgeScoreNotFound()
      yield* recordOutcome(outcome)
      return score
    }),

    listJudgeOutcomes: tracedFn("Evals.listJudgeOutcomes")(function* (ids: ScoredAnswerIds) {
      const judged = (yield* scoresFor(ids)).flatMap((score, index) =>
        Option.match(judgedAnswer(score), {
          onNone: () => [],
          onSome: ({ id }) => [{ score: index, answerSetId: id, question: judgeName }]
        })
      )
      if (judged.length === 0) return []
      const told = yield* outcomes.find(judged)
      return judged.flatMap(({ answerSetId, score }) =>
        told
          .filter((each) => each.answerSetId === answerSetId)
          .map((each) => ({ score, outcome: outcomeValue(each), recordedAt: each.recordedAt }))
      )
    })
  }
  return calls
})
