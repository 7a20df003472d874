/**
 * Step 4 of a turn on a busy thread: a message that is stored and waits until nothing is in its way, for as long as the host allows. It waits
 * inside the kernel, whatever becomes of its caller.
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
import { type ActivateOutcome, type Begin, type Lease, RunStore } from "../runs/RunStore.ts"
import { LeaseLost, Withdrawn } from "./EndLeg.ts"
import type { NewLeg } from "./Leg.ts"
import { Recovery } from "./Recovery.ts"
import { RunLeg } from "./RunLeg.ts"
import { LegScope, RunningTurns, TurnSignals } from "./RunningTurns.ts"
import { repeatWhileAway } from "./StoreRetry.ts"
import { ThreadBusy } from "./TurnErrors.ts"
import { isKept, type TurnEvent } from "./TurnEvent.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** What the caller awaits: that the message had its turn, or that it was too late. */
export type TurnCame = Effect.Effect<void, ThreadBusy | StoreUnavailable>

const queueSeconds = Metric.histogram("colloquy.turn.queue_time", {
  description: "Seconds that a message waited for its thread",
  boundaries: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30]
})

export class QueueTurn extends Context.Service<
  QueueTurn,
  {
    readonly queue: (leg: NewLeg) => Effect.Effect<TurnCame, never, Principal>
    /** A message that is only saved takes its turn as well. Nobody works on it: what ends it before its turn leaves nothing of it. */
    readonly queueSave: (
      lease: Lease,
      log: RunLog<TurnEvent>,
      followUps: Begin["followUps"]
    ) => Effect.Effect<TurnCame, never, Principal>
  }
