/**
 * What is on its way to a client. Only a little is handed to the socket at a time; the rest waits here, where an interruption can still
 * remove audio, so that `interrupted` arrives before it. When a client falls behind, the session is told, and stops reading the vendor.
 */
import { WebSocket } from "ws"

/** What the outbox needs of a socket of `ws`. */
export interface OutboxSocket {
  readonly readyState: number
  readonly bufferedAmount: number
  readonly send: (data: string | Buffer, options: { readonly binary: false }, sent?: () => void) => void
}

const asText = { binary: false } as const

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
}

const defaultOutboxLimits: OutboxLimits = { inSocket: 64 * 1024, behind: 4 * 1024 * 1024 }

interface Waiting {
  readonly data: string | Buffer
  readonly isAudio: boolean
}

export const makeOutbox = (
  socket: OutboxSocket,
  onBehind: (isBehind: boolean) => void,
  limits: OutboxLimits = defaultOutboxLimits
): Outbox => {
  let queue: Array<Waiting> = []
  let bytes = 0
  let isWaiting = false
  let isBehind = false

  const reportCaughtUp = (): void => {
    if (!isBehind || bytes > limits.behind / 2) return
    isBehind = false
    onBehind(false)
  }

  const write = (data: string | Buffer): void => {
    isWaiting = socket.bufferedAmount + data.length > limits.inSocket
    socket.send(data, asText, isWaiting ? writeWaiting : undefined)
  }

  const writeWaiting = (): void => {
    isWaiting = false
    while (socket.readyState === WebSocket.OPEN) {
      const each = queue.shift()
      if (each === undefined) break
      bytes -= each.data.length
      write(each.data)
      if (isWaiting) break
    }
    reportCaughtUp()
  }

  return {
    send: (data, isAudio) => {
      if (socket.readyState !== WebSocket.OPEN) return
      if (!isWaiting) return write(data)
      queue.push({ data, isAudio })
      bytes += data.length
      if (bytes <= limits.behind || isBehind) return
      isBehind = true
      onBehind(true)
    },
    dropAudio: () => {
      queue = queue.filter(({ isAudio }) => !isAudio)
      bytes = queue.reduce((sum, { data }) => sum + data.length, 0)
      reportCaughtUp()
    },
    flush: () => {
      for (const { data } of queue) {
        if (socket.readyState === WebSocket.OPEN) socket.send(data, asText)
      }
      queue = []
      bytes = 0
    }
  }
}
