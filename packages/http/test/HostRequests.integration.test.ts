/**
 * Who asks, as the host sees it: headers that his middleware has set or deleted, the session that it has put on the request, and wrong keys
 * counted by the address that he tells. Each by both ways into the service, and over HTTP/2.
 */
import { Assistants } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import express from "express"
import session from "express-session"
import Fastify, { type FastifyRequest } from "fastify"
import { type Context, Hono } from "hono"
import { createServer, type IncomingMessage } from "node:http"
import { connect as connectHttp2, createServer as createHttp2, type IncomingHttpHeaders } from "node:http2"
import type { AddressInfo } from "node:net"
import { type HostCredentials, type RoutesOptions, withSource } from "../src/index.ts"
import { keys, open, type Service } from "./Service.ts"
import { straight, throughWeb, type Way } from "./BothWays.ts"
import { listen, type Running, serverUrl } from "./Sockets.ts"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const ways: ReadonlyArray<readonly [string, Way]> = [
  ["straight from Node", straight],
  ["through a function of web requests", throughWeb]
]

const byHeader: RoutesOptions = { authenticate: ({ headers }) => headers["x-user"] ?? null }

const list = async (server: Running, headers: Readonly<Record<string, string>> = {}, path = "/assistants") => {
  const answer = await fetch(`${server.url}${path}`, { headers })
  return answer.status === 200
    ? ((await answer.json()) as ReadonlyArray<{ name: string }>).map(({ name }) => name)
    : answer.status
}

/** Made without the host's middleware in between. */
const withAssistants = (service: Service) =>
  Promise.all([
    service.run(
      Assistants.use((assistants) => assistants.create({ name: "Ada's" })),
      "ada"
    ),
    service.run(
      Assistants.use((assistants) => assistants.create({ name: "Bob's" })),
      "bob"
    )
  ])

describe.each(ways)("%s", (_way, way) => {
  it("headers count as the host's middleware has left them", async () => {
    await using service = await open([], { http: byHeader })
    await withAssistants(service)
    const handle = way(service)
    const set: Readonly<Record<string, (message: IncomingMessage) => void>> = {
      "/set": ({ headers }) => void (headers["x-user"] = "ada"),
      "/set-in-capitals": ({ headers }) => void (headers["X-User"] = "ada"),
      "/deleted": ({ headers }) => void delete headers["x-user"],
      "/undefined": ({ headers }) => void (headers["x-user"] = undefined),
      "/replaced": (message) => void (message.headers = { ...message.headers, "x-user": "ada" })
    }
    await using server = await listen((message, response) => {
      const path = message.url ?? ""
      set[path]?.(message)
      message.url = "/assistants"
      handle(message, response)
    })
    const forged = { "x-user": "bob" }
    assert.deepStrictEqual(await list(server, forged, "/untouched"), ["Bob's"])
    for (const path of ["/set", "/set-in-capitals", "/replaced"])
      assert.deepStrictEqual(await list(server, forged, path), ["Ada's"], path)
    for (const path of ["/deleted", "/undefined"]) assert.strictEqual(await list(server, forged, path), 401, path)
  })

  it("the session of express-session is the principal, and nothing that a client sends is", async () => {
    await using service = await open([], {
      http: { authenticate: ({ source }: HostCredentials<express.Request>) => source.session?.userId ?? null }
    })
    await withAssistants(service)
    const app = express()
    app.use(session({ secret: "for tests", resave: false, saveUninitialized: false }))
    app.post("/login/:name", (request, response) => {
      request.session.userId = request.params.name
      response.end()
    })
    app.use(way(service))
    await using server = await listen(createServer(app))
    assert.strictEqual(await list(server), 401)
    assert.strictEqual(await list(server, { "x-user": "ada", authorization: "ada", x_session_token: "ada" }), 401)
    const login = await fetch(`${server.url}/login/ada`, { method: "POST" })
    const cookie = login.headers.getSetCookie()[0]?.split(";", 1)[0] ?? ""
    assert.deepStrictEqual(await list(server, { cookie }), ["Ada's"])
    assert.strictEqual(await list(server, { cookie: cookie.replace("connect.sid=s%3A", "connect.sid=s%3Ax") }), 401)
  })

  it("a decorator of Fastify is the principal", async () => {
    await using service = await open([], {
      http: { authenticate: ({ source }: HostCredentials<FastifyRequest & { user: string | null }>) => source.user }
    })
    await withAssistants(service)
    const app = Fastify()
    app.decorateRequest("user", null)
    app.addHook("onRequest", async (request) => {
      Object.assign(request, { user: request.headers.cookie === "sid=of-ada" ? "ada" : null })
    })
    const handle = way(service)
    app.all("/*", (request, reply) => handle(withSource(request.raw, request), reply.hijack().raw))
    await app.listen({ host: "127.0.0.1", port: 0 })
    const server = { url: serverUrl(app.server) } as Running
    assert.strictEqual(await list(server), 401)
    assert.deepStrictEqual(await list(server, { cookie: "sid=of-ada" }), ["Ada's"])
    await app.close()
  })

  it("over HTTP/2 headers count as the host has left them", async () => {
    await using service = await open([], { http: byHeader })
    await withAssistants(service)
    const handle = way(service)
    const server = createHttp2((request, response) => {
      if (request.url === "/deleted") delete request.headers["x-user"]
      if (request.url === "/set") request.headers["x-user"] = "ada"
      request.url = "/assistants"
      // Node gives the same events and methods to both kinds of messages.
      handle(request as never, response as never)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve)
    })
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const call = async (path: string): Promise<readonly [number, string]> => {
      const stream = client.request({ ":path": path, "x-user": "bob" })
      const head = await new Promise<IncomingHttpHeaders>((resolve) => {
        stream.once("response", resolve)
      })
      let text = ""
      for await (const piece of stream) text += String(piece)
      return [Number(head[":status"]), text]
    }
    assert.strictEqual((await call("/deleted"))[0], 401)
    assert.include((await call("/set"))[1], "Ada's")
    assert.notInclude((await call("/set"))[1], "Bob's")
    assert.include((await call("/untouched"))[1], "Bob's")
    client.close()
    await new Promise((resolve) => {
      server.close(resolve)
    })
  })
})

