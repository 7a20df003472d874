/**
 * Step 4 of a turn on a busy thread: the message is stored and waits until the thread is free, at most for the queue time that the host
 * allows. It waits inside the kernel, also after its caller has gone.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { LiveRun } from "../runs/LiveRuns.ts"
import { LogTail } from "../runs/LogTail.ts"
import { RunLog } from "../runs/RunLog.ts"
import type { Lease } from "../runs/LogRecords.ts"
import { type ActivateOutcome, type Begin, RunStore } from "../runs/RunStore.ts"
import { type Draft, endCancelled, endRefused, waitedTooLong } from "./Draft.ts"
import { LeaseLost, Withdrawn } from "./EndLeg.ts"
import { type NewLeg, pushFirst } from "./Leg.ts"
import { Recovery } from "./Recovery.ts"
import { RunLeg } from "./RunLeg.ts"
import { LegFibers, RunningTurns, TurnSignals } from "./RunningTurns.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import { ThreadBusy } from "./TurnErrors.ts"
import { isKept, type TurnEvent } from "./TurnEvent.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** The caller awaits this: it succeeds when the turn begins, and fails when the message waited too long. */
export type TurnBegun = Effect.Effect<void, ThreadBusy | StoreUnavailable>

const queueSeconds = Metric.histogram("colloquy.turn.queue_time", {
  description: "Seconds that a message waited for its thread",
  boundaries: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30]
})

export class QueueTurn extends Context.Service<
  QueueTurn,
  {
    /** `withdrawn` runs when the message has waited too long. */
    readonly queue: (
      leg: NewLeg,
      withdrawn: Effect.Effect<void, never, Principal>
    ) => Effect.Effect<TurnBegun, never, Principal>
    /**
     * Lets a queued run whose process died wait in this one, under a lease that was taken over. When its turn has come, its log can be read:
     * `makeLeg` makes the leg of it. `room` is the room for the history.
     */
    readonly queueAgain: (
      lease: Lease,
      room: number,
      makeLeg: Effect.Effect<NewLeg, StoreUnavailable, Principal>
    ) => Effect.Effect<void, never, Principal>
    /**
     * Queues a message that is only saved. No process works on it, so if it is stopped before its turn, nothing of it is kept. `saved` is
     * its terminal event.
     */
    readonly queueSave: (
      turn: { readonly lease: Lease; readonly draft: Draft; readonly saved: TurnEvent },
      followUps: Begin["followUps"]
    ) => Effect.Effect<TurnBegun, never, Principal>
  }
