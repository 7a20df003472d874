/**
 * Each host of this folder in its real framework: the host's own route, a streamed turn of the API for a logged-in user, and callers who
 * are not logged in. Next has a separate test.
 */
import { assert, describe, it } from "@effect/vitest"
import { createServer, type Server } from "node:http"
import { app as expressApp } from "./express/server.ts"
import { app as fastifyApp } from "./fastify/server.ts"
import { app as honoApp } from "./hono/server.ts"
import { server as nodeServer } from "./node-http/server.ts"

type Fetch = (path: string, init?: RequestInit) => Promise<Response>

interface Host {
  readonly fetch: Fetch
  readonly close: () => Promise<unknown>
}

const origin = "http://127.0.0.1"

const listening = async (server: Server): Promise<Host> => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    fetch: (path, init) => fetch(`${origin}:${port}${path}`, init),
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections())
  }
}

const withoutSocket = (fetch: Fetch): Host => ({ fetch, close: async () => {} })

const hosts: Readonly<Record<string, () => Promise<Host>>> = {
  "node:http": () => listening(nodeServer),
  Express: () => listening(createServer(expressApp)),
  Fastify: async () => {
    const url = await fastifyApp.listen({ host: "127.0.0.1", port: 0 })
    return { fetch: (path, init) => fetch(`${url}${path}`, init), close: () => fastifyApp.close() }
  },
  Hono: async () => withoutSocket(async (path, init) => honoApp.request(path, init))
}

describe("embedded in", () => {
  it.each(Object.entries(hosts))("%s", async (name, open) => {
    const { close, fetch } = await open()
    try {
      assert.strictEqual(await (await fetch("/hello")).text(), `Hello from ${name}`)
      const login = await fetch("/login/ada", { method: "POST" })
      const cookie = login.headers.getSetCookie()[0]?.split(";", 1)[0] ?? ""
      const ask = (headers: Readonly<Record<string, string>>) =>
        fetch("/ai/threads/messages", {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: '{"content":"count to 3","stream":true}'
        })
      assert.strictEqual((await ask({})).status, 401)
      assert.strictEqual((await ask({ "x-user": "ada", authorization: "ada", x_session_token: "ada" })).status, 401)
      assert.strictEqual((await ask({ cookie: cookie.slice(0, -3) })).status, 401)
      const events = (await (await ask({ cookie })).text()).split("\n\n").filter((each) => each.includes("data: "))
      assert.lengthOf(
        events.filter((event) => event.includes('"content_streaming"')),
        3
      )
      assert.include(events.at(-1), '"run_ended","status":"completed"')
      assert.include(events.at(-1), '"content":"1 2 3"')
    } finally {
      await close()
    }
  })
})
