/**
 * Step 8 of a turn, for a leg that this process ran. A leg may have been answered, be waiting for the client, have failed, been cancelled
 * or been shut down; in every case it is settled once. Followers get the terminal event after it is stored.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { LiveRun, StopReason } from "../runs/LiveRuns.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { endRefused, waitedTooLong } from "./Draft.ts"
import { withCitations } from "./Citations.ts"
import { approvedResults } from "./ApprovedCalls.ts"
import { partFollowUps } from "./PartFollowUps.ts"
import { endFollowUps } from "./ChildEnd.ts"
import { listExpiries } from "./Expiry.ts"
import { afterTools, interruptedCode } from "./Interruption.ts"
import { hasBegun, lastSequence, type Leg } from "./Leg.ts"
import { faultFromError, type LegError, type LegOutcome } from "./ModelLoop.ts"
import { TurnLogs } from "./RunningTurns.ts"
import { type LegEnd, makeSettlement, terminalEvent } from "./Settlement.ts"
import { Settlements } from "./Settlements.ts"
import { ThreadBusy } from "./TurnErrors.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { recordLeg } from "./TurnRecorder.ts"

/** Another process has taken the run over, or the run was deleted. The work on it must stop. */
export class LeaseLost extends Schema.TaggedError<LeaseLost>()("LeaseLost", {}) {}

/** The run never began and no record of it is left, so there is no leg to settle. */
export class Withdrawn extends Schema.TaggedError<Withdrawn>()("Withdrawn", { busy: ThreadBusy }) {}

type LegExit = Exit.Exit<LegOutcome, LegError | LeaseLost | Withdrawn>

export class EndLeg extends Context.Service<
  EndLeg,
  {
    /** Settles every leg, however it ended. This effect cannot be interrupted. */
    readonly settle: (run: LiveRun<TurnEvent>, leg: Leg, exit: LegExit) => Effect.Effect<void, never, Principal>
  }
>()("@colloquy/core/turns/EndLeg") {
  static readonly layer: Layer.Layer<EndLeg, never, TurnLogs | Settlements | FollowUps> = Layer.effect(
    EndLeg,
    Effect.gen(function* () {
      const logs = yield* TurnLogs
      const settlements = yield* Settlements
      const followUps = yield* FollowUps
      const counter = yield* TokenCounter

      /** Followers get the terminal event only after it is stored. */
      const end = Effect.fnUntraced(function* (run: LiveRun<TurnEvent>, leg: Leg, exit: LegExit) {
        const ended = yield* endFromExit(exit, run.stopped)
        yield* tellOperator(leg, exit, ended)
        leg.hasEnded = true
        logs.close(run)
        if (ended instanceof Withdrawn) {
          const { model, provider } = leg.plan
          return endRefused(leg.log, { messageId: leg.answerId, provider, model }, waitedTooLong(ended.busy))
        }
        const events = hasBegun(leg) ? leg.log.events : [...leg.log.events, leg.first]
        const recorded = withCitations(recordLeg(events, counter), leg.plan)
        // The lease is lost. If the run was deleted, its usage is settled all the same; if another process took it over, that process
        // settles it.
        if (ended === lost && recorded.charges.length === 0) return leg.log.close("lost")
        const outcome = afterTools(ended, recorded, leg.number)
        const terminal = terminalEvent(recorded, outcome, leg.explanation, lastSequence(leg))
        const expiries = yield* listExpiries(recorded, outcome.status, leg.lease)
        const partOrders = yield* partFollowUps(leg.parts, recorded, outcome.status, leg)
        const ends = yield* endFollowUps({ leg: leg.number, runId: leg.lease.runId, status: outcome.status }, leg.plan)
        const ordered = [...partOrders, ...expiries, ...ends]
        const { approvedResults: ran } = recorded
        const settlement = makeSettlement({
          lease: leg.lease,
          followUps: ordered,
          approved: ran.length === 0 ? null : approvedResults(leg.answered?.results ?? [], ran, counter),
          leg: recorded,
          end: outcome,
          explanation: leg.explanation,
          terminal,
          rest: leg.tail.rest().events,
          counter
        })
        const settled = yield* settlements
          .settle(leg.lease, settlement, terminal)
          .pipe(Effect.catchTag("StoreUnavailable", () => Effect.succeed(null)))
        if (settled !== null && settled.stored !== true) {
          leg.log.close("lost")
          if (settled.stored === "deleted") yield* settlements.account(leg.lease, recorded, leg.number, "CANCELLED")
          return
        }
        const shown =
          settled === null
            ? terminalEvent(
                recorded,
                afterTools(storeUnavailable, recorded, leg.number),
                leg.explanation,
                lastSequence(leg)
              )
            : settled.terminal
        leg.log.push(() => shown)
        leg.log.close("ended")
        if (settled?.status === outcome.status && ordered.length > 0) followUps.wake()
        if (settled !== null) yield* settlements.account(leg.lease, recorded, leg.number, settled.status)
      })

      return EndLeg.of({
        // A defect in the settlement must not leave followers waiting at the log. The lease expires later, and the next holder settles the
        // run from the store.
        settle: (run, leg, exit) =>
          Effect.catchCause(end(run, leg, exit), (cause) =>
            Effect.andThen(
              Effect.logError(`Run ${leg.lease.runId} could not be settled`, cause),
              Effect.sync(() => leg.log.close("lost"))
            )
          )
      })
    })
  )
}

