/** The wing `evals`: its use cases over the store, the workers that make attempts and score turns, and its parts of turns. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TurnParts } from "../turns/TurnParts.ts"
import { makeCases } from "./Cases.ts"
import { Evals } from "./Evals.ts"
import { EvalSettings } from "./EvalSettings.ts"
import { EvalStore } from "./EvalStore.ts"
import { makeFeedbacks } from "./Feedbacks.ts"
import { makeExperiments } from "./Experiments.ts"
import { makeJudgeOutcomes } from "./JudgeOutcomes.ts"
import { makeOnlineCalls } from "./OnlineReports.ts"
import { registerOnlineScoring } from "./OnlineScoring.ts"
import { recordedPart } from "./RecordedPart.ts"
import { registerAttempts } from "./RunExperiment.ts"
import { Scoring } from "./Scoring.ts"

export const layerEvals = Layer.effect(
  Evals,
  Effect.gen(function* () {
    const cases = yield* makeCases
    const experiments = yield* makeExperiments
    const feedbacks = yield* makeFeedbacks
    yield* (yield* TurnParts).register(recordedPart(yield* EvalStore))
    yield* registerAttempts
    yield* registerOnlineScoring
    return Evals.of({
      ...cases,
      ...experiments,
      ...feedbacks,
      ...(yield* makeJudgeOutcomes),
      ...(yield* makeOnlineCalls)
    })
  })
).pipe(Layer.provide(Layer.unwrap(Effect.map(EvalSettings, ({ scoring }) => Scoring.layer(scoring)))))
