/**
 * What is on its way to a client. Only a little is handed to the socket at a time; the rest waits here, where an interruption can still
 * remove audio, so that `interrupted` arrives before it. When a client falls behind, the session is told, and stops reading the vendor.
 * A client that does not read the answers to what it sends is not read either: each of its frames may cost an answer many times its size.
 */
import { WebSocket } from "ws"

/** What the outbox needs of a connection. `sent` is called when this very piece has left the process. */
export interface OutboxSocket {
  readonly readyState: number
  readonly bufferedAmount: number
  readonly send: (data: string | Buffer, isAudio: boolean, sent?: () => void) => void
}

export interface Outbox {
  readonly send: (data: string | Buffer, isAudio: boolean) => void
  readonly dropAudio: () => void
  /** Hands everything over to the socket at once: before closing it. */
  readonly flush: () => void
}

export interface OutboxLimits {
  /** Bytes in the socket beyond which the rest waits. */
  readonly inSocket: number
  /** Bytes waiting beyond which the client is behind. */
  readonly behind: number
  /** Events waiting, without audio, beyond which the client is not read. */
  readonly events: number
}

const defaultOutboxLimits: OutboxLimits = { inSocket: 64 * 1024, behind: 4 * 1024 * 1024, events: 10_000 }

/** Told when a limit is passed, and when half of it is reached again. */
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
  /** Of those that wait, the ones that are no audio. */
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
