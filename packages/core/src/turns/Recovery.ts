/**
 * Ends runs without a working process: it died (the lease expired), or it does not react to a cancel. The run is taken
 * over, which locks its old holder out, and settled with what its log holds. A model is never called again for it.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Principal } from "../access/Principal.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { Run } from "../runs/Run.ts"
import { type Lease, type LogEvent, RunStore } from "../runs/RunStore.ts"
import { afterTools, interruptedCode } from "./Interruption.ts"
import { plannedParts } from "./PartDecisions.ts"
import { followUpsOf } from "./PartFollowUps.ts"
import { type LegEnd, settlementOf, terminalEvent } from "./Settlement.ts"
import { Settlements } from "./Settlements.ts"
import { repeatWhileAway } from "./StoreRetry.ts"
import { fromLog } from "./TurnEvent.ts"
import { TurnParts } from "./TurnParts.ts"
import { decodePlan } from "./TurnPlan.ts"
import { type RecordedLeg, recordLeg } from "./TurnRecorder.ts"
import { TurnSettings } from "./TurnSettings.ts"

/**
 * Followers may have seen events that their process did not live to store. The terminal event is numbered far above them, so that a
 * client that resumes behind such an event still gets it.
 */
const sequenceLeap = 1_000_000

const abandoned: LegEnd = {
  status: "FAILED",
  fault: {
    code: interruptedCode,
    message: "The server that worked on this run went away. What it had said is kept; send the message again.",
    retryable: true
  }
}

/** How long a run that cannot be ended is left alone: until an operator has looked at it, and not tried again in a circle. */
const untilLookedAt = Duration.days(1)

export class Recovery extends Context.Service<
  Recovery,
  {
    /** Ends a run whose lease has expired as FAILED; false when it has not, or another process was quicker. */
    readonly endExpired: (runId: RunId) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** Ends an active run as CANCELLED, although another process still holds its lease. */
    readonly endCancelled: (runId: RunId) => Effect.Effect<boolean, StoreUnavailable, Principal>
  }
>()("@colloquy/core/turns/Recovery") {
  static readonly layer: Layer.Layer<Recovery, never, RunStore | TurnParts | FollowUps | Settlements> = Layer.effect(
    Recovery,
    Effect.gen(function* () {
      const store = yield* RunStore
      const parts = yield* TurnParts
      const followUps = yield* FollowUps
      const settlements = yield* Settlements
      const counter = yield* TokenCounter
      const settings = yield* TurnSettings
      const duration = Duration.fromInputUnsafe(settings.lease)

      const end = (runId: RunId, how: LegEnd, onlyExpired: boolean) =>
        // Not to be interrupted: a run that was taken over and not settled would block its thread for another lease.
        Effect.uninterruptible(
          Effect.gen(function* () {
            const taken = yield* store.takeOver(runId, duration, { onlyExpired })
            if (Option.isNone(taken)) return false
            const { lease, run } = taken.value
            return yield* Effect.catchDefect(settleTaken(lease, run, how), (defect) => giveUp(lease, defect))
          })
        )

      const settleTaken = tracedFn("Recovery.settle")(function* (lease: Lease, run: Run, why: LegEnd) {
        const plan = decodePlan(run.plan)
        // A message that was only to be saved and never was: no caller was told that it was kept, so nothing of it stays.
        if (run.status === "QUEUED" && plan.saves === true) return yield* store.withdraw(lease)
        const log = yield* Effect.catchDefect(wholeLog(run), (defect) =>
          Effect.as(
            Effect.logError(`The log of abandoned run ${run.id} cannot be read; it ends without it`, defect),
            []
          )
        )
        const leg = withIdentity(recordLeg(fromLog(log), counter), run)
        const outcome = afterTools(why, leg, run.leg)
        const terminal = terminalEvent(leg, outcome, null, run.lastSequence + sequenceLeap)
        const planned = yield* plannedParts(parts.all(), plan.parts ?? {})
        const place = { lease, assistantId: run.assistantId, explanation: null }
        const ordered = yield* followUpsOf(planned, leg, outcome.status, place)
        const settlement = settlementOf({
          ...place,
          leg,
          end: outcome,
          terminal,
          rest: [],
          counter,
          followUps: ordered
        })
        const { status, stored } = yield* settlements.settle(lease, settlement, terminal)
        if (stored !== false && ordered.length > 0) followUps.wake()
        if (stored !== false) yield* settlements.account(lease, leg, run.leg, status)
        return stored !== false
      })

      const wholeLog = Effect.fnUntraced(function* (run: Run) {
        const events: Array<LogEvent> = []
        let after = run.legStart - 1
        while (true) {
          // The run is taken over: no other process looks after it until this lease ends too.
          const page = yield* repeatWhileAway(store.read(run.id, after), settings.settleTimeout)
          const last = page.at(-1)
          if (last === undefined) return events
          events.push(...page)
          after = last.sequence
        }
      })

      const giveUp = (lease: Lease, defect: unknown) =>
        Effect.logError(
          `Run ${lease.runId} cannot be ended, not even as FAILED: the store refuses it. It is left for a day; its thread ${lease.threadId} stays blocked`,
          defect
        ).pipe(Effect.andThen(Effect.ignoreCause(store.renew([lease], untilLookedAt))), Effect.as(false))

      const sweep = Effect.gen(function* () {
        for (const { runId, ownerId } of yield* store.expired(100)) {
          yield* end(runId, abandoned, true).pipe(
            Effect.provideService(Principal, { ownerId }),
            // One run that cannot be ended must not keep the others.
            Effect.catchCause((cause) => Effect.logError(`Abandoned run ${runId} could not be settled`, cause))
          )
        }
      })

      yield* sweep.pipe(
        Effect.catchCause((cause) => Effect.logWarning("The search for abandoned runs failed; it is repeated", cause)),
        // At once, too: a process that is restarted again and again would else never come to it.
        Effect.andThen(Effect.sleep(settings.sweep)),
        Effect.forever,
        Effect.forkScoped
      )

      return Recovery.of({
        endExpired: (runId) => end(runId, abandoned, true),
        endCancelled: (runId) => end(runId, { status: "CANCELLED" }, false)
      })
    })
  )
}

/** A run that was still waiting in the queue has no log: the record knows who it is. */
export const withIdentity = (leg: RecordedLeg, run: Run): RecordedLeg => ({
  ...leg,
  messageId: run.answerId,
  provider: run.provider,
  model: leg.model === "" ? run.model : leg.model,
  at: leg.at === "" ? run.createdAt.toISOString() : leg.at
})
