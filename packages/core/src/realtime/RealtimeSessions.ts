/**
 * All voice sessions of a process: `serve` runs one, `drain` ends all. One fiber ticks each session when a time limit is due, one renews
 * all leases together, and one reports charges that a meter did not accept before.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering, type MeteringPort } from "../metering/Metering.ts"
import { Quotas } from "../metering/Quota.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import type { Providers } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { makeAlarm } from "../primitives/Alarm.ts"
import { makeDeadlines } from "../primitives/Deadlines.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { HostedTools } from "../tools/HostedTool.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { TurnSettings } from "../turns/TurnSettings.ts"
import type { ClientSocket, Credentials } from "./ClientSocket.ts"
import { RealtimeModels } from "./RealtimeModel.ts"
import { lostLease, type OpenSession, serveSession, type SessionServices } from "./RealtimeSession.ts"
import { makeDoor, type SessionDoor } from "./SessionDoor.ts"
import { sessionFeatures } from "./SessionFeatures.ts"
import { reportOf } from "./SessionKeeper.ts"
import { millis, SessionLimits } from "./SessionLimits.ts"
import { SessionPlaces } from "./SessionPlace.ts"
import type { Ending } from "./SessionState.ts"
import { type SessionCharge, SessionStore } from "./SessionStore.ts"
import { Tickets } from "./Tickets.ts"
import { WaitingSockets } from "./WaitingSockets.ts"

/** A charge of this age was not reported by its session. */
const reportAfter = Duration.minutes(1)

export class RealtimeSessions extends Context.Service<
  RealtimeSessions,
  {
    /** Serves one connection from beginning to end. The socket is closed when this ends. */
    readonly serve: (socket: ClientSocket, credentials: Credentials) => Effect.Effect<void>
    /** Refuses new sessions, stops the running ones, and waits until conversations are stored and clients have their endings. */
    readonly drain: Effect.Effect<void>
    /** The number of connections. */
    readonly size: () => number
  }
>()("@colloquy/core/realtime/RealtimeSessions") {
  static readonly layer: Layer.Layer<
    RealtimeSessions,
    never,
    | RealtimeModels
    | SessionStore
    | Tickets
    | AssistantStore
    | ThreadStore
    | Providers
    | HostedTools
    | TurnParts
    | FollowUps
    | QuotaStore
    | UsageLedger
  > = Layer.effect(
    RealtimeSessions,
    Effect.gen(function* () {
      const store = yield* SessionStore
      const ledger = yield* UsageLedger
      const metering = yield* Metering
      const limits = yield* SessionLimits
      const scope = yield* Effect.scope
      const open = new Set<OpenSession>()
      const alarm = yield* makeAlarm((now) => Effect.sync(() => tickAll(open, now)))
      yield* Effect.forkScoped(keepLeases(store, open, Duration.fromInputUnsafe(limits.lease)))
      yield* Effect.forkScoped(reportCharges(store, metering))
      const services: SessionServices = {
        tickets: yield* Tickets,
        waiting: new WaitingSockets(limits.waitingOfOwner),
        models: yield* RealtimeModels,
        places: yield* SessionPlaces,
        store,
        features: sessionFeatures({ hostTools: (yield* HostedTools).all, parts: (yield* TurnParts).all }),
        wakeFollowUps: (yield* FollowUps).wake,
        providerKeys: yield* ProviderKeys,
        quotaOf: yield* Quotas,
        ledger,
        metering,
        dayBudget: yield* makeDayBudget,
        threads: yield* ThreadStore,
        counter: yield* TokenCounter,
        limits,
        turnSettings: yield* TurnSettings,
        deadlines: yield* makeDeadlines,
        register: (session) =>
          Effect.asVoid(
            Effect.acquireRelease(
              Effect.sync(() => open.add(session)),
              () => Effect.sync(() => open.delete(session))
            )
          ),
        wakeAt: alarm.at,
        finishLater: (lease, keeper) =>
          repeatWhileUnavailable(keeper.flush, "1 hour").pipe(
            Effect.andThen(store.close(lease)),
            Effect.catchCause((cause) => Effect.logError("The end of a voice session could not be stored", cause)),
            Effect.forkIn(scope),
            Effect.asVoid
          )
      }
      return makeSessions(services, millis(limits.stopping) + millis(limits.saving) + millis("20 seconds"))
    })
  ).pipe(Layer.provide(SessionPlaces.layer))
}

const makeSessions = (services: SessionServices, drainMillis: number): typeof RealtimeSessions.Service => {
  const doors = new Set<SessionDoor>()
  const empty: Array<Deferred.Deferred<void>> = []
  let draining = false

  const leave = (door: SessionDoor): void => {
    doors.delete(door)
    if (doors.size > 0) return
    for (const waiting of empty.splice(0)) Deferred.doneUnsafe(waiting, Effect.void)
  }

  return RealtimeSessions.of({
    size: () => doors.size,
    serve: (socket, credentials) =>
      Effect.suspend(() => {
        const door = makeDoor(socket)
        doors.add(door)
        if (draining) door.stop(shutDown)
        return Effect.ensuring(
          serveSession(services, door, credentials),
          Effect.sync(() => leave(door))
        )
      }),
    drain: Effect.suspend(() => {
      draining = true
      for (const door of doors) door.stop(shutDown)
      if (doors.size === 0) return Effect.void
      const waiting = Deferred.makeUnsafe<void>()
      empty.push(waiting)
      return Effect.asVoid(Effect.timeoutOption(Deferred.await(waiting), drainMillis))
    })
  })
}

const shutDown: Ending = { error: null, close: "shutdown" }

const tickAll = (open: ReadonlySet<OpenSession>, now: number): number => {
  let next = Number.POSITIVE_INFINITY
  for (const { relay } of open) next = Math.min(next, relay.tick(now))
  return next
}

/** Three attempts before a lease expires. */
const keepLeases = (
  store: typeof SessionStore.Service,
  open: ReadonlySet<OpenSession>,
  lease: Duration.Duration
): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (open.size === 0) return
    const lost = new Set(
      yield* store.renew(
        [...open].map((session) => session.lease),
        lease
      )
    )
    for (const session of open) if (lost.has(session.lease.sessionId)) session.relay.input(lostLease)
  }).pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.logWarning("The leases of voice sessions could not be renewed")),
    Effect.repeat(Schedule.spaced(Duration.millis(Duration.toMillis(lease) / 3))),
    Effect.asVoid
  )

const reportCharges = (store: typeof SessionStore.Service, metering: MeteringPort): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const charge of yield* store.unreported(new Date(now - Duration.toMillis(reportAfter)), 100)) {
      yield* report(metering, charge)
      yield* store.reported([charge])
    }
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning("Charges of voice sessions could not be reported yet", cause)),
    Effect.repeat(Schedule.spaced("30 seconds")),
    Effect.asVoid
  )

const report = (metering: MeteringPort, { number, ownerId, sessionId, threadId, ...charge }: SessionCharge) =>
  Effect.provideService(metering.record(reportOf({ sessionId, threadId }, number, charge)), Principal, { ownerId })
