/**
 * Ends runs that nobody works on any more: their process died (the lease expired), or it does not react to a cancel. The run is taken
 * over, which locks its old holder out, and settled with what its log holds. A model is never called again for it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Duration from "effect/Duration"
import { tracedFn } from "../primitives/Traced.ts"
import { Principal } from "../access/Principal.ts"
import type { MeteringPort } from "../metering/Metering.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { Deadlines } from "../primitives/Deadlines.ts"
import type { RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import type { Run } from "../runs/Run.ts"
import type { Lease, LogEvent, RunStore } from "../runs/RunStore.ts"
import { account, type LegEnd, settle, settlementOf, terminalEvent } from "./Settlement.ts"
import { afterTools, interruptedCode } from "./Interruption.ts"
import { repeatWhileAway } from "./StoreRetry.ts"
import { plannedParts } from "./PartDecisions.ts"
import { followUpsOf } from "./PartFollowUps.ts"
import type { RegisteredPart } from "./TurnPart.ts"
import { fromLog } from "./TurnEvent.ts"
import { decodePlan } from "./TurnPlan.ts"
import { type RecordedLeg, recordLeg } from "./TurnRecorder.ts"
import type { TurnSettings } from "./TurnSettings.ts"

export interface Recovery {
  /** Ends a run whose lease has expired as FAILED; false when it has not, or another process was quicker. */
  readonly endExpired: (runId: RunId) => Effect.Effect<boolean, StoreUnavailable, Principal>
  /** Ends an active run as CANCELLED over the head of its holder. */
  readonly endCancelled: (runId: RunId) => Effect.Effect<boolean, StoreUnavailable, Principal>
}

/**
 * Followers may have seen events that their process did not live to store. The terminal event is numbered far above them, so that a
 * client that resumes behind such an event still gets it.
 */
const sequenceLeap = 1_000_000

/** What it takes to settle the run of another process. */
interface RecoveringKernel {
  readonly store: typeof RunStore.Service
  readonly metering: MeteringPort
  readonly deadlines: Deadlines
  readonly counter: TokenCounterPort
  readonly settings: TurnSettings
  readonly followUps: typeof FollowUps.Service
  readonly parts: () => ReadonlyArray<RegisteredPart>
}

export const makeRecovery = (kernel: RecoveringKernel): Effect.Effect<Recovery, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { store, settings } = kernel
    const lease = Duration.fromInputUnsafe(settings.lease)

    const end = (runId: RunId, how: LegEnd, onlyExpired: boolean) =>
      // Not to be interrupted: a run that was taken over and not settled would block its thread for another lease.
      Effect.uninterruptible(
        Effect.gen(function* () {
          const taken = yield* store.takeOver(runId, lease, { onlyExpired })
          if (Option.isNone(taken)) return false
          const { lease: ours, run } = taken.value
          return yield* Effect.catchDefect(settleTaken(kernel, ours, run, how), (defect) => giveUp(store, ours, defect))
        })
      )

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

    return {
      endExpired: (runId) => end(runId, abandoned, true),
      endCancelled: (runId) => end(runId, { status: "CANCELLED" }, false)
    }
  })

const abandoned: LegEnd = {
  status: "FAILED",
  fault: {
    code: interruptedCode,
    message: "The server that worked on this run went away. What it had said is kept; send the message again.",
    retryable: true
  }
}

const settleTaken = tracedFn("Recovery.settle")(function* (
  kernel: RecoveringKernel,
  lease: Lease,
  run: Run,
  why: LegEnd
) {
  const { counter, settings, store } = kernel
  // A message that was only to be saved and never was: nobody was told that it was kept, so nothing of it stays.
  if (run.status === "QUEUED" && decodePlan(run.plan).saves === true) return yield* store.withdraw(lease)
  const log = yield* Effect.catchDefect(readAll(kernel, run), (defect) =>
    Effect.as(Effect.logError(`The log of abandoned run ${run.id} cannot be read; it ends without it`, defect), [])
  )
  const recorded = withIdentity(recordLeg(fromLog(log), counter), run)
  const end = afterTools(why, recorded, run.leg)
  const terminal = terminalEvent(recorded, end, null, run.lastSequence + sequenceLeap)
  const parts = plannedParts(kernel.parts(), decodePlan(run.plan).parts ?? {})
  const followUps = yield* followUpsOf(parts, recorded, end.status, {
    lease,
    assistantId: run.assistantId,
    explanation: null
  })
  const settlement = settlementOf({
    lease,
    leg: recorded,
    end,
    explanation: null,
    terminal,
    rest: [],
    counter,
    followUps
  })
  const { status, stored } = yield* settle(store, lease, { settlement, terminal }, settings.settleTimeout)
  if (stored !== false && followUps.length > 0) kernel.followUps.wake()
  if (stored !== false) yield* account(kernel, lease, recorded, run.leg, status)
  return stored !== false
})

/** How long a run that cannot be ended is left alone: until an operator has looked at it, and not tried again in a circle. */
const untilLookedAt = Duration.days(1)

const giveUp = (store: typeof RunStore.Service, lease: Lease, defect: unknown) =>
  Effect.logError(
    `Run ${lease.runId} cannot be ended, not even as FAILED: the store refuses it. It is left for a day; its thread ${lease.threadId} stays blocked`,
    defect
  ).pipe(Effect.andThen(Effect.ignoreCause(store.renew([lease], untilLookedAt))), Effect.as(false))

/** A run that was still waiting in the queue has no log: the record knows who it is. */
export const withIdentity = (leg: RecordedLeg, run: Run): RecordedLeg => ({
  ...leg,
  messageId: run.answerId,
  provider: run.provider,
  model: leg.model === "" ? run.model : leg.model,
  at: leg.at === "" ? run.createdAt.toISOString() : leg.at
})

const readAll = Effect.fnUntraced(function* ({ settings, store }: RecoveringKernel, run: Run) {
  const events: Array<LogEvent> = []
  let after = run.legStart - 1
  while (true) {
    // The run is taken over: nobody else looks after it until this lease ends too.
    const page = yield* repeatWhileAway(store.read(run.id, after), settings.settleTimeout)
    const last = page.at(-1)
    if (last === undefined) return events
    events.push(...page)
    after = last.sequence
  }
})
