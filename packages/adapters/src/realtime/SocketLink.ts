/**
 * Connects a vendor's mapping to a WebSocket: opens the connection, sends the setup, passes messages in both directions, and connects again when
 * the mapping asks for it.
 */
import {
  type PreparedSession,
  type VendorEvent,
  type VendorLink,
  type VendorListener,
  VendorUnavailable
} from "@colloquy/core/realtime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { WebSocket } from "ws"
import { sentenceIn } from "../protocols/Fault.ts"
import { parseJson, wellFormedJson } from "../protocols/Wire.ts"
import type { MappedSession, VendorMapping } from "./VendorMapping.ts"
import { dial, type DialFailure, frameBytes, type SocketSettings } from "./Dial.ts"
import type { VendorSocket } from "./VendorSocket.ts"

/** A vendor that has acknowledged the setup, but not each message of the history, is treated as ready after this time. */
const ackTimeout = "3 seconds"
const pingEvery = "20 seconds"
/** Between two attempts to open a new connection. They end with the old one. */
const redialPause = "1 second"

export const overSocket = (session: MappedSession, settings: SocketSettings): PreparedSession => ({
  inputFormat: session.inputFormat,
  outputFormat: session.outputFormat,
  canCancel: session.canCancel,
  instructions: session.instructions,
  connect: (listener) => connect(session, listener, settings)
})

const connect = Effect.fnUntraced(function* (
  session: MappedSession,
  listener: VendorListener,
  settings: SocketSettings
): Effect.fn.Return<VendorLink, VendorUnavailable, Scope.Scope> {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const withoutKey = makeRedaction(session.apiKey)
  const tell = (event: VendorEvent): void => listener.event(withoutKey.event(event))
  const dialled = Effect.mapError(dial(session.url, session.headers, settings), (failure) => {
    const { code, reason } = unavailable(failure)
    return new VendorUnavailable({ code, reason: withoutKey.text(reason) })
  })
  const first: VendorSocket = yield* Effect.acquireRelease(dialled, (each) => Effect.sync(() => each.close(1000)))
  let socket = first
  let isPaused = false
  let isOver = false
  let next: VendorSocket | null = null
  /** A new connection is being opened or set up. */
  let isMoving = false

  const mapping: VendorMapping = session.makeMapping({
    // A message can be told in several pieces, and each of them can end the session.
    event: (event) => {
      if (!isOver) tell(event)
    },
    audio: (itemId, encoded) => {
      if (!isOver) listener.audio(itemId, encoded)
    },
    send: (message) => sendTo(socket, message),
    redial: () => {
      if (isMoving || isOver) return
      isMoving = true
      const redialled = dial(session.url, session.headers, settings).pipe(
        Effect.retry({ schedule: Schedule.spaced(redialPause), while: () => !isOver })
      )
      fork(Effect.ignore(Effect.map(redialled, takeOver)))
    }
  })

  /** The old connection stays in use until the new one is set up, and is then closed. */
  const takeOver = (fresh: VendorSocket): void => {
    if (isOver) return fresh.terminate()
    next = fresh
    for (const message of mapping.opening()) sendTo(fresh, message)
    fresh.once("message", () => {
      next = null
      isMoving = false
      if (!mapping.mayMove()) return fresh.close(1000)
      const old = socket
      socket = fresh
      // The listeners for its close stay: one of them ends its pings.
      old.removeAllListeners("message").close(1000)
      attach(fresh)
      if (isPaused) fresh.pause()
    })
    fresh.once("close", () => {
      if (next !== fresh) return
      next = null
      isMoving = false
    })
    fresh.resume()
  }

  const attach = (each: WebSocket): void => {
    let missed = 0
    each.on("message", (data) => {
      if (isOver) return
      const message = frameBytes(data)
      mapping.receive(message, now())
      release(message)
    })
    each.on("pong", () => {
      missed = 0
    })
    each.on("close", (code, reason) => {
      if (each !== socket || isOver) return
      isOver = true
      tell({ _tag: "Closed", reason: closeReason(code, reason.toString("utf8")) })
    })
    const beat = Effect.sync(() => {
      missed++
      if (missed > 2) each.terminate()
      else if (each.readyState === WebSocket.OPEN) each.ping()
    })
    const beating = fork(Effect.forever(Effect.andThen(Effect.sleep(pingEvery), beat)))
    each.on("close", () => beating.interruptUnsafe())
  }

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isOver = true
      socket.close(1000)
      next?.terminate()
    })
  )
  attach(socket)
  for (const message of mapping.opening()) sendTo(socket, message)
  socket.resume()
  yield* Effect.forkScoped(Effect.andThen(Effect.sleep(ackTimeout), Effect.sync(mapping.stopWaiting)))

  return {
    send: (command) => mapping.command(command, now()),
    sendAudio: (audio, sent) => {
      const message = mapping.audio(audio, now())
      if (message === null || socket.readyState !== WebSocket.OPEN) return sent?.()
      socket.sendAudio(message, sent)
    },
    buffered: () => socket.bufferedAmount,
    pause: () => {
      isPaused = true
      socket.pause()
    },
    resume: () => {
      isPaused = false
      if (socket.readyState === WebSocket.OPEN) socket.resume()
    },
    finish: mapping.finish
  }
})

