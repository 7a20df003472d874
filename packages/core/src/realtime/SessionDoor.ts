/**
 * Receives the client's input before the relay takes over: it waits for the first frame, refuses frames that come too early, and notices a
 * client that leaves or stops.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { ClientInput, ClientSocket } from "./ClientSocket.ts"
import { SessionRefused } from "./SessionErrors.ts"
import type { SessionRequest } from "./Frames.ts"
import type { Ending } from "./SessionSteps.ts"

export interface SessionDoor {
  readonly socket: ClientSocket
  /** Begins to read. */
  readonly open: () => void
  readonly firstFrame: Effect.Effect<SessionRequest, SessionRefused>
  /** The client left or stopped, or the service shuts down, before the relay took over. */
  readonly left: Effect.Effect<Ending>
  /** From now on all input goes to `receive`; it first gets the state of the client's connection. */
  readonly handOver: (receive: (input: ClientInput) => void, stop: (ending: Ending) => void) => void
  /** The service ends the session, in any state. */
  readonly stop: (ending: Ending) => void
}

export const makeDoor = (socket: ClientSocket): SessionDoor => {
  const first = Deferred.makeUnsafe<SessionRequest, SessionRefused>()
  const left = Deferred.makeUnsafe<Ending>()
  let hasFirst = false
  let isBehind = false

  const leave = (ending: Ending): void => {
    Deferred.doneUnsafe(left, Effect.succeed(ending))
  }

  const early = (input: ClientInput): void => {
    switch (input._tag) {
      case "Begin":
        hasFirst = true
        Deferred.doneUnsafe(first, Effect.succeed(input.request))
        return
      case "Malformed":
        if (!hasFirst) return refuseFirst(new SessionRefused({ code: input.code, reason: input.message }))
        return socket.send({ _tag: "Error", code: input.code, message: input.message })
      case "Frame":
        if (input.frame._tag === "Stop") return leave({ error: null, close: "ended" })
        return socket.send(notReady)
      case "Audio":
        return socket.send(notReady)
      case "Behind":
        isBehind = input.isBehind
        return
      case "Gone":
        return leave({ error: null, close: "ended" })
    }
  }

  const refuseFirst = (refused: SessionRefused): void => {
    Deferred.doneUnsafe(first, Effect.fail(refused))
  }

  let receive = early
  let stop = leave
  return {
    socket,
    open: () => socket.listen((input) => receive(input)),
    firstFrame: Deferred.await(first),
    left: Deferred.await(left),
    stop: (ending) => stop(ending),
    handOver: (next, nextStop) => {
      receive = next
      stop = nextStop
      if (isBehind) next({ _tag: "Behind", isBehind })
    }
  }
}

const notReady = {
  _tag: "Error",
  code: "not_ready",
  message: "Wait for session.begin: only stop is accepted before it."
} as const