/** Withdrawn: there is no leg to end. */
const endFromExit = (exit: LegExit, stopped: StopReason | null): Effect.Effect<LegEnd | Withdrawn> => {
  if (Exit.isSuccess(exit)) {
    return Effect.succeed({ status: exit.value._tag === "ClientNeeded" ? "REQUIRES_ACTION" : "COMPLETED" })
  }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error?._tag === "Withdrawn") return Effect.succeed(error)
  if (error?._tag === "LeaseLost" || stopped === "lost") return Effect.succeed(lost)
  if (stopped === "cancelled") return Effect.succeed({ status: "CANCELLED" })
  if (error !== undefined) return Effect.succeed({ status: "FAILED", fault: faultFromError(error) })
  if (Cause.hasInterruptsOnly(exit.cause)) return Effect.succeed(shutDown)
  return Effect.as(Effect.logError("A turn ended in a defect", exit.cause), internalError)
}

/** The user reads a sentence without the provider's words; the operator's log and the inspection of the run have them. */
const tellOperator = (leg: Leg, exit: LegExit, ended: LegEnd | Withdrawn): Effect.Effect<void> => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  if (error?._tag !== "ModelError" || ended instanceof Withdrawn || ended.status !== "FAILED") return Effect.void
  const { code = null, forOperator = null, model, provider, reason, requestId = null, status = null } = error
  return Effect.flatMap(Clock.currentTimeMillis, (at) => {
    const facts = { provider, model, reason, status, code, requestId, said: forOperator }
    void leg.log.push((sequence) => ({ _tag: "ModelFailed", sequence, at, ...facts }))
    const words = [
      status === null ? "" : ` Status ${status}.`,
      requestId === null ? "" : ` Request ${requestId}.`,
      forOperator === null ? "" : ` It said: ${forOperator}`
    ]
    return Effect.logWarning(`Run ${leg.lease.runId} failed. ${error.message}${words.join("")}`).pipe(
      Effect.annotateLogs("failed_run", leg.lease.runId)
    )
  })
}

const shutDown: LegEnd = {
  status: "FAILED",
  fault: {
    code: interruptedCode,
    message: "The server was stopped during this run. Send the message again.",
    retryable: true
  }
}

/** The run was lost. The store does not accept this end; its answer to the settlement says whether the charges still count. */
const lost: LegEnd = { ...shutDown }

const internalError: LegEnd = {
  status: "FAILED",
  fault: {
    code: "internal_error",
    message: "The run failed inside the server. Its operator finds the cause in the log.",
    retryable: false
  }
}

const storeUnavailable: LegEnd = {
  status: "FAILED",
  fault: {
    code: "store_unavailable",
    message: "The answer could not be stored, because the database is unavailable. Send the message again.",
    retryable: true
  }
}