>()("@colloquy/core/turns/QueueTurn") {
  static readonly layer: Layer.Layer<
    QueueTurn,
    never,
    RunStore | FollowUps | RunningTurns | LegScope | TurnSignals | Recovery | RunLeg
  > = Layer.effect(
    QueueTurn,
    Effect.gen(function* () {
      const store = yield* RunStore
      const workers = yield* FollowUps
      const running = yield* RunningTurns
      const scope = yield* LegScope
      const signals = yield* TurnSignals
      const recovery = yield* Recovery
      const legs = yield* RunLeg
      const settings = yield* TurnSettings
      const leaseTime = Duration.fromInputUnsafe(settings.lease)
      const queueTime = Duration.toMillis(settings.queueTimeout)

      const queue = Effect.fnUntraced(function* (leg: NewLeg): Effect.fn.Return<TurnCame, never, Principal> {
        const { lease, log, room } = leg
        const begun = yield* Deferred.make<void, ThreadBusy | StoreUnavailable>()
        const waiting = log.events.length
        const history = awaitTurn(lease, store.activate(lease, leaseTime, room.forPrompt)).pipe(
          Effect.flatMap((outcome) => (outcome._tag === "Started" ? Effect.succeed(outcome.history) : new LeaseLost())),
          Effect.tap(() => Deferred.succeed(begun, undefined)),
          Effect.tapError((error) => (error._tag === "LeaseLost" ? Effect.void : Deferred.fail(begun, error))),
          Effect.catchTag("ThreadBusy", () => Effect.fail(new Withdrawn())),
          // What became of the run is not known: the next holder of its lease finds out.
          Effect.catchTag("StoreUnavailable", () => Effect.fail(new LeaseLost()))
        )
        yield* legs.start(leg, 0, history)
        // A run that is cancelled while it waits ends without beginning: its log says so.
        return Effect.raceFirst(Deferred.await(begun), log.above(waiting))
      })

      const queueSave = Effect.fnUntraced(function* (
        lease: Lease,
        log: RunLog<TurnEvent>,
        followUps: Begin["followUps"]
      ): Effect.fn.Return<TurnCame, never, Principal> {
        const saved = yield* Deferred.make<void, ThreadBusy | StoreUnavailable>()
        // The log says already that the message was saved: followers of the run read the store meanwhile.
        const unsaved = new RunLog<TurnEvent>(1)
        const tail = new LogTail(unsaved, 0, settings.unwatchedLog, isKept)
        const run: LiveRun<TurnEvent> = { lease, log: unsaved, tail, stopped: null, fiber: null }
        const busy = new ThreadBusy({ threadId: lease.threadId, runId: lease.runId })
        running.add(run)
        const wait = awaitTurn(lease, store.activate(lease, leaseTime, 0, { followUps }))
        run.fiber = yield* Effect.interruptible(wait).pipe(
          Effect.onExit((exit) => {
            if (Exit.isSuccess(exit)) return Effect.sync(() => followUps.length > 0 && workers.wake())
            return Effect.gen(function* () {
              const error = Option.getOrElse(Cause.findErrorOption(exit.cause), () => busy)
              if (error._tag === "ThreadBusy") yield* unlessAway(store.withdraw(lease))
              yield* Deferred.fail(saved, error._tag === "LeaseLost" ? busy : error)
            })
          }),
          Effect.ensuring(
            Effect.sync(() => {
              running.remove(run)
              unsaved.close("lost")
              log.close("ended")
              Deferred.doneUnsafe(saved, Effect.void)
            })
          ),
          Effect.forkIn(scope, { uninterruptible: true })
        )
        return Deferred.await(saved)
      })

      /** Waits until nothing is in the way of a queued run. */
      const awaitTurn = Effect.fnUntraced(function* (
        lease: Lease,
        activate: Effect.Effect<ActivateOutcome, StoreUnavailable, Principal>
      ): Effect.fn.Return<
        Exclude<ActivateOutcome, { readonly _tag: "Waiting" | "Lost" }>,
        ThreadBusy | LeaseLost | StoreUnavailable,
        Principal | Scope.Scope
      > {
        const changed = yield* signals.listen(lease.threadId)
        const since = yield* Clock.currentTimeMillis
        const deadline = since + queueTime
        let inTheWay = lease.runId
        while (true) {
          // Not to be interrupted: a run that became active must be known to this process.
          const outcome = yield* Effect.uninterruptible(unlessAway(activate))
          const now = yield* Clock.currentTimeMillis
          if (outcome?._tag === "Started" || outcome?._tag === "Saved") {
            yield* Metric.update(queueSeconds, (now - since) / 1000)
            return outcome
          }
          if (outcome?._tag === "Lost") return yield* new LeaseLost()
          if (outcome?._tag === "Waiting") {
            inTheWay = outcome.runId
            if (outcome.expired && (yield* unlessAway(recovery.endExpired(outcome.runId))) === true) continue
          }
          if (now >= deadline) {
            const isWithdrawn = yield* Effect.uninterruptible(withdraw(lease))
            if (isWithdrawn) return yield* new ThreadBusy({ threadId: lease.threadId, runId: inTheWay })
            // It began meanwhile, or it was taken over: the next activation tells.
            continue
          }
          yield* Effect.raceFirst(changed, Effect.sleep(deadline - now))
        }
      }, Effect.scoped)

      /**
       * Whether nothing of the run is left. Asked again while the store is away: a caller who is told that his message was not taken must
       * not find it in the thread later. A withdrawal that was stored and whose answer was lost answers false to the next one, and the run
       * is gone.
       */
      const withdraw = Effect.fnUntraced(function* (lease: Lease) {
        const withdrawn = yield* repeatWhileAway(store.withdraw(lease), settings.settleTimeout)
        return withdrawn || Option.isNone(yield* repeatWhileAway(store.get(lease.runId), settings.settleTimeout))
      })

      return QueueTurn.of({ queue, queueSave })
    })
  )
}

/** A store that is away does not end the waiting. */
const unlessAway = <A>(
  effect: Effect.Effect<A, StoreUnavailable, Principal>
): Effect.Effect<A | null, never, Principal> => Effect.catchTag(effect, "StoreUnavailable", () => Effect.succeed(null))
