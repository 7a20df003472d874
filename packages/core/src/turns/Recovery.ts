/**
 * Ends runs that no process works on: the process died (its lease expired), or it does not react to a cancel. Recovery takes the run over,
 * which ends the rights of the old holder, and settles it with the events in its log. It never calls a model again for such a run. One for which
 * nothing was done yet goes on (`Resumption`): it waited in the queue, or had only begun with calls that were approved.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
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
import { isEnded, type Run } from "../runs/Run.ts"
import type { Lease } from "../runs/LogRecords.ts"
import { RunStore } from "../runs/RunStore.ts"
import { approvedResults } from "./ApprovedCalls.ts"
import { endFollowUps } from "./ChildEnd.ts"
import { callsIn } from "./ChildRuns.ts"
import { afterTools, interruptedCode } from "./Interruption.ts"
import { withCitations } from "./Citations.ts"
import { plannedParts } from "./PlannedParts.ts"
import { partFollowUps } from "./PartFollowUps.ts"
import { type LegEnd, makeSettlement, terminalEvent } from "./Settlement.ts"
import { Settlements } from "./Settlements.ts"
import { mayGoOn, Resumption } from "./Resumption.ts"
import { fromLog, type TurnEvent } from "./TurnEvent.ts"
import { TurnParts } from "./TurnParts.ts"
import { answeringAssistant, decodePlan } from "./TurnPlan.ts"
import { type RecordedLeg, recordLeg } from "./TurnRecorder.ts"
import { TurnSettings } from "./TurnSettings.ts"
import { readWholeLog } from "./WholeLog.ts"

/**
 * Followers may have received events that their process did not store before it died. The terminal event gets a much higher number, so that
 * a client that resumes after such an event still receives it.
 */
const sequenceLeap = 1_000_000

const abandoned: LegEnd = {
  status: "FAILED",
  fault: {
    code: interruptedCode,
    message: "The server that worked on this run stopped. The text so far is kept; send the message again.",
    retryable: true
  }
}

/** How long a run that cannot be ended is left alone, so that an operator can look at it and it is not retried continuously. */
const pauseForOperator = Duration.days(1)

type Needs = RunStore | TurnParts | FollowUps | Settlements | Resumption

export class Recovery extends Context.Service<
  Recovery,
  {
    /**
     * Ends a run whose lease has expired as FAILED, or lets it go on. False if the lease has not expired, or if another process was faster.
     */
    readonly endExpired: (runId: RunId) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** Ends an active run as CANCELLED, although another process still holds its lease. */
    readonly endCancelled: (runId: RunId) => Effect.Effect<boolean, StoreUnavailable, Principal>
  }
