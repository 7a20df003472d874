/**
 * A provider for tests: a real HTTP server on this machine that answers from a script, one queue of replies for each path. It can cut a
 * body anywhere, close the connection in the middle, keep a reply back until the test lets it go, and write for as long as somebody
 * reads. It records every request and whether its client went away. It never sleeps: tests wait for what happens.
 *
 * The files in `vendors/` say what each vendor writes on its wire; this file knows HTTP only.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import { setImmediate as nextTurn } from "node:timers/promises"

/** A piece of a reply's body. A `Gate` holds the reply until the test opens it; `closed` closes the connection. */
export type Piece = string | Uint8Array | Gate | { readonly forever: string } | typeof closed

export const closed = Symbol("closed")

export interface Reply {
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  readonly body: ReadonlyArray<Piece>
  /** Not even the status is sent before the test opens this. */
  readonly headHeldBy?: Gate
}

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  /** The parsed JSON body; null when there was none, or one of another kind. */
  readonly body: unknown
  /** The body as it came. */
  readonly bytes: Uint8Array
  /** Number of the connection that it came on, from 0. */
  readonly connection: number
  /** Resolves when the reply is over: true when all of it was sent, false when the client closed the connection before. */
  readonly complete: Promise<boolean>
  /** Never resolves for a reply that was sent to its end. */
  readonly aborted: Promise<void>
  /** Bytes of the reply's body that were handed to the network so far. */
  bytesWritten: number
}

export interface FakeVendor {
  readonly baseUrl: string
  /** Adds replies to the queue of a path. A request that finds no reply gets status 599, which no test expects. */
  readonly script: (path: string, ...replies: ReadonlyArray<Reply>) => void
  readonly requests: ReadonlyArray<Seen>
  /** Waits for the request with this number, from 0. */
  readonly request: (number: number) => Effect.Effect<Seen>
  /** Replies that nobody fetched. */
  readonly unused: () => number
}

export class Gate {
  open: () => void = () => {}
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve
  })
}

export const sse = (frames: ReadonlyArray<Piece>, headers: Reply["headers"] = {}): Reply => ({
  headers: { "content-type": "text/event-stream", ...headers },
  body: frames
})

export const json = (body: unknown, status = 200, headers: Reply["headers"] = {}): Reply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: [typeof body === "string" ? body : JSON.stringify(body)]
})

/** When the first request has come, and when its client has gone. */
export const firstRequest = ({ request }: FakeVendor) => ({
  asked: Effect.asVoid(request(0)),
  left: Effect.flatMap(request(0), ({ aborted }) => Effect.promise(() => aborted))
})

export const make: Effect.Effect<FakeVendor, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.callback<Running>((resume) => start((running) => resume(Effect.succeed(running)))),
    close
  ),
  (running) => running.vendor
)

interface Running {
  readonly server: Http.Server
  readonly vendor: FakeVendor
}

function close(running: Running): Effect.Effect<void> {
  return Effect.callback((resume) => {
    running.server.close(() => resume(Effect.void))
    running.server.closeAllConnections()
  })
}

const start = (ready: (running: Running) => void): void => {
  const queues = new Map<string, Array<Reply>>()
  const requests: Array<Seen> = []
  const waiting: Array<() => void> = []
  const connections: Array<unknown> = []
  const server = Http.createServer((request, response) => {
    void record(request, response, connections).then((seen) => {
      requests.push(seen)
      for (const wake of waiting.splice(0)) wake()
      return write(response, seen, queues.get(seen.path)?.shift() ?? { status: 599, body: [] })
    })
  })
  server.on("connection", (socket) => connections.push(socket))
  const request = (number: number): Effect.Effect<Seen> =>
    Effect.callback((resume) => {
      const look = (): void => {
        const seen = requests[number]
        if (seen === undefined) waiting.push(look)
        else resume(Effect.succeed(seen))
      }
      look()
    })
  server.listen(0, "127.0.0.1", () => {
    const vendor: FakeVendor = {
      baseUrl: `http://127.0.0.1:${serverPort(server)}`,
      script: (path, ...replies) => void queues.set(path, [...(queues.get(path) ?? []), ...replies]),
      requests,
      request,
      unused: () => [...queues.values()].reduce((sum, queue) => sum + queue.length, 0)
    }
    ready({ server, vendor })
  })
}

/** The error of a call of a vendor's own client. */
export const failureFrom = (call: () => PromiseLike<unknown>): Effect.Effect<unknown> =>
  Effect.promise(async () => {
    try {
      await call()
    } catch (error) {
      return error
    }
    throw new Error("The call did not fail")
  })

export const serverPort = (server: Http.Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

const record = async (
  request: Http.IncomingMessage,
  response: Http.ServerResponse,
  connections: ReadonlyArray<unknown>
): Promise<Seen> => {
  const complete = new Promise<boolean>((resolve) => {
    response.once("close", () => resolve(response.writableFinished))
  })
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    body: parsed(bytes),
    bytes,
    connection: connections.indexOf(request.socket),
    complete,
    aborted: new Promise((resolve) => void complete.then((whole) => (whole ? undefined : resolve()))),
    bytesWritten: 0
  }
}

const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString("utf8"))
  } catch {
    return null
  }
}

const write = async (response: Http.ServerResponse, seen: Seen, reply: Reply): Promise<void> => {
  const gone = new Promise<void>((resolve) => response.once("close", resolve))
  if (reply.headHeldBy !== undefined) await Promise.race([reply.headHeldBy.opened, gone])
  response.writeHead(reply.status ?? 200, reply.headers)
  response.flushHeaders()
  for (const piece of reply.body) {
    if (piece === closed) return void response.socket?.destroy()
    if (piece instanceof Gate) await Promise.race([piece.opened, gone])
    else if (typeof piece === "object" && "forever" in piece) await sendForever(response, seen, piece.forever, gone)
    else await send(response, seen, piece, gone)
  }
  response.end()
}

/** Lets the client in the same process have its turn after each write. */
const sendForever = async (
  response: Http.ServerResponse,
  seen: Seen,
  bytes: string,
  gone: Promise<void>
): Promise<void> => {
  while (!response.destroyed) {
    await send(response, seen, bytes, gone)
    await nextTurn()
  }
}

/** Resolves when the network took the bytes, so that one piece does not ride in the packet of another, or when the client is gone. */
const send = (
  response: Http.ServerResponse,
  seen: Seen,
  bytes: string | Uint8Array,
  gone: Promise<void>
): Promise<void> =>
  Promise.race([
    gone,
    new Promise<void>((resolve) => {
      seen.bytesWritten += Buffer.byteLength(bytes)
      response.write(bytes, () => resolve())
    })
  ])
