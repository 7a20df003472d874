/** What persons say is true of a judge's answer: an outcome of its typed answer, by which the judge is calibrated. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { OutcomeRequest } from "../answers/Answers.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { JudgeOutcomeCalls, ScorePlace } from "./Evals.ts"
import { EvalStore } from "./EvalStore.ts"
import { ExperimentNotFound } from "./Experiment.ts"
import { judgeOutcome, JudgeScoreNotFound } from "./Judge.ts"
import type { Score } from "./Score.ts"
import { Scoring } from "./Scoring.ts"

export const makeJudgeOutcomes = Effect.gen(function* () {
  const store = yield* EvalStore
  const { recordOutcome } = yield* Scoring

  const scoresAt = Effect.fnUntraced(function* (place: ScorePlace) {
    if ("runId" in place)
      return Option.match(yield* store.getOnlineScore(place.runId), {
        onNone: (): ReadonlyArray<Score> => [],
        onSome: ({ scores }) => scores
      })
    const { experimentId, number } = place
    if (Option.isNone(yield* store.getExperiment(experimentId))) return yield* new ExperimentNotFound({ experimentId })
    const [found] = yield* store.listResults({ experimentId, limit: 1, after: number - 1 })
    return found?.number === number ? found.scores : []
  })

  const calls: JudgeOutcomeCalls = {
    recordJudgeOutcome: tracedFn("Evals.recordJudgeOutcome")(function* (place: ScorePlace, truth: boolean | string) {
      const score = (yield* scoresAt(place))[place.score]
      const outcome: OutcomeRequest | null = score === undefined ? null : judgeOutcome(score, truth)
      if (score === undefined || outcome === null) return yield* new JudgeScoreNotFound()
      yield* recordOutcome(outcome)
      return score
    })
  }
  return calls
})
