/** A vendor's realtime server on a free port, of which a test plays every part by hand. */
import type { IncomingMessage } from "node:http"
import { createServer } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { type WebSocket, WebSocketServer } from "ws"

export interface VendorSocket {
  readonly request: IncomingMessage
  readonly socket: WebSocket
  /** Parsed messages of the client. */
  readonly received: ReadonlyArray<{ readonly [field: string]: unknown }>
  /** The first message that fits; waits for it. */
  readonly message: (
    fits: (message: { readonly [field: string]: unknown }) => boolean
  ) => Promise<{ readonly [field: string]: unknown }>
  readonly closed: Promise<number>
  readonly say: (message: object, options?: { readonly binary?: boolean }) => void
}

export interface FakeVendor {
  readonly url: string
  /** The next connection. */
  readonly connection: () => Promise<VendorSocket>
  /** The next handshakes are answered so: all, or `times` of them. */
  readonly refuse: (status: number, body: string, times?: number) => void
  readonly close: () => Promise<void>
}

/** With a certificate it speaks TLS, under the name `localhost`. */
export const startVendor = async (certificate?: {
  readonly key: string
  readonly cert: string
}): Promise<FakeVendor> => {
  const http = certificate === undefined ? createServer() : createSecureServer(certificate)
  const server = new WebSocketServer({ noServer: true })
  const arrived: Array<VendorSocket> = []
  const waiting: Array<(connection: VendorSocket) => void> = []
  let refusal = { status: 0, body: "", times: 0 }

  http.on("upgrade", (request, socket, head) => {
    if (refusal.times > 0) {
      const { body, status } = refusal
      refusal.times--
      socket.end(
        `HTTP/1.1 ${status} No\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
      )
      return
    }
    server.handleUpgrade(request, socket, head, (client) => {
      const connection = vendorSocket(request, client)
      const next = waiting.shift()
      if (next === undefined) arrived.push(connection)
      else next(connection)
    })
  })
  const port = await new Promise<number>((resolve) => {
    http.listen(0, "127.0.0.1", () => {
      const address = http.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })
  return {
    url: certificate === undefined ? `ws://127.0.0.1:${port}/realtime` : `wss://localhost:${port}/realtime`,
    connection: () => {
      const there = arrived.shift()
      return there === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(there)
    },
    refuse: (status, body, times = Number.POSITIVE_INFINITY) => {
      refusal = { status, body, times }
    },
    close: async () => {
      for (const client of server.clients) client.terminate()
      await new Promise((resolve) => http.close(resolve))
    }
  }
}

const vendorSocket = (request: IncomingMessage, socket: WebSocket): VendorSocket => {
  const received: Array<{ readonly [field: string]: unknown }> = []
  const looks = new Set<() => void>()
  socket.on("error", () => {})
  socket.on("message", (data) => {
    received.push(JSON.parse(Buffer.isBuffer(data) ? data.toString() : "null"))
    for (const look of looks) look()
  })
  return {
    request,
    socket,
    received,
    closed: new Promise((resolve) => socket.on("close", resolve)),
    say: (message, { binary = false } = {}) => socket.send(Buffer.from(JSON.stringify(message)), { binary }),
    message: (fits) =>
      new Promise((resolve) => {
        const look = () => {
          const found = received.find(fits)
          if (found === undefined) return
          looks.delete(look)
          resolve(found)
        }
        looks.add(look)
        look()
      })
  }
}
