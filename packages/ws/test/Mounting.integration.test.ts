/**
 * The socket inside servers that hosts have already, under a base path, beside routes of theirs and beside another user of upgrades on the
 * same server. What stands in each mount is all that a host writes.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedRealtime } from "@colloquy/testing"
import { Kernel, Keys, Principal, Providers } from "@colloquy/core"
import { Realtime, RealtimeModels } from "@colloquy/core/realtime"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { createAdaptorServer } from "@hono/node-server"
import express from "express"
import Fastify from "fastify"
import { Hono } from "hono"
import { once } from "node:events"
import { createServer, request, Server } from "node:http"
import { WebSocket, WebSocketServer } from "ws"
import { attachUpgrade, type RealtimeSocket, realtimeSocket, type UpgradeHandler } from "../src/index.ts"
import { firstFrame, rawClient } from "./Service.ts"

const { hang } = ScriptedRealtime

interface Mounted {
  readonly server: Server
  /** As the host ends: the sessions first, because a server waits for their sockets. */
  readonly close: () => Promise<unknown>
}

type Mount = (voice: RealtimeSocket) => Promise<Mounted>

const closing = (voice: RealtimeSocket, server: Server) => async () => {
  await voice.drain()
  server.close()
  server.closeAllConnections()
}

const mounts: Readonly<Record<string, Mount>> = {
  "node:http": async (voice) => {
    const server = createServer((_, response) => response.end("host"))
    voice.attach(server)
    await once(server.listen(0, "127.0.0.1"), "listening")
    return { server, close: closing(voice, server) }
  },

  Express: async (voice) => {
    const app = express()
    app.use((_request, response) => void response.send("host"))
    const server = app.listen(0, "127.0.0.1")
    voice.attach(server)
    await once(server, "listening")
    return { server, close: closing(voice, server) }
  },

  Fastify: async (voice) => {
    const app = Fastify()
    app.get("/*", async () => "host")
    voice.attach(app.server)
    app.addHook("preClose", voice.drain)
    await app.listen({ host: "127.0.0.1", port: 0 })
    return { server: app.server, close: () => app.close() }
  },

  Hono: async (voice) => {
    const app = new Hono()
    app.all("/*", (context) => context.text("host"))
    const server = createAdaptorServer({ fetch: app.fetch, createServer })
    if (!isNodeServer(server)) throw new Error("This is no server of node:http.")
    voice.attach(server)
    await once(server.listen(0, "127.0.0.1"), "listening")
    return { server, close: closing(voice, server) }
  },

  "a server that gives out upgrades itself": async (voice) => {
    const server = createServer((_, response) => response.end("host"))
    server.on("upgrade", (asked, socket, head) => {
      if (!voice.handle(asked, socket, head) && asked.url !== "/chat") socket.destroy()
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    return { server, close: closing(voice, server) }
  }
}

/** Hono may also make servers of HTTP/2. */
const isNodeServer = (server: object): server is Server => server instanceof Server

const open = async (mount: Mount) => {
  const voice = realtimeSocket({ basePath: "/ai" })
  const models = Layer.unwrap(Effect.map(ScriptedRealtime.make([[hang]]), ({ model }) => RealtimeModels.layer([model])))
  const runtime = ManagedRuntime.make(
    voice.layer.pipe(
      Layer.provideMerge(Realtime.layer()),
      Layer.provideMerge(Kernel.layer),
      Layer.provide([
        models,
        Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } }),
        InMemory.layer
      ])
    )
  )
  const { close, server } = await mount(voice)
  const address = server.address()
  const host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  return { runtime, server, close, host }
}

