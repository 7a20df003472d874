/**
 * The use case with which a person says what is true of an answer that a judge gave. It is kept as an outcome of typed answers, from which
 * `Calibrations` tells how far the judge can be believed.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { outcomeFrom } from "../answers/Outcome.ts"
import { OutcomeStore } from "../answers/OutcomeStore.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { JudgeOutcomeCalls, JudgeTruth } from "./Evals.ts"
import { EvalStore } from "./EvalStore.ts"
import { ExperimentNotFound, JudgementNotFound } from "./Experiment.ts"
import { judgeOutcome } from "./Judge.ts"

export const makeJudgeOutcomes = Effect.gen(function* () {
  const store = yield* EvalStore
  const outcomes = yield* OutcomeStore
  const calls: JudgeOutcomeCalls = {
    recordJudgeOutcome: tracedFn("Evals.recordJudgeOutcome")(function* (truth: JudgeTruth) {
      const { experimentId, number, outcome, score } = truth
      if (Option.isNone(yield* store.getExperiment(experimentId)))
        return yield* new ExperimentNotFound({ experimentId })
      const [result] = yield* store.listResults({ experimentId, limit: 1, after: number - 1 })
      const judged = result?.number === number ? result.scores[score] : undefined
      const request = judged === undefined ? null : judgeOutcome(judged, outcome)
      if (request === null) return yield* new JudgementNotFound({ number, score })
      const recordedAt = new Date(yield* Clock.currentTimeMillis)
      yield* outcomes.record(yield* Effect.fromResult(outcomeFrom(request, recordedAt)))
    })
  }
  return calls
})