describe("wrong keys", () => {
  const rate = { limit: 3, window: "1 minute" } as const
  const status = async (server: Running, key: string, address: string): Promise<readonly [number, boolean]> => {
    const answer = await fetch(`${server.url}/assistants`, { headers: { "x-api-key": key, "x-address": address } })
    return [answer.status, answer.headers.has("retry-after")]
  }

  it("are counted by the address that the host tells, and then not looked up", async () => {
    const clientAddress = ({ source }: HostCredentials<IncomingMessage & { ip: string }>) => source.ip
    await using service = await open([], { http: { clientAddress, failedKeys: rate } })
    const handle = service.node
    await using server = await listen((message, response) =>
      handle(Object.assign(message, { ip: message.headers["x-address"] }), response)
    )
    assert.deepStrictEqual(await status(server, keys.ada, "1.1.1.1"), [200, false])
    for (let count = 0; count < 3; count++)
      assert.deepStrictEqual(await status(server, `guess ${count}`, "1.1.1.1"), [401, false])
    assert.deepStrictEqual(await status(server, "guess 4", "1.1.1.1"), [429, true])
    // A key that would be right is not found out from there; one that was right already goes on.
    assert.deepStrictEqual(await status(server, keys.bob, "1.1.1.1"), [429, true])
    assert.deepStrictEqual(await status(server, keys.ada, "1.1.1.1"), [200, false])
    assert.deepStrictEqual(await status(server, keys.bob, "2.2.2.2"), [200, false])
    assert.deepStrictEqual(await status(server, "", "1.1.1.1"), [401, false])
  })

  it("are not counted where no address is told", async () => {
    await using service = await open([], { http: { failedKeys: rate } })
    await using server = await listen(service.node)
    for (let count = 0; count < 8; count++)
      assert.deepStrictEqual(await status(server, `guess ${count}`, "1.1.1.1"), [401, false])
  })
})

describe("in a server of web requests", () => {
  it("the source is the request itself, or what the host names", async () => {
    const seen: Array<unknown> = []
    const http: RoutesOptions = { authenticate: ({ source }) => (seen.push(source), "ada") }
    await using service = await open([], { http })
    const request = new Request("http://host/assistants")
    assert.strictEqual((await service.handler(request)).status, 200)
    const app = new Hono<{ Variables: { user: string } }>()
    app.use(async (context, next) => (context.set("user", "ada"), next()))
    app.all("/*", (context) => service.handler(withSource(context.req.raw, context)))
    assert.strictEqual((await app.request("/assistants")).status, 200)
    assert.strictEqual(seen[0], request)
    assert.strictEqual((seen[1] as Context).get("user"), "ada")
  })
})
