/**
 * The service inside servers that hosts have already. What stands between the marks is all that a host writes; `docs/http.md` shows the
 * same lines.
 */
import { assert, describe, it } from "@effect/vitest"
import { say } from "@colloquy/testing"
import { serveWeb } from "./WebServer.ts"
import express from "express"
import Fastify from "fastify"
import { Hono } from "hono"
import { createServer } from "node:http"
import type { HostCredentials } from "../src/index.ts"
import { allEvents, keys, open, type Service } from "./Service.ts"
import { listen, type Running, serverUrl } from "./Sockets.ts"

type Mount = (ai: Service) => Promise<Running>

const mounts: Readonly<Record<string, Mount>> = {
  "node:http": async (ai) => {
    const server = createServer(ai.node)
    return listen(server)
  },

  "node:http beside other things": async (ai) => {
    const mounted = ai.node
    return listen((request, response) =>
      request.url?.startsWith("/ai") ? mounted(request, response) : response.end("host")
    )
  },

  Express: async (ai) => {
    const app = express()
    app.use("/ai", ai.node)
    return listen(createServer(app))
  },

  "Express behind its body parsers": async (ai) => {
    const app = express()
    app.use(express.json(), express.urlencoded({ extended: true }))
    app.use("/ai", ai.node)
    return listen(createServer(app))
  },

  Fastify: async (ai) => {
    const app = Fastify()
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser("*", (_request, _body, done) => done(null))
      scope.all("/ai/*", (request, reply) => ai.node(request.raw, reply.hijack().raw))
    })
    await app.listen({ host: "127.0.0.1", port: 0 })
    return { url: serverUrl(app.server), [Symbol.asyncDispose]: () => closeFastify(app) }
  },

  Hono: async (ai) => {
    const app = new Hono()
    app.all("/ai/*", (context) => ai.handler(context.req.raw))
    return serveWeb(app.fetch)
  },

  "a Next route handler": async (ai) => {
    const route = { GET: ai.handler, POST: ai.handler, PUT: ai.handler, DELETE: ai.handler }
    return serveWeb((request) => route[request.method as keyof typeof route](request))
  }
}

const closeFastify = async (app: ReturnType<typeof Fastify>) => {
  app.server.closeAllConnections()
  await app.close()
}

describe("mounted in", () => {
  it.each(Object.entries(mounts))("%s it answers, streams, and takes forms", async (_name, mount) => {
    const basePath = "/ai"
    await using service = await open([say("Hello, ", "Ada."), say("Hello again."), say("And again.")], {
      http: { basePath }
    })
    await using server = await mount(service)
    const post = (body: string | FormData | URLSearchParams, type?: string) =>
      fetch(`${server.url}/ai/threads/messages`, {
        method: "POST",
        headers: { "x-api-key": keys.ada, ...(type === undefined ? {} : { "content-type": type }) },
        body
      })

    const streamed = await post('{"content":"Hello","stream":true}', "application/json")
    assert.strictEqual(streamed.headers.get("content-type"), "text/event-stream")
    assert.strictEqual((await allEvents(streamed)).at(-1)?.data.content, "Hello, Ada.")

    const form = new FormData()
    form.append("content", "Hello")
    assert.strictEqual(((await (await post(form)).json()) as { content: string }).content, "Hello again.")
    const encoded = await post(new URLSearchParams({ content: "Hello", json_output: "false" }))
    assert.strictEqual(((await encoded.json()) as { content: string }).content, "And again.")

    const unknown = await fetch(`${server.url}/ai/nothing`, { headers: { "x-api-key": keys.ada } })
    assert.deepStrictEqual([unknown.status, await unknown.json()], [404, { detail: "Not Found" }])
    const list = await fetch(`${server.url}/ai/threads?limit=2&include_messages=false`, {
      headers: { "x-api-key": keys.ada }
    })
    assert.lengthOf((await list.json()) as Array<unknown>, 2)
    const removed = await fetch(`${server.url}/ai/threads/00000000-0000-0000-0000-000000000000`, { method: "DELETE" })
    assert.strictEqual(removed.status, 401)
  })

  it.each(Object.entries(mounts))(
    "%s it knows the pages of its own address, also behind a proxy",
    async (_name, mount) => {
      const http = {
        basePath: "/ai",
        authenticate: ({ headers }: HostCredentials) => (headers["cookie"] === "session=ada" ? "ada" : null)
      }
      await using service = await open([], { http })
      await using server = await mount(service)
      const status = async (headers: Record<string, string>) => {
        const session = { cookie: "session=ada", "content-type": "application/json" }
        const init = { method: "POST", headers: { ...session, ...headers }, body: '{"name":"a"}' }
        return (await fetch(`${server.url}/ai/assistants`, init)).status
      }
      assert.strictEqual(await status({}), 200)
      assert.strictEqual(await status({ origin: server.url }), 200)
      assert.strictEqual(await status({ origin: "https://app.example", "x-forwarded-host": "app.example" }), 200)
      assert.strictEqual(await status({ origin: "https://app.example", "sec-fetch-site": "same-origin" }), 200)
      assert.strictEqual(await status({ origin: "https://evil.example" }), 403)
      assert.strictEqual(await status({ origin: "http://localhost" }), 403)
      assert.strictEqual(await status({ origin: "https://evil.example", "x-forwarded-host": "app.example" }), 403)
      assert.strictEqual(await status({ origin: "null" }), 403)
      assert.strictEqual(await status({ "sec-fetch-site": "cross-site" }), 403)
    }
  )

  it("a host's own routes are left alone", async () => {
    await using service = await open([], { http: { basePath: "/ai" } })
    await using server = await (mounts["node:http beside other things"] ?? assert.fail())(service)
    assert.strictEqual(await (await fetch(`${server.url}/other`)).text(), "host")
  })
})