>()("@colloquy/core/turns/QueueTurn") {
  static readonly layer: Layer.Layer<
    QueueTurn,
    never,
    RunStore | FollowUps | RunningTurns | LegFibers | TurnSignals | Recovery | RunLeg
  > = Layer.effect(
    QueueTurn,
    Effect.gen(function* () {
      const store = yield* RunStore
      const workers = yield* FollowUps
      const running = yield* RunningTurns
      const { fork } = yield* LegFibers
      const signals = yield* TurnSignals
      const recovery = yield* Recovery
      const legs = yield* RunLeg
      const settings = yield* TurnSettings
      const leaseTime = Duration.fromInputUnsafe(settings.lease)
      const queueTime = Duration.toMillis(settings.queueTimeout)

      const queue = Effect.fnUntraced(function* (
        leg: NewLeg,
        withdrawn: Effect.Effect<void, never, Principal>
      ): Effect.fn.Return<TurnBegun, never, Principal> {
        const { lease, log, room } = leg
        const begun = yield* Deferred.make<void, ThreadBusy | StoreUnavailable>()
        const waiting = log.events.length
        const history = awaitTurn(lease, store.activate(lease, leaseTime, room.forPrompt), withdrawn).pipe(
          Effect.flatMap((outcome) => (outcome._tag === "Started" ? Effect.succeed(outcome.history) : new LeaseLost())),
          Effect.tap(() => {
            pushFirst(leg)
            log.wake()
            return Deferred.succeed(begun, undefined)
          }),
          Effect.tapError((error) => (error._tag === "LeaseLost" ? Effect.void : Deferred.fail(begun, error))),
          Effect.catchTag("ThreadBusy", (busy) => Effect.fail(new Withdrawn({ busy }))),
          // Whether the run was activated is not known. The next holder of its lease finds out.
          Effect.catchTag("StoreUnavailable", () => Effect.fail(new LeaseLost()))
        )
        // The store has all events of a queued run, the first one of the leg too, which it shows when the run begins.
        yield* legs.start(leg, waiting + 1, history)
        // A run that is cancelled while it waits ends without beginning. In that case the log grows, which ends this wait as well.
        return Effect.raceFirst(Deferred.await(begun), log.above(waiting))
      })

      /** Adds a run that waits without a leg, so that its lease is renewed and it can be stopped. */
      const waitingRun = (lease: Lease, log: RunLog<TurnEvent>): LiveRun<TurnEvent> => {
        const tail = new LogTail(log, 0, settings.unwatchedLog, isKept)
        const run: LiveRun<TurnEvent> = { lease, log, tail, stopped: null, fiber: null }
        running.add(run)
        return run
      }

      const queueAgain = Effect.fnUntraced(function* (
        lease: Lease,
        room: number,
        makeLeg: Effect.Effect<NewLeg, StoreUnavailable, Principal>
      ) {
        // Followers who come while the run waits are sent back to the store when the leg begins.
        const log = new RunLog<TurnEvent>(1)
        const run = waitingRun(lease, log)
        const begin = Effect.fnUntraced(function* (outcome: ActivateOutcome) {
          if (outcome._tag !== "Started") return
          const leg = yield* makeLeg
          yield* legs.start(leg, leg.log.events.length, Effect.succeed(outcome.history))
        })
        run.fiber = yield* Effect.interruptible(awaitTurn(lease, store.activate(lease, leaseTime, room))).pipe(
          Effect.flatMap(begin),
          Effect.catchCause((cause) => {
            if (run.stopped === "cancelled") return Effect.ignore(recovery.endCancelled(lease.runId))
            // Too late, lost or without its store: the next holder of its lease ends it.
            return Cause.hasDies(cause) ? Effect.logError(`Run ${lease.runId} could not go on`, cause) : Effect.void
          }),
          Effect.ensuring(
            Effect.sync(() => {
              running.remove(run)
              log.close("lost")
            })
          ),
          (waiting) => fork(waiting, { uninterruptible: true })
        )
      })

      const queueSave = Effect.fnUntraced(function* (
        { draft, lease, saved: last }: { readonly lease: Lease; readonly draft: Draft; readonly saved: TurnEvent },
        followUps: Begin["followUps"]
      ): Effect.fn.Return<TurnBegun, never, Principal> {
        const saved = yield* Deferred.make<void, ThreadBusy | StoreUnavailable>()
        const { log, messageId } = draft
        const run = waitingRun(lease, log)
        const busy = new ThreadBusy({ threadId: lease.threadId, runId: lease.runId })
        const nobody = { messageId, provider: "", model: "" }
        const wait = awaitTurn(lease, store.activate(lease, leaseTime, 0, { followUps }))
        run.fiber = yield* Effect.interruptible(wait).pipe(
          Effect.onExit((exit) => {
            if (Exit.isSuccess(exit)) {
              return Effect.sync(() => {
                log.push(() => last)
                log.close("ended")
                if (followUps.length > 0) workers.wake()
              })
            }
            return Effect.gen(function* () {
              const error = Option.getOrElse(Cause.findErrorOption(exit.cause), () => busy)
              if (error._tag === "ThreadBusy") {
                // It was saved after all, in the moment in which it was stopped: followers read that from the store.
                if ((yield* nullIfUnavailable(withdraw(lease))) === false) return log.close("lost")
                yield* draft.chargeUnkept
              }
              if (run.stopped === "cancelled") return endCancelled(log, nobody)
              yield* Deferred.fail(saved, error._tag === "LeaseLost" ? busy : error)
              if (error._tag === "ThreadBusy") endRefused(log, nobody, waitedTooLong(error))
              else log.close("lost")
            })
          }),
          Effect.ensuring(
            Effect.sync(() => {
              running.remove(run)
              Deferred.doneUnsafe(saved, Effect.void)
            })
          ),
          (waiting) => fork(waiting, { uninterruptible: true })
        )
        return Deferred.await(saved)
      })

      /** Waits until no other run blocks a queued run. */
      const awaitTurn = Effect.fnUntraced(function* (
        lease: Lease,
        activate: Effect.Effect<ActivateOutcome, StoreUnavailable, Principal>,
        withdrawn: Effect.Effect<void, never, Principal> = Effect.void
      ): Effect.fn.Return<
        Exclude<ActivateOutcome, { readonly _tag: "Waiting" | "Lost" }>,
        ThreadBusy | LeaseLost | StoreUnavailable,
        Principal | Scope.Scope
      > {
        const changed = yield* signals.listen(lease.threadId)
        const since = yield* Clock.currentTimeMillis
        const deadline = since + queueTime
        let blockingRunId = lease.runId
        while (true) {
          // Not interruptible: a run that has become active must be registered in this process.
          const outcome = yield* Effect.uninterruptible(nullIfUnavailable(activate))
          const now = yield* Clock.currentTimeMillis
          if (outcome?._tag === "Started" || outcome?._tag === "Saved") {
            yield* Metric.update(queueSeconds, (now - since) / 1000)
            return outcome
          }
          if (outcome?._tag === "Lost") return yield* new LeaseLost()
          if (outcome?._tag === "Waiting") {
            blockingRunId = outcome.runId
            if (outcome.expired && (yield* nullIfUnavailable(recovery.endExpired(outcome.runId))) === true) continue
          }
          if (now >= deadline) {
            const isWithdrawn = yield* Effect.uninterruptible(
              Effect.tap(withdraw(lease), (isGone) => (isGone ? withdrawn : Effect.void))
            )
            if (isWithdrawn) return yield* new ThreadBusy({ threadId: lease.threadId, runId: blockingRunId })
            // The run began meanwhile or was taken over; the next activation shows which.
            continue
          }
          yield* Effect.raceFirst(changed, Effect.sleep(deadline - now))
        }
      }, Effect.scoped)

      /**
       * Whether nothing of the run is left. It is repeated while the store is unavailable, because a message that the caller was told is
       * refused must not appear in the thread later. If a withdrawal was stored but its response was lost, the repeated withdrawal returns
       * false; then the missing run shows that it succeeded.
       */
      const withdraw = Effect.fnUntraced(function* (lease: Lease) {
        const withdrawn = yield* repeatWhileUnavailable(store.withdraw(lease), settings.settleTimeout)
        return withdrawn || Option.isNone(yield* repeatWhileUnavailable(store.get(lease.runId), settings.settleTimeout))
      })

      return QueueTurn.of({ queue, queueAgain, queueSave })
    })
  )
}

/** An unavailable store does not end the wait. */
const nullIfUnavailable = <A>(
  effect: Effect.Effect<A, StoreUnavailable, Principal>
): Effect.Effect<A | null, never, Principal> => Effect.catchTag(effect, "StoreUnavailable", () => Effect.succeed(null))
