/**
 * The queue of frames to a client. Only a few bytes at a time are given to the socket; the rest waits here. An interruption can then still remove
 * audio, so that `interrupted` reaches the client before that audio would. If a client reads too slowly, the session is told and stops reading
 * from the vendor. If a client does not read the answers to its own frames, its frames are no longer read either: each may cause an answer
 * many times its size.
 */
import { WebSocket } from "ws"

/** The members of a connection that the outbox uses. `sent` is called when exactly this piece has left the process. */
export interface OutboxSocket {
  readonly readyState: number
  readonly bufferedAmount: number
  readonly send: (data: string | Buffer, isAudio: boolean, sent?: () => void) => void
}

export interface Outbox {
  readonly send: (data: string | Buffer, isAudio: boolean) => void
  readonly dropAudio: () => void
  /** Gives all waiting frames to the socket, before the socket is closed. */
  readonly flush: () => void
}

export interface OutboxLimits {
  /** The number of bytes in the socket's buffer from which on further frames wait. */
  readonly inSocket: number
  /** The number of waiting bytes from which on the client is too slow. */
  readonly behind: number
  /** The number of waiting frames without audio from which on the client's frames are not read. */
  readonly events: number
}

const defaultOutboxLimits: OutboxLimits = { inSocket: 64 * 1024, behind: 4 * 1024 * 1024, events: 10_000 }

/** Called when a limit is exceeded, and again when half of it is reached. */
export interface OutboxListener {
  readonly onBehind: (isBehind: boolean) => void
  readonly onFull: (isFull: boolean) => void
}

interface Waiting {
  readonly data: string | Buffer
  readonly isAudio: boolean
}

export const makeOutbox = (
  socket: OutboxSocket,
  { onBehind, onFull }: OutboxListener,
  limits: OutboxLimits = defaultOutboxLimits
): Outbox => {
  let queue: Array<Waiting> = []
  let bytes = 0
  /** The number of waiting frames that are not audio. */
  let events = 0
  let isWaiting = false
  let isBehind = false
  let isFull = false

  const reportCaughtUp = (): void => {
    if (isBehind && bytes <= limits.behind / 2) {
      isBehind = false
      onBehind(false)
    }
    if (isFull && events <= limits.events / 2) {
      isFull = false
      onFull(false)
    }
  }

  const write = (data: string | Buffer, isAudio: boolean): void => {
    isWaiting = socket.bufferedAmount + data.length > limits.inSocket
    socket.send(data, isAudio, isWaiting ? writeWaiting : undefined)
  }

  const writeWaiting = (): void => {
    isWaiting = false
    while (socket.readyState === WebSocket.OPEN) {
      const each = queue.shift()
      if (each === undefined) break
      bytes -= each.data.length
      if (!each.isAudio) events--
      write(each.data, each.isAudio)
      if (isWaiting) break
    }
    reportCaughtUp()
  }

  return {
    send: (data, isAudio) => {
      if (socket.readyState !== WebSocket.OPEN) return
      if (!isWaiting) return write(data, isAudio)
      queue.push({ data, isAudio })
      bytes += data.length
      if (!isAudio) events++
      if (bytes > limits.behind && !isBehind) {
        isBehind = true
        onBehind(true)
      }
      if (events > limits.events && !isFull) {
        isFull = true
        onFull(true)
      }
    },
    dropAudio: () => {
      queue = queue.filter(({ isAudio }) => !isAudio)
      bytes = queue.reduce((sum, { data }) => sum + data.length, 0)
      reportCaughtUp()
    },
    flush: () => {
      for (const { data, isAudio } of queue) {
        if (socket.readyState === WebSocket.OPEN) socket.send(data, isAudio)
      }
      queue = []
      bytes = 0
      events = 0
    }
  }
}
