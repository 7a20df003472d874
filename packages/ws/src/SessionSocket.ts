/**
 * Connects a voice session to its client over a WebSocket of `ws`: decodes text frames, joins tiny binary frames, sends events and audio through
 * the outbox, and disconnects a client that does not answer pings.
 */
import type { ClientInput, ClientSocket, CloseReason } from "@colloquy/core/realtime"
import type { Duplex } from "node:stream"
import { WebSocket, type RawData } from "ws"
import { makeOutbox, type OutboxSocket } from "./Outbox.ts"
import { takesFrames } from "./TextFrames.ts"
import { makeAudioWriter, readText, type UrlOf, writeEvent } from "./Wire.ts"

/** The largest frame of a client, in bytes. */
export const maxFrame = 256 * 1024

const pingEvery = 20_000

/**
 * A smaller piece of audio, in bytes, waits for others of the same tick of the event loop. Pieces from a microphone are larger and are passed on at
 * once: a microtask for each of them would cost CPU time and join nothing.
 */
const tinyPiece = 128

const closeCodes: { readonly [Reason in CloseReason]: number } = {
  ended: 1000,
  shutdown: 1001,
  refused: 1008,
  too_large: 1009,
  fault: 1011
}

/** `ws` closes the connection with the code 1009 before it calls any listener, so this class sends the client the reason. */
export class FrameLimitSocket extends WebSocket {
  override close(code?: number, data?: string | Buffer): void {
    if (code === 1009 && this.readyState === WebSocket.OPEN) {
      const message = `A frame must not exceed ${maxFrame} bytes. Send smaller frames.`
      this.send(writeEvent({ _tag: "Error", code: "frame_too_large", message }))
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

/**
 * The socket must be paused when this is called; `connection` is its TCP or TLS connection. `onBegin` is called when the session has begun, and
 * when the socket is closed.
 */
export const sessionSocket = (
  socket: WebSocket,
  connection: Duplex,
  onBegin: () => void,
  urlOf?: UrlOf
): ClientSocket => {
  let receive: (input: ClientInput) => void = () => {}
  let isFirst = true
  let isClosing = false
  let pieces: Array<Buffer> = []
  let writeAudio: ReturnType<typeof makeAudioWriter> | null = null
  let isHeld = false
  let isFull = false

  const readOrNot = (): void => {
    if (isHeld || isFull) socket.pause()
    else if (socket.readyState === WebSocket.OPEN) socket.resume()
  }

  const outbox = makeOutbox(outboxSocket(socket, connection), {
    onBehind: (isBehind) => receive({ _tag: "Behind", isBehind }),
    onFull: (isFullNow) => {
      isFull = isFullNow
      if (!isClosing) readOrNot()
    }
  })

  /** Passes on tiny pieces of audio as one: a client may send hundreds of them in one tick. */
  const passAudio = (): void => {
    if (pieces.length === 0) return
    const [only] = pieces
    const audio = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
    pieces = []
    receive({ _tag: "Audio", audio })
  }

  const onMessage = (data: RawData, isBinary: boolean): void => {
    const bytes = frameBytes(data)
    if (!isBinary) {
      passAudio()
      const input = readText(bytes.toString("utf8"), isFirst)
      isFirst = false
      return receive(input)
    }
    if (isFirst) {
      isFirst = false
      return receive({
        _tag: "Malformed",
        code: "invalid_first_frame",
        message: "The first frame is JSON text.",
        bytes: bytes.byteLength
      })
    }
    if (pieces.length === 0 && bytes.byteLength >= tinyPiece) return receive({ _tag: "Audio", audio: bytes })
    if (pieces.length === 0) queueMicrotask(passAudio)
    pieces.push(bytes)
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
      outbox.send(writeEvent(event, urlOf), false)
    },
    sendAudio: (itemId, base64, format) => {
      if (isClosing) return
      writeAudio ??= makeAudioWriter(format, takesFrames(socket))
      outbox.send(writeAudio(itemId, base64), true)
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
      if (socket.readyState === WebSocket.OPEN) socket.resume()
      else listener({ _tag: "Gone" })
    }
  }
}

const frameBytes = (data: RawData): Buffer =>
  Buffer.isBuffer(data) ? data : data instanceof ArrayBuffer ? Buffer.from(data) : Buffer.concat(data)
