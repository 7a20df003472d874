/**
 * Connects a voice session to its client over a WebSocket of `ws`: passes frames to the wire of its front door, sends the frames of the
 * wire through the outbox, and disconnects a client that does not answer pings.
 */
import type { ModelInfo } from "@colloquy/core"
import type { ClientInput, ClientSocket, CloseReason } from "@colloquy/core/realtime"
import type { Duplex } from "node:stream"
import { WebSocket, type RawData } from "ws"
import type { FrontDoor, SessionWire } from "./FrontDoor.ts"
import { makeOutbox, type OutboxSocket } from "./Outbox.ts"
import { takesFrames } from "./TextFrames.ts"
import type { UrlOf } from "./Wire.ts"

/** The largest frame of a client, in bytes. */
export const maxFrame = 256 * 1024

const pingEvery = 20_000

const closeCodes: { readonly [Reason in CloseReason]: number } = {
  ended: 1000,
  shutdown: 1001,
  refused: 1008,
  too_large: 1009,
  fault: 1011
}

/** `ws` closes the connection with the code 1009 before it calls any listener, so this class sends the client the reason. */
export class FrameLimitSocket extends WebSocket {
  tooLarge: SessionWire["tooLarge"] | null = null

  override close(code?: number, data?: string | Buffer): void {
    if (code === 1009 && this.tooLarge !== null && this.readyState === WebSocket.OPEN) {
      this.send(this.tooLarge(`A frame must not exceed ${maxFrame} bytes. Send smaller frames.`))
    }
    super.close(code, data)
  }
}

const asText = { binary: false } as const

/** A piece of audio that is a string is a complete frame (`textFrame`), so it is written to the connection directly and not by `ws`. */
const outboxSocket = (socket: WebSocket, connection: Duplex): OutboxSocket => ({
  get readyState() {
    return socket.readyState
  },
  get bufferedAmount() {
    return socket.bufferedAmount
  },
  send: (data, isAudio, sent) => {
    if (isAudio && typeof data === "string") connection.write(data, "latin1", sent)
    else socket.send(data, asText, sent)
  }
})

/** What a connection needs beside its socket. */
export interface Surroundings {
  readonly door: FrontDoor
  readonly query: URLSearchParams
  readonly models: ReadonlyArray<ModelInfo>
  readonly documentUrl: UrlOf | undefined
  /** Called when the session has begun, and when the socket is closed. */
  readonly onBegin: () => void
}

/** The socket must be paused when this is called; `connection` is its TCP or TLS connection. */
export const sessionSocket = (
  socket: WebSocket,
  connection: Duplex,
  { door, models, onBegin, query, documentUrl }: Surroundings
): ClientSocket => {
  let receive: (input: ClientInput) => void = () => {}
  let isClosing = false
  let isHeld = false
  let isHeldByWire = false
  let isFull = false

  const readOrNot = (): void => {
    if (isHeld || isHeldByWire || isFull) socket.pause()
    else if (socket.readyState === WebSocket.OPEN) socket.resume()
  }

  const outbox = makeOutbox(outboxSocket(socket, connection), {
    onBehind: (isBehind) => receive({ _tag: "Behind", isBehind }),
    onFull: (isFullNow) => {
      isFull = isFullNow
      if (!isClosing) readOrNot()
    }
  })

  const wire = door.wire({
    query,
    models,
    documentUrl,
    takesFrames: () => takesFrames(socket),
    send: outbox.send,
    receive: (input) => receive(input),
    hold: (isHeldNow) => {
      isHeldByWire = isHeldNow
      if (!isClosing) readOrNot()
    }
  })
  if (socket instanceof FrameLimitSocket) socket.tooLarge = wire.tooLarge

  const onMessage = (data: RawData, isBinary: boolean): void => {
    const bytes = frameBytes(data)
    if (isBinary) wire.onBinary(bytes)
    else wire.onText(bytes.toString("utf8"), bytes.byteLength)
  }

  let missedPongs = 0
  const pings = setInterval(() => {
    missedPongs++
    if (missedPongs > 2) socket.terminate()
    else if (socket.readyState === WebSocket.OPEN) socket.ping()
  }, pingEvery)
  pings.unref()
  socket.on("pong", () => {
    missedPongs = 0
  })
  socket.on("close", () => {
    clearInterval(pings)
    onBegin()
    receive({ _tag: "Gone" })
  })

  return {
    send: (event) => {
      if (isClosing) return
      if (event._tag === "SessionBegin") onBegin()
      wire.event(event)
    },
    sendAudio: (itemId, base64, format) => {
      if (!isClosing) wire.audio(itemId, base64, format)
    },
    dropAudio: outbox.dropAudio,
    pause: () => {
      isHeld = true
      readOrNot()
    },
    resume: () => {
      isHeld = false
      readOrNot()
    },
    close: (reason) => {
      isClosing = true
      outbox.flush()
      socket.close(closeCodes[reason])
      // The socket must be read, so that the client's answer to the close frame arrives.
      socket.resume()
    },
    listen: (listener) => {
      receive = listener
      socket.on("message", onMessage)
      wire.open?.()
      if (socket.readyState === WebSocket.OPEN) socket.resume()
      else listener({ _tag: "Gone" })
    }
  }
}

const frameBytes = (data: RawData): Buffer =>
  Buffer.isBuffer(data) ? data : data instanceof ArrayBuffer ? Buffer.from(data) : Buffer.concat(data)
