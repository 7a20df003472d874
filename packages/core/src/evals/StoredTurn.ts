/** A turn that has ended, of the store: its run, its messages, and what scorers see of it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunId } from "../primitives/Ids.ts"
import { RunStore } from "../runs/RunStore.ts"
import { decodePlan } from "../turns/TurnPlan.ts"
import { Turns } from "../turns/TurnUseCases.ts"
import { judgedTurn } from "./JudgedTurn.ts"
import { promptHash } from "./PromptHash.ts"

/** Null: the run is gone, or has no answer. */
export const makeTurnReader = Effect.gen(function* () {
  const runs = yield* RunStore
  const turns = yield* Turns
  return Effect.fnUntraced(function* (runId: RunId) {
    const found = Option.getOrUndefined(yield* runs.get(runId))
    if (found === undefined) return null
    const report = yield* Effect.catchTag(turns.report(found.threadId, runId), "RunNotFound", () =>
      Effect.succeed(null)
    )
    if (report === null) return null
    const { run } = report
    const messages = yield* runs.messages(runId)
    const endedAt = run.endedAt ?? new Date(yield* Clock.currentTimeMillis)
    const hash = yield* Effect.promise(() => promptHash(decodePlan(run.plan).system))
    const millis = endedAt.getTime() - run.createdAt.getTime()
    const turn = judgedTurn(messages, { millis, costUsd: run.usage.costUsd, promptHash: hash })
    return turn === null ? null : { run, messages, turn, endedAt }
  })
})