describe("the socket on a server of", () => {
  it.each(Object.entries(mounts))("%s", async (_, mount) => {
    const { close, host, runtime, server } = await open(mount)
    const url = `ws://${host}/ai/threads/realtime`
    const early = new WebSocket(url)
    const [, response] = await once(early, "unexpected-response")
    assert.strictEqual(response.statusCode, 503)
    early.on("error", () => {}).terminate()

    const key = await runtime.runPromise(Keys.use((keys) => keys.make("test")).pipe(Principal.provide("ada")))
    // Another user of upgrades, with a listener of its own on the same server.
    const chat = new WebSocketServer({ noServer: true })
    server.on("upgrade", (asked, socket, head) => {
      if (asked.url === "/chat") chat.handleUpgrade(asked, socket, head, (client) => client.send("chat"))
    })
    const ours = rawClient(url, { key: Redacted.value(key.key), first: firstFrame })
    await ours.heard("session.begin")
    const theirs = new WebSocket(`ws://${host}/chat`)
    assert.strictEqual(String((await once(theirs, "message"))[0]), "chat")
    theirs.terminate()
    assert.strictEqual(await (await fetch(`http://${host}/anything`)).text(), "host")
    await close()
    assert.strictEqual(await ours.closed, 1001)
    assert.strictEqual(ours.events.at(-1)?.["type"], "session.ended")
    await runtime.dispose()
  })

  it("node:http leaves a plain request that offers HTTP/2 to the host, while no listener of the host's takes upgrades", async () => {
    const server = createServer((_, response) => response.end("host"))
    const asks = (upgrade: string) =>
      new Promise<string>((resolve, reject) => {
        const address = server.address()
        const port = typeof address === "object" ? address?.port : undefined
        const asked = request({
          host: "127.0.0.1",
          port,
          agent: false,
          headers: { connection: "Upgrade, HTTP2-Settings", upgrade }
        })
        asked.on("response", (answer) => {
          let text = `${answer.statusCode} `
          answer.on("data", (piece) => (text += String(piece))).on("end", () => resolve(text))
        })
        asked.on("error", reject).end()
      })
    const voice = realtimeSocket({ basePath: "/ai" })
    const detach = voice.attach(server)
    await once(server.listen(0, "127.0.0.1"), "listening")
    assert.strictEqual(await asks("h2c"), "200 host")
    assert.strictEqual(await asks("WebSocket"), '404 {"detail":"Not Found"}')
    server.on("upgrade", (_, socket) => void socket.end("HTTP/1.1 299 Mine\r\ncontent-length: 0\r\n\r\n"))
    assert.strictEqual(await asks("h2c"), "299 ")
    server.removeAllListeners("upgrade")
    detach()
    assert.strictEqual(await asks("h2c"), "200 host")
    server.close()
    server.closeAllConnections()
  })

  it("node:http keeps a socket that was attached later when an earlier one is detached, and refuses what is for neither", async () => {
    const server = createServer((_, response) => response.end("host"))
    const takes =
      (path: string): UpgradeHandler =>
      (asked, socket) => {
        if (asked.url !== path) return false
        socket.end("HTTP/1.1 299 Mine\r\ncontent-length: 0\r\n\r\n")
        return true
      }
    const ask = (path: string, upgrade = "websocket") =>
      new Promise<number | undefined>((resolve, reject) => {
        const address = server.address()
        const port = typeof address === "object" ? address?.port : undefined
        const headers = { connection: "Upgrade", upgrade }
        const asked = request({ host: "127.0.0.1", port, path, agent: false, headers })
        asked.on("response", (answer) => resolve(answer.resume().statusCode))
        asked.on("error", reject).end()
      })
    const detachFirst = attachUpgrade(server, takes("/first"))
    const detachSecond = attachUpgrade(server, takes("/second"))
    await once(server.listen(0, "127.0.0.1"), "listening")
    const all = async () => [await ask("/first"), await ask("/second"), await ask("/none"), await ask("/", "h2c")]
    assert.deepStrictEqual(await all(), [299, 299, 404, 200])
    detachFirst()
    assert.deepStrictEqual(await all(), [404, 299, 404, 200])
    detachSecond()
    assert.deepStrictEqual(await all(), [200, 200, 200, 200])
    server.close()
    server.closeAllConnections()
  })
})
