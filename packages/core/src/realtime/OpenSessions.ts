/** The voice sessions that are open in this process: one fiber ticks them when a time limit is due, and one renews all their leases. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { makeAlarm } from "../primitives/Alarm.ts"
import { SessionLimits } from "./SessionLimits.ts"
import type { Relay } from "./SessionRelay.ts"
import { type SessionLease, SessionStore } from "./SessionStore.ts"

interface OpenSession {
  readonly lease: SessionLease
  readonly relay: Relay
}

export class OpenSessions extends Context.Service<
  OpenSessions,
  {
    /** Includes the session in the common ticks and lease renewals while the scope is open. */
    readonly register: (session: OpenSession) => Effect.Effect<void, never, Scope.Scope>
    /** A session has a time limit at this time. */
    readonly wakeAt: (time: number) => void
  }
>()("@colloquy/core/realtime/OpenSessions") {
  static readonly layer: Layer.Layer<OpenSessions, never, SessionStore> = Layer.effect(
    OpenSessions,
    Effect.gen(function* () {
      const store = yield* SessionStore
      const { lease } = yield* SessionLimits
      const open = new Set<OpenSession>()
      const alarm = yield* makeAlarm((now) => Effect.sync(() => tickAll(open, now)))
      yield* Effect.forkScoped(keepLeases(store, open, Duration.fromInputUnsafe(lease)))
      return OpenSessions.of({
        register: (session) =>
          Effect.asVoid(
            Effect.acquireRelease(
              Effect.sync(() => open.add(session)),
              () => Effect.sync(() => open.delete(session))
            )
          ),
        wakeAt: alarm.at
      })
    })
  )
}

export const lostLease = {
  _tag: "Ended",
  ending: {
    error: { code: "session_conflict", message: "The thread was deleted, or another session has taken it." },
    close: "fault"
  },
  atOnce: true
} as const

const tickAll = (open: ReadonlySet<OpenSession>, now: number): number => {
  let next = Number.POSITIVE_INFINITY
  for (const { relay } of open) next = Math.min(next, relay.tick(now))
  return next
}

const renewLeases = Effect.fnUntraced(
  function* (store: typeof SessionStore.Service, open: ReadonlySet<OpenSession>, lease: Duration.Duration) {
    if (open.size === 0) return
    const lost = new Set(
      yield* store.renew(
        [...open].map((session) => session.lease),
        lease
      )
    )
    for (const session of open) if (lost.has(session.lease.sessionId)) session.relay.input(lostLease)
  },
  Effect.catchCause((cause) => Effect.logWarning("The leases of voice sessions could not be renewed", cause))
)

/** Three attempts before a lease expires. */
const keepLeases = (store: typeof SessionStore.Service, open: ReadonlySet<OpenSession>, lease: Duration.Duration) =>
  Effect.repeat(renewLeases(store, open, lease), Schedule.spaced(Duration.millis(Duration.toMillis(lease) / 3)))
