/** The studio in a host's server: below a path of its own, behind the host's check of who may see it, without a key of the API. */
import { studio } from "@colloquy/studio"
import { assert, describe, it } from "@effect/vitest"
import express from "express"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const mounted = async () => {
  const app = express()
  app.use("/admin", (request, response, next) => {
    if (request.headers.cookie === "staff=yes") next()
    else response.sendStatus(403)
  })
  app.use("/admin/studio", studio({ api: "/ai", basePath: "/admin/studio" }).node)
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    get: (path: string, init: RequestInit = {}) =>
      fetch(new URL(path, `http://127.0.0.1:${port}`), {
        redirect: "manual",
        headers: { cookie: "staff=yes" },
        ...init
      }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}

describe("the studio in Express", () => {
  it("is served below its path, with the path of the API in its page and relative addresses of its files", async () => {
    await using host = await mounted()
    const page = await host.get("/admin/studio/")
    assert.strictEqual(page.status, 200)
    const html = await page.text()
    assert.include(html, '<meta name="api-base" content="/ai" />')
    const files = [...html.matchAll(/(?:href|src)="([^"#:]+\.(?:js|ts|css))"/gu)].map(([, file = ""]) => file)
    assert.isAbove(files.length, 20)
    for (const file of files) assert.strictEqual((await host.get(`/admin/studio/${file}`)).status, 200, file)
  })

  it("sends the path without a slash to the page, and refuses what it does not have", async () => {
    await using host = await mounted()
    const redirect = await host.get("/admin/studio")
    assert.strictEqual(redirect.status, 308)
    assert.strictEqual(redirect.headers.get("location"), "studio/")
    assert.strictEqual((await host.get("/admin/studio/studio/none.ts")).status, 404)
    assert.strictEqual((await host.get("/admin/studio/", { method: "POST" })).status, 405)
  })

  it("is behind what the host put before it", async () => {
    await using host = await mounted()
    assert.strictEqual((await host.get("/admin/studio/", { headers: {} })).status, 403)
  })
})

it("the handler alone answers web requests, at the root if no path is given", async () => {
  const { answers, handler } = studio({ api: "/api" })
  const page = await handler(new Request("http://host/"))
  assert.include(await page.text(), 'content="/api"')
  assert.isTrue(answers("/"))
  assert.isTrue(answers("/studio/main.ts"))
  assert.isFalse(answers("/api/threads"))
})
