/**
 * A proxy between a kernel and PostgreSQL that loses one answer: it lets a chosen statement through, waits until the server has done it,
 * drops what the server answered, and breaks the connection. The kernel cannot know whether the statement took effect.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createServer, connect, type Socket } from "node:net"
import { FrameReader } from "../../src/pglite/FrameReader.ts"

export interface LosingProxy {
  /** Like the one that was given, but through the proxy. */
  readonly url: string
  /** Loses the answer of the nth statement from now on, counted from one over all connections; zero: of none. */
  readonly lose: (nth: number) => void
  /** How many statements were answered, or would have been, since `lose` was called last. */
  readonly answered: () => number
}

/** The server says "ready for the next statement" with this message, when everything of the one before is committed. */
const readyForQuery = 0x5a

export const losingProxy = (url: string): Effect.Effect<LosingProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const target = new URL(url)
    const sockets = new Set<Socket>()
    let answered = 0
    let lost = 0

    const server = createServer((client) => {
      const upstream = connect(Number(target.port || 5432), target.hostname)
      let ready = 0
      const frames = new FrameReader((type) => {
        if (type !== readyForQuery) return
        ready++
        // The first one ends the handshake.
        if (ready === 1) return
        answered++
        if (answered !== lost) return
        lost = 0
        client.destroy()
        upstream.destroy()
      })
      for (const [from, to] of [
        [client, upstream],
        [upstream, client]
      ] as const) {
        sockets.add(from)
        from.on("error", () => to.destroy())
        from.on("close", () => {
          sockets.delete(from)
          to.destroy()
        })
      }
      client.on("data", (bytes) => upstream.write(bytes))
      let held: Array<Buffer> = []
      upstream.on("data", (bytes: Buffer) => {
        held.push(bytes)
        const before = ready
        frames.read(bytes)
        // An answer goes on when it is whole, so that nothing of a lost one is seen.
        if (ready === before && ready > 0) return
        for (const each of held) if (!client.destroyed) client.write(each)
        held = []
      })
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))),
      () =>
        Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              server.close(() => resolve())
              for (const socket of sockets) socket.destroy()
            })
        )
    )
    const address = server.address()
    if (address === null || typeof address === "string") return yield* Effect.die("The proxy has no port.")
    const through = new URL(url)
    through.hostname = "127.0.0.1"
    through.port = String(address.port)
    return {
      url: through.href,
      lose: (nth) => {
        answered = 0
        lost = nth
      },
      answered: () => answered
    }
  })
