/**
 * State that the turns of one kernel share inside this process: the runs that it works on, the fibers in which they run, the writer of their
 * logs, and the signals that wake waiting code.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeOwnedFibers, type OwnedFibers } from "../primitives/OwnedFibers.ts"
import { type LiveRuns, makeLiveRuns } from "../runs/LiveRuns.ts"
import { type LogWriter, makeLogWriter } from "../runs/LogWriter.ts"
import { makeRunSignals, type RunSignals } from "../runs/RunSignals.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** The fibers in which legs run, until the kernel closes. A leg outlives the request that began it. */
export class LegFibers extends Context.Service<LegFibers, OwnedFibers>()("@colloquy/core/turns/LegFibers") {
  static readonly layer: Layer.Layer<LegFibers> = Layer.effect(LegFibers, makeOwnedFibers)
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

/** Writes the logs of running legs to the store while they go on. */
export class TurnLogs extends Context.Service<TurnLogs, LogWriter<TurnEvent>>()("@colloquy/core/turns/TurnLogs") {
  static readonly layer: Layer.Layer<TurnLogs, never, RunStore | RunningTurns> = Layer.effect(
    TurnLogs,
    Effect.gen(function* () {
      return yield* makeLogWriter(yield* RunStore, yield* RunningTurns)
    })
  )
}

/** Signals that a run or a thread may have changed. A signal that asks for a cancel stops the run, if this process works on it. */
export class TurnSignals extends Context.Service<TurnSignals, RunSignals>()("@colloquy/core/turns/TurnSignals") {
  static readonly layer: Layer.Layer<TurnSignals, never, RunStore | RunningTurns | LegFibers> = Layer.effect(
    TurnSignals,
    Effect.gen(function* () {
      const { poll } = yield* TurnSettings
      const running = yield* RunningTurns
      const { fork } = yield* LegFibers
      return yield* makeRunSignals(yield* RunStore, poll, (runId) =>
        Effect.asVoid(fork(running.stop(runId, "cancelled")))
      )
    })
  )
}