/** Some vendors repeat the key in their refusals. The key may also be part of an address, and then has its reserved characters encoded. */
const makeRedaction = (apiKey: Redacted.Redacted<string> | null) => {
  const key = apiKey === null ? "" : Redacted.value(apiKey)
  const forms = [...new Set([key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)])].filter(
    (form) => form.length >= shortestKey
  )
  const text = (given: string): string => forms.reduce((shown, form) => shown.replaceAll(form, "[key]"), given)
  return {
    text,
    event: (event: VendorEvent): VendorEvent => {
      switch (event._tag) {
        case "Native":
          return forms.some((form) => event.json.includes(form)) ? { _tag: "Native", json: text(event.json) } : event
        case "Failed":
        case "Closed":
          return { _tag: event._tag, reason: text(event.reason) }
        default:
          return event
      }
    }
  }
}

/** A shorter text is not a vendor's key, and may be part of an ordinary word. */
const shortestKey = 4

const sendTo = (socket: WebSocket, message: string): void => {
  if (socket.readyState === WebSocket.OPEN) socket.send(wellFormedJson(message))
}

/** Larger than the head of any frame. */
const headBytes = 14

/**
 * Frees the memory of a message immediately instead of at the next garbage collection. V8 counts such memory outside of its heap, and marks the
 * whole heap each time when some megabytes of it have accumulated. Memory that contains more than this frame is not freed.
 */
const release = ({ buffer, byteLength, byteOffset }: Buffer): void => {
  const isAlone = byteOffset <= headBytes && byteOffset + byteLength === buffer.byteLength
  if (isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** A close frame can hold a reason of 123 bytes, so a longer reason was cut off by the vendor. */
const closeReason = (code: number, reason: string): string => {
  const cut = Buffer.byteLength(reason) >= 120 ? "…" : ""
  return reason === "" ? `The provider closed the connection (${code}).` : `${reason}${cut} (${code})`
}

const unreachable = new VendorUnavailable({
  code: "provider_unavailable",
  reason: "The provider could not be reached."
})

/** Passes on the vendor's message, which explains what is wrong with the key, the limit or the model. */
const unavailable = ({ body, status }: DialFailure): VendorUnavailable => {
  if (status === null) return unreachable
  const reason = sentenceIn(parseJson(body)) || "The provider refused the connection."
  return new VendorUnavailable({
    code: status === 429 || status >= 500 ? "provider_unavailable" : "provider_error",
    reason: `${reason} (HTTP ${status})`
  })
}
