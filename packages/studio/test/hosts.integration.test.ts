/**
 * The studio in hosts of every framework, in a real browser: below a path of its own and behind the host's session in a cookie. No key of
 * the API is needed, and none is asked for.
 */
import { type HostCredentials, webHandler, withSource } from "@colloquy/http"
import { toNodeHandler } from "@colloquy/http/node"
import { type HostRequest, studio } from "@colloquy/studio"
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { getRequestListener } from "@hono/node-server"
import express from "express"
import fastify, { type FastifyReply, type FastifyRequest } from "fastify"
import { type Context, Hono } from "hono"
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import type { Browser } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import { demoKernel } from "../../server/test/DemoKernel.ts"
import { faults, finished, lastText, say, soon, visit } from "./StudioVisit.ts"

const cookieUser = (cookie: string | null | undefined): string | null =>
  /(?:^|; )user=(\w+)/u.exec(cookie ?? "")?.[1] ?? null

/** The API as a host of web requests mounts it, or one of messages of Node. */
const webApi = () =>
  webHandler({
    kernel: demoKernel,
    basePath: "/ai",
    authenticate: ({ source }: HostCredentials<Request>) => cookieUser(source.headers.get("cookie"))
  })
const nodeApi = () =>
  webHandler({
    kernel: demoKernel,
    basePath: "/ai",
    authenticate: ({ source }: HostCredentials<IncomingMessage>) => cookieUser(source.headers.cookie)
  })

interface Host {
  readonly listener: RequestListener
  readonly dispose: () => Promise<void>
}

const isStaff = ({ headers }: { readonly headers: Readonly<Record<string, string | undefined>> }) =>
  cookieUser(headers["cookie"]) !== null

const hosts: Readonly<Record<string, () => Promise<Host>>> = {
  Express: async () => {
    const api = nodeApi()
    const app = express()
    app.use("/ai", api.node)
    app.use("/admin/studio", studio({ ai: api, authorize: isStaff }).node)
    return { listener: app, dispose: () => api.dispose() }
  },
  Fastify: async () => {
    const api = nodeApi()
    const app = fastify()
    const isKnown = ({ source }: HostRequest<FastifyRequest>) => cookieUser(source.headers.cookie) !== null
    const page = studio({ ai: api, basePath: "/admin/studio", authorize: isKnown })
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser("*", (_request, _body, done) => done(null))
      scope.all("/ai/*", (request, reply) => api.node(withSource(request.raw, request.raw), reply.hijack().raw))
    })
    const show = (request: FastifyRequest, reply: FastifyReply) =>
      page.node(withSource(request.raw, request), reply.hijack().raw)
    app.get("/admin/studio", show)
    app.get("/admin/studio/*", show)
    await app.ready()
    return {
      listener: (request, response) => app.routing(request, response),
      dispose: async () => {
        await app.close()
        await api.dispose()
      }
    }
  },
  Hono: async () => {
    const api = webApi()
    const app = new Hono()
    const isKnown = ({ source }: HostRequest<Context>) => cookieUser(source.req.header("cookie")) !== null
    const page = studio({ ai: api, basePath: "/admin/studio", authorize: isKnown })
    const show = (context: Context) => page.handler(withSource(context.req.raw, context))
    app.all("/ai/*", (context) => api.handler(withSource(context.req.raw, context.req.raw)))
    app.get("/admin/studio", show)
    app.get("/admin/studio/*", show)
    const listen = getRequestListener(app.fetch)
    return { listener: (request, response) => void listen(request, response), dispose: () => api.dispose() }
  },
  // What `app/ai/[...path]/route.ts` and `app/admin/studio/[[...path]]/route.ts` export.
  "the route handlers of Next": async () => {
    const api = webApi()
    const page = studio({ ai: api, basePath: "/admin/studio", authorize: isStaff })
    const routes = { api: { GET: api.handler, POST: api.handler }, page: { GET: page.handler } }
    const answer = async (request: Request): Promise<Response> => {
      const { pathname } = new URL(request.url)
      if (pathname.startsWith("/admin")) return await routes.page.GET(request)
      const handle = request.method === "POST" ? routes.api.POST : routes.api.GET
      // Next hands over a request of its own; here it comes from a server of Node.
      return await handle(withSource(request, request))
    }
    return { listener: toNodeHandler(answer), dispose: () => api.dispose() }
  }
}

const open = async (make: () => Promise<Host>) => {
  const { dispose, listener } = await make()
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
      await dispose()
    }
  }
}

inChromium((launch) => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  describe("the studio talks, behind the session of", () => {
    for (const [name, make] of Object.entries(hosts)) {
      it(`a host of ${name}`, async () => {
        await using host = await open(make)
        assert.strictEqual((await fetch(`${host.url}/admin/studio/`)).status, 403)
        const storageState = {
          cookies: [
            {
              name: "user",
              value: "ada",
              domain: "127.0.0.1",
              path: "/",
              expires: -1,
              httpOnly: true,
              secure: false,
              sameSite: "Lax" as const
            }
          ],
          origins: []
        }
        // Without the slash at its end, the address leads to the one with it.
        await using visitor = await visit(browser, `${host.url}/admin/studio`, { storageState })
        const { page: shown } = visitor
        await say(shown, "count to 3")
        await finished(shown)
        await soon(shown, async () => assert.strictEqual(await lastText(shown).textContent(), "1 2 3"))
        await soon(shown, async () => assert.strictEqual(await shown.getByRole("dialog").count(), 0))
        await soon(shown, async () => assert.match(shown.url(), /\/admin\/studio\/#\/talk\/[^/]+$/))
        await shown.reload()
        await finished(shown)
        assert.deepStrictEqual(await faults(shown), [])
        assert.deepStrictEqual(visitor.complaints, [])
      })
    }

    it("nobody: then it asks for a key", async () => {
      const api = nodeApi()
      const app = express()
      app.use("/ai", api.node)
      app.use("/admin/studio", studio({ ai: api }).node)
      await using host = await open(async () => ({ listener: app, dispose: () => api.dispose() }))
      await using visitor = await visit(browser, `${host.url}/admin/studio/`)
      await visitor.page.getByRole("dialog", { name: "API key" }).waitFor()
    })
  })
})
