/** A real server with the realtime socket, over a kernel in memory and a scripted voice model; and clients that write down what they hear. */
import { type ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import { Keys, Principal, ThreadId, Threads } from "@colloquy/core"
import { Tickets } from "@colloquy/core/realtime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { createServer, type Server } from "node:http"
import { WebSocket } from "ws"
import { attachUpgrade, makeUpgradeHandler, type UpgradeOptions } from "../src/index.ts"

export interface RunningService {
  readonly server: Server
  readonly url: string
  readonly key: string
  readonly keyFor: (owner: string) => Promise<string>
  /** Roles and texts of a thread of the owner. */
  readonly said: (threadId: string) => Promise<ReadonlyArray<ReadonlyArray<string | null>>>
  readonly ticket: (origin?: string) => Promise<string>
  readonly voice: typeof TestRealtime.ScriptedVoice.Service
  /** Ends the sessions, as a shutdown does. */
  readonly drain: () => Promise<void>
  readonly close: () => Promise<void>
}

export const startService = async (
  script: ReadonlyArray<ReadonlyArray<ScriptedRealtime.VoiceBeat>>,
  options: UpgradeOptions = {},
  others: (server: Server) => void = () => {},
  kernel: TestRealtime.TestRealtimeOptions = {}
): Promise<RunningService> => {
  const runtime = ManagedRuntime.make(TestRealtime.layer(script, kernel))
  const scope = Scope.makeUnsafe()
  const handler = await runtime.runPromise(Scope.provide(makeUpgradeHandler(options), scope))
  const server = createServer((_, response) => response.end("plain"))
  others(server)
  attachUpgrade(server, handler)
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })
  const asOwner = Principal.provide("owner")
  const keyFor = async (owner: string) => {
    const made = await runtime.runPromise(Principal.provide(owner)(Effect.flatMap(Keys, (keys) => keys.make("test"))))
    return Redacted.value(made.key)
  }
  const drain = () => runtime.runPromise(Scope.close(scope, Exit.void))
  return {
    server,
    url: `ws://127.0.0.1:${port}${(options.basePath ?? "").replace(/\/$/u, "")}/threads/realtime`,
    key: await keyFor("owner"),
    keyFor,
    said: (threadId) =>
      runtime.runPromise(
        Threads.use((threads) => threads.get(ThreadId.make(threadId))).pipe(
          Effect.map(({ messages }) => messages.map(({ content, role }) => [role, content])),
          asOwner
        )
      ),
    ticket: async (origin) => {
      const issued = await runtime.runPromise(
        asOwner(Tickets.use((tickets) => tickets.issue({ threadId: null, assistantId: null, origin: origin ?? null })))
      )
      return Redacted.value(issued.ticket)
    },
    voice: await runtime.runPromise(TestRealtime.ScriptedVoice),
    drain,
    close: async () => {
      await drain()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await runtime.dispose().catch(() => {})
    }
  }
}

export interface RawClient {
  readonly socket: WebSocket
  readonly events: ReadonlyArray<{ readonly [field: string]: unknown }>
  /** The first event of this type; waits for it. */
  readonly heard: (type: string) => Promise<{ readonly [field: string]: unknown }>
  readonly closed: Promise<number>
  readonly send: (frame: object) => void
}

/** A client of its own hand, for what a well-behaved one would not do. */
export const rawClient = (
  url: string,
  options: {
    readonly key?: string
    readonly first?: object | null
    readonly headers?: { readonly [name: string]: string }
  } = {}
): RawClient => {
  const { first = firstFrame, headers = {}, key } = options
  const socket = new WebSocket(url, { headers: { ...headers, ...(key === undefined ? {} : { "x-api-key": key }) } })
  const events: Array<{ readonly [field: string]: unknown }> = []
  const waiting = new Set<() => void>()
  socket.on("error", () => {})
  if (first !== null) socket.on("open", () => socket.send(JSON.stringify(first)))
  socket.on("message", (data) => {
    events.push(JSON.parse(Buffer.isBuffer(data) ? data.toString() : "null"))
    for (const look of waiting) look()
  })
  return {
    socket,
    events,
    send: (frame) => socket.send(JSON.stringify(frame)),
    closed: new Promise((resolve) => socket.on("close", (code) => resolve(code))),
    heard: (type) =>
      new Promise((resolve) => {
        const look = () => {
          const found = events.find((event) => event["type"] === type)
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      })
  }
}

export const firstFrame = { provider: "scripted", model: "scripted-voice" }