>()("@colloquy/core/turns/Recovery") {
  static readonly layer: Layer.Layer<Recovery, never, Needs> = Layer.effect(
    Recovery,
    Effect.gen(function* () {
      const store = yield* RunStore
      const parts = yield* TurnParts
      const resumption = yield* Resumption
      const followUps = yield* FollowUps
      const settlements = yield* Settlements
      const counter = yield* TokenCounter
      const settings = yield* TurnSettings
      const duration = Duration.fromInputUnsafe(settings.lease)

      // Not interruptible: a run that was taken over and not settled would block its thread until the new lease expires.
      const end = Effect.fnUntraced(function* (
        runId: RunId,
        how: LegEnd,
        onlyExpired: boolean
      ): Effect.fn.Return<boolean, StoreUnavailable, Principal> {
        const taken = yield* store.takeOver(runId, duration, { onlyExpired })
        if (Option.isNone(taken)) return false
        const { lease, run } = taken.value
        return yield* Effect.catchDefect(settleTaken(lease, run, how), (defect) => giveUp(lease, defect))
      }, Effect.uninterruptible)

      const settleTaken = tracedFn("Recovery.settle")(function* (lease: Lease, run: Run, why: LegEnd) {
        const plan = decodePlan(run.plan)
        // A message that is only to be saved and was not: no caller was told that it was kept, so nothing of it stays.
        if (run.status === "QUEUED" && plan.saves === true) return yield* store.withdraw(lease)
        const log = yield* Effect.catchDefect(readWholeLog(store, run, settings.settleTimeout), (defect) =>
          Effect.as(
            Effect.logError(`The log of abandoned run ${run.id} cannot be read; it ends without it`, defect),
            []
          )
        )
        const begun = fromLog(log)
        if (why.status === "FAILED" && mayGoOn(run, begun) && (yield* resumed(lease, run, begun))) return true
        const events = [...begun, ...(yield* endsOfChildren(begun, why))]
        const leg = withCitations(withIdentity(recordLeg(events, counter), run), plan)
        const outcome = afterTools(why, leg, run.leg)
        const terminal = terminalEvent(leg, outcome, null, run.lastSequence + sequenceLeap)
        const planned = yield* plannedParts(parts.all(), plan.parts ?? {})
        const ofRun = { lease, assistantId: leg.assistant?.id ?? run.assistantId, explanation: null, leavingSoon: 0 }
        const ends = yield* endFollowUps({ leg: run.leg, runId: run.id, status: outcome.status }, plan)
        const ordered = [...(yield* partFollowUps(planned, leg, outcome.status, ofRun)), ...ends]
        const { approvedResults: ran } = leg
        const before = ran.length === 0 ? undefined : (yield* store.messages(run.id)).at(-1)
        const settlement = makeSettlement({
          ...ofRun,
          approved: before === undefined ? null : approvedResults(before.toolResults, ran, counter),
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

      /**
       * The ends of children that the log does not tell. A child works in the process of the run above it: if it has not ended, it ends now. What it
       * has used is in its record, and belongs to the run above.
       */
      const endsOfChildren = Effect.fnUntraced(function* (
        log: ReadonlyArray<TurnEvent>,
        why: LegEnd
      ): Effect.fn.Return<ReadonlyArray<TurnEvent>, StoreUnavailable, Principal> {
        const ended = new Set(log.flatMap((event) => (event._tag === "ChildEnded" ? [event.runId] : [])))
        const open = log.flatMap((event) =>
          event._tag === "ChildBegan" && !ended.has(event.child.runId) ? [event.child.runId] : []
        )
        const found = yield* Effect.forEach(open, (runId) => Effect.andThen(end(runId, why, false), store.get(runId)))
        const settled = found.flatMap((child) =>
          Option.isSome(child) && isEnded(child.value.status) ? [child.value] : []
        )
        return yield* Effect.forEach(settled, ({ id: runId, status, usage }) =>
          Effect.map(store.messages(runId), (messages): TurnEvent => {
            const sequence = log.at(-1)?.sequence ?? 0
            return { _tag: "ChildEnded", sequence, runId, end: { status, usage, modelCalls: callsIn(messages) } }
          })
        )
      })

      const resumed = (lease: Lease, run: Run, log: ReadonlyArray<TurnEvent>) =>
        Effect.flatMap(Deferred.await(resumption), (resume) => resume(lease, run, log))

      const giveUp = (lease: Lease, defect: unknown) =>
        Effect.logError(
          `Run ${lease.runId} cannot be ended, not even as FAILED: the store refuses it. It is left for a day; its thread ${lease.threadId} stays blocked`,
          defect
        ).pipe(Effect.andThen(Effect.ignoreCause(store.renew([lease], pauseForOperator))), Effect.as(false))

      const sweep = Effect.gen(function* () {
        for (const { runId, ownerId } of yield* store.expired(100)) {
          yield* end(runId, abandoned, true).pipe(
            Effect.provideService(Principal, { ownerId }),
            // One run that cannot be ended must not prevent the recovery of the others.
            Effect.catchCause((cause) => Effect.logError(`Abandoned run ${runId} could not be settled`, cause))
          )
        }
      })

      yield* sweep.pipe(
        Effect.catchCause((cause) => Effect.logWarning("The search for abandoned runs failed; it is repeated", cause)),
        // The first search runs at once, before the first pause. Otherwise a process that restarts again and again would never search.
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

/** Fills in fields from the run's record that the log does not contain, because the run was still in the queue. */
export const withIdentity = (leg: RecordedLeg, run: Run): RecordedLeg => ({
  ...leg,
  messageId: run.answerId,
  provider: run.provider,
  model: leg.model === "" ? run.model : leg.model,
  assistant: leg.assistant ?? answeringAssistant(run.assistantId, decodePlan(run.plan)),
  at: leg.at === "" ? run.createdAt.toISOString() : leg.at
})
