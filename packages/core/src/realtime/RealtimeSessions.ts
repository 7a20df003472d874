/**
 * All voice sessions of a process: `serve` runs one, `drain` ends all. One fiber reports charges that a meter did not accept before.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { Principal } from "../access/Principal.ts"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import { Metering, type MeteringPort } from "../metering/Metering.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import type { UsageLedger } from "../metering/UsageLedger.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { Providers } from "../models/Provider.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { HostedTools } from "../tools/HostedTool.ts"
import { HostedCalls } from "../turns/HostedCalls.ts"
import type { TurnParts } from "../turns/TurnParts.ts"
import type { ClientSocket, Credentials } from "./ClientSocket.ts"
import { RealtimeModels } from "./RealtimeModel.ts"
import { OpenSessions } from "./OpenSessions.ts"
import { RealtimeSession } from "./RealtimeSession.ts"
import { SessionAdmission } from "./SessionAdmission.ts"
import { makeDoor, type SessionDoor } from "./SessionDoor.ts"
import { reportCharge } from "./SessionKeeper.ts"
import { millis, SessionLimits } from "./SessionLimits.ts"
import { SessionPlaces } from "./SessionPlace.ts"
import type { Ending } from "./SessionSteps.ts"
import { type SessionCharge, SessionStore } from "./SessionStore.ts"
import { SessionTools } from "./SessionTools.ts"
import type { Tickets } from "./Tickets.ts"

/** A charge of this age was not reported by its session. */
const reportAfter = Duration.minutes(1)

export class RealtimeSessions extends Context.Service<
  RealtimeSessions,
  {
    /** Serves one connection from beginning to end. The socket is closed when this ends. */
    readonly serve: (socket: ClientSocket, credentials: Credentials) => Effect.Effect<void>
    /** Refuses new sessions, stops the running ones, and waits until conversations are stored and clients have their endings. */
    readonly drain: Effect.Effect<void>
    /** The models of all vendors, as a first frame may name them. */
    readonly models: ReadonlyArray<ModelInfo>
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
      yield* Effect.forkScoped(reportCharges(yield* SessionStore, yield* Metering))
      const { serve } = yield* RealtimeSession
      const { saving, stopping } = yield* SessionLimits
      const models = (yield* RealtimeModels).all.flatMap((each) => each.models)
      return makeSessions(serve, models, millis(stopping) + millis(saving) + millis("20 seconds"))
    })
  ).pipe(
    Layer.provide(RealtimeSession.layer),
    Layer.provide([SessionAdmission.layer, SessionTools.layer, OpenSessions.layer]),
    Layer.provide([SessionPlaces.layer, HostedCalls.layer]),
    Layer.provide(Deadlines.layer)
  )
}

const makeSessions = (
  serve: typeof RealtimeSession.Service.serve,
  models: ReadonlyArray<ModelInfo>,
  drainMillis: number
): typeof RealtimeSessions.Service => {
  const doors = new Set<SessionDoor>()
  const empty: Array<Deferred.Deferred<void>> = []
  let draining = false

  const leave = (door: SessionDoor): void => {
    doors.delete(door)
    if (doors.size > 0) return
    for (const waiting of empty.splice(0)) Deferred.doneUnsafe(waiting, Effect.void)
  }

  return RealtimeSessions.of({
    models,
    size: () => doors.size,
    serve: (socket, credentials) =>
      Effect.suspend(() => {
        const door = makeDoor(socket)
        doors.add(door)
        if (draining) door.stop(shutDown)
        return Effect.ensuring(
          serve(door, credentials),
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

const reportCharges = Effect.fnUntraced(
  function* (store: typeof SessionStore.Service, metering: MeteringPort) {
    const now = yield* Clock.currentTimeMillis
    for (const charge of yield* store.unreported(new Date(now - Duration.toMillis(reportAfter)), 100)) {
      // One that the meter never takes must not keep it from hearing of the others.
      yield* report(metering, charge).pipe(
        Effect.andThen(store.reported([charge])),
        Effect.catchCause((cause) =>
          Effect.logWarning(`A charge of voice session ${charge.sessionId} could not be reported yet`, cause)
        )
      )
    }
  },
  Effect.catchCause((cause) => Effect.logWarning("Charges of voice sessions could not be read yet", cause)),
  Effect.repeat(Schedule.spaced("30 seconds")),
  Effect.asVoid
)

const report = (metering: MeteringPort, charge: SessionCharge) =>
  Effect.provideService(reportCharge(metering, charge, charge), Principal, { ownerId: charge.ownerId })
