/**
 * Step 8 of a turn: stores the end of a leg, and reports its usage to the host's metering and to the metrics. Used for legs that this
 * process ran (`EndLeg`) and for legs of other processes (`Recovery`).
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import type { Principal } from "../access/Principal.ts"
import { Metering } from "../metering/Metering.ts"
import { genAi } from "../primitives/GenAi.ts"
import { contentRefused } from "../primitives/ContentRefused.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import { metricSeries } from "../primitives/MetricSeries.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Lease } from "../runs/LogRecords.ts"
import { RunStore, type Settled, type Settlement } from "../runs/RunStore.ts"
import { type LegEndEvent, storable } from "./Settlement.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** The result of a settlement. `stored` is false when another process holds the run now. */
export interface StoredEnd {
  readonly stored: Settled
  readonly status: Settlement["status"]
  readonly terminal: LegEndEvent
}

const turns = metricSeries(() =>
  Metric.counter("colloquy.turns", { description: "Legs of runs that were settled", incremental: true })
)

export class Settlements extends Context.Service<
  Settlements,
  {
    /**
     * Repeats the write while the store is unavailable. If the store refuses the content, the leg is settled as FAILED without its answer:
     * a run that cannot end would block its thread for ever.
     */
    readonly settle: (
      lease: Lease,
      settlement: Settlement,
      terminal: LegEndEvent
    ) => Effect.Effect<StoredEnd, StoreUnavailable, Principal>
    /** Reports the usage of a settled leg. A failure is logged and changes nothing of the answer. */
    readonly account: (
      lease: Lease,
      leg: RecordedLeg,
      legNumber: number,
      status: string
    ) => Effect.Effect<void, never, Principal>
  }
>()("@colloquy/core/turns/Settlements") {
  static readonly layer: Layer.Layer<Settlements, never, RunStore | Deadlines> = Layer.effect(
    Settlements,
    Effect.gen(function* () {
      const store = yield* RunStore
      const deadlines = yield* Deadlines
      const metering = yield* Metering
      const { settleTimeout } = yield* TurnSettings

      const write = (lease: Lease, settlement: Settlement) =>
        repeatWhileUnavailable(store.settle(lease, settlement), settleTimeout)

      return Settlements.of({
        settle: (lease, settlement, terminal) =>
          write(lease, settlement).pipe(
            Effect.map((stored): StoredEnd => ({ stored, status: settlement.status, terminal })),
            Effect.catchDefect((defect) => {
              const least = storable(settlement, terminal)
              return Effect.logError(
                `Run ${lease.runId} could not be settled as it ended, and is settled as FAILED without its answer`,
                contentRefused(Cause.die(defect)) ?? defect
              ).pipe(
                Effect.andThen(write(lease, least.settlement)),
                Effect.map((stored): StoredEnd => ({ stored, status: "FAILED", terminal: least.terminal }))
              )
            })
          ),
        account: (lease, leg, legNumber, status) =>
          Effect.contextWith((context: Context.Context<Principal>) => {
            const attributes = { [genAi.provider]: leg.provider, [genAi.requestModel]: leg.model }
            turns({ ...attributes, status }).updateUnsafe(1, context)
            if (leg.modelCalls === 0 && leg.charges.length === 0) return Effect.void
            const report = {
              runId: lease.runId,
              leg: legNumber,
              threadId: lease.threadId,
              provider: leg.provider,
              model: leg.model,
              usage: leg.usage,
              charges: leg.charges
            }
            // A shutdown waits for this report, so a meter that does not answer gets a time limit.
            return deadlines.within("30 seconds", metering.record(report), () =>
              Effect.die(new Error("The host's meter did not answer within 30 seconds"))
            )
          }).pipe(
            Effect.catchCause((cause) =>
              Effect.logWarning(`Usage of run ${lease.runId} was not reported to the host`, cause)
            )
          )
      })
    })
  )
}
