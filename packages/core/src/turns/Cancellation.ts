/**
 * Ends a run on request. A run of this process is stopped and settled at once, and the text that it produced so far is kept. For a run of
 * another process, the request is stored; if that process does not end the run within `cancelGrace`, this process takes the run over. When
 * `cancel` returns, the thread is free. Runs of helpers for which the run waits are cancelled before it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { isAtRest, isEnded } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { unanswered } from "../threads/InnerCalls.ts"
import { tellAbove } from "./ChildEnd.ts"
import { Recovery } from "./Recovery.ts"
import { RunningTurns, TurnSignals } from "./RunningTurns.ts"
import { decodePlan } from "./TurnPlan.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** Much longer than a cancel takes. */
const afterCancel = 5_000

export class Cancellation extends Context.Service<
  Cancellation,
  { readonly cancel: (runId: RunId) => Effect.Effect<void, StoreUnavailable, Principal> }
>()("@colloquy/core/turns/Cancellation") {
  static readonly layer: Layer.Layer<
    Cancellation,
    never,
    RunStore | RunningTurns | TurnSignals | Recovery | FollowUps
  > = Layer.effect(
    Cancellation,
    Effect.gen(function* () {
      const store = yield* RunStore
      const running = yield* RunningTurns
      const signals = yield* TurnSignals
      const recovery = yield* Recovery
      const followUps = yield* FollowUps
      const { cancelGrace } = yield* TurnSettings

      const cancelOne = Effect.fnUntraced(function* (runId: RunId) {
        const changed = yield* signals.listen(runId)
        const now = yield* Clock.currentTimeMillis
        const found = yield* store.requestCancel(runId, new Date(now))
        if (Option.isNone(found) || isAtRest(found.value)) return
        if (running.get(runId) !== undefined) yield* running.stop(runId, "cancelled")
        const deadline = now + Duration.toMillis(cancelGrace)
        while (true) {
          const run = yield* store.get(runId)
          if (Option.isNone(run) || isEnded(run.value.status)) return
          // The leg paused for the client at the same moment. The caller wants the whole run to end, so the cancel is requested for the
          // pause as well.
          if (run.value.status === "REQUIRES_ACTION") return void (yield* store.requestCancel(runId, new Date(now)))
          const left = deadline - (yield* Clock.currentTimeMillis)
          if (left <= 0) return void (yield* recovery.endCancelled(runId))
          yield* Effect.raceFirst(changed, Effect.sleep(left))
        }
      }, Effect.scoped)

      const cancel: (runId: RunId) => Effect.Effect<void, StoreUnavailable, Principal> = Effect.fnUntraced(
        function* (runId) {
          const found = yield* store.get(runId)
          if (Option.isSome(found) && found.value.status === "REQUIRES_ACTION") {
            const run = found.value
            const asking = (yield* store.messages(runId)).find(({ id }) => id === run.answerId)
            for (const { waitsFor } of asking === undefined ? [] : unanswered(asking)) {
              if (waitsFor !== undefined) yield* cancel(waitsFor.runId)
            }
            // No settlement ends such a run. The run above is told after the cancel, also if this process dies before it.
            yield* followUps.add(yield* tellAbove(runId, decodePlan(run.plan), afterCancel))
          }
          yield* cancelOne(runId)
        }
      )

      return Cancellation.of({ cancel })
    })
  )
}
