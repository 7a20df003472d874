/**
 * What the turns of one kernel share inside this process: the runs that it works on, the scope in which they run, who writes their logs, and
 * what wakes those who wait for them.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type LiveRuns, makeLiveRuns } from "../runs/LiveRuns.ts"
import { type LogWriter, makeLogWriter } from "../runs/LogWriter.ts"
import { makeRunSignals, type RunSignals } from "../runs/RunSignals.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** The scope of the legs: not that of the request which began them. */
export class LegScope extends Context.Service<LegScope, Scope.Scope>()("@colloquy/core/turns/LegScope") {
  static readonly layer: Layer.Layer<LegScope> = Layer.effect(LegScope, Effect.scope)
}

/** The runs that this process works on. */
export class RunningTurns extends Context.Service<RunningTurns, LiveRuns<TurnEvent>>()(
  "@colloquy/core/turns/RunningTurns"
) {
  static readonly layer: Layer.Layer<RunningTurns, never, RunStore> = Layer.effect(
    RunningTurns,
    Effect.gen(function* () {
      const { lease } = yield* TurnSettings
      return yield* makeLiveRuns<TurnEvent>(yield* RunStore, Duration.fromInputUnsafe(lease))
    })
  )
}

/** Writes their logs while they go on. */
export class TurnLogs extends Context.Service<TurnLogs, LogWriter<TurnEvent>>()("@colloquy/core/turns/TurnLogs") {
  static readonly layer: Layer.Layer<TurnLogs, never, RunStore | RunningTurns> = Layer.effect(
    TurnLogs,
    Effect.gen(function* () {
      return yield* makeLogWriter(yield* RunStore, yield* RunningTurns)
    })
  )
}

/** Hints that a run or a thread has changed. One that asks for a cancel stops the run, if it is one of ours. */
export class TurnSignals extends Context.Service<TurnSignals, RunSignals>()("@colloquy/core/turns/TurnSignals") {
  static readonly layer: Layer.Layer<TurnSignals, never, RunStore | RunningTurns | LegScope> = Layer.effect(
    TurnSignals,
    Effect.gen(function* () {
      const { poll } = yield* TurnSettings
      const running = yield* RunningTurns
      const scope = yield* LegScope
      return yield* makeRunSignals(yield* RunStore, poll, (runId) =>
        Effect.asVoid(Effect.forkIn(running.stop(runId, "cancelled"), scope))
      )
    })
  )
}
