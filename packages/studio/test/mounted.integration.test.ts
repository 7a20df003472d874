/** The studio in a host's server: below a path of its own, behind the host's check of who may see it, without a key of the API. */
import { withSource } from "@colloquy/http"
import { type HostRequest, studio, type StudioOptions } from "@colloquy/studio"
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
    const files = [...html.matchAll(/(?:href|src)="([^"#:]+\.(?:js|ts|css|woff2))"/gu)].map(([, file = ""]) => file)
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

it("has a typeface of at most 30 kB, which a browser keeps, with its licence, below its path and in the worker's cache", async () => {
  const { handler } = studio({ api: "/ai", basePath: "/admin/studio" })
  const get = (path: string) => handler(new Request(`http://host/admin/studio/${path}`))
  const page = await (await get("")).text()
  const styles = await (await get("studio/css/base.css")).text()
  const files = [...styles.matchAll(/url\("\.\.\/([^"]+)"\)/gu)].map(([, file = ""]) => `studio/${file}`)
  const [first = "", ...others] = files
  assert.lengthOf(others, 1)
  assert.include(page, `<link rel="preload" href="${first}" as="font" type="font/woff2" crossorigin />`)
  assert.include(await (await get("offline.js")).text(), JSON.stringify(first))
  for (const file of files) {
    const { headers } = await get(file)
    assert.strictEqual(headers.get("content-type"), "font/woff2")
    assert.strictEqual(headers.get("cache-control"), "public, max-age=31536000, immutable")
    assert.include(headers.get("content-security-policy") ?? "", "; font-src 'self';")
  }
  const zipping = new Request(`http://host/admin/studio/${first}`, { headers: { "accept-encoding": "gzip" } })
  const letters = await handler(zipping)
  assert.isNull(letters.headers.get("content-encoding"))
  const bytes = Buffer.from(await letters.arrayBuffer())
  assert.strictEqual(bytes.toString("latin1", 0, 4), "wOF2")
  assert.isAtMost(bytes.byteLength, 30_000)
  const licence = await (await get(`${first.replace("-latin.woff2", "")}-license.txt`)).text()
  assert.include(licence, "SIL OPEN FONT LICENSE")
})

describe("the host's choices", () => {
  const get = (options: Omit<StudioOptions, "api" | "ai">, path = "/", init: RequestInit = {}) =>
    studio({ api: "/ai", ...options }).handler(new Request(`http://host${path}`, init))
  const policyFor = async (frameAncestors?: string | ReadonlyArray<string>) => {
    const { headers } = await get(frameAncestors === undefined ? {} : { frameAncestors })
    return headers.get("content-security-policy")?.split("; ").at(-1)
  }

  it("authorize sees the host's own request, and decides about every file", async () => {
    const seen: Array<unknown> = []
    const authorize = async ({ headers, source }: HostRequest) => {
      seen.push(source)
      return headers["x-staff"] === "yes"
    }
    const { handler } = studio({ api: "/ai", basePath: "admin/", authorize })
    const [foreign, own] = [undefined, { "x-staff": "yes" }].map(
      (headers) => new Request("http://host/admin/", { headers: { ...headers } })
    )
    assert.strictEqual((await handler(withSource(foreign ?? new Request("http://host/"), "a session"))).status, 403)
    assert.strictEqual((await handler(own ?? new Request("http://host/"))).status, 200)
    assert.deepStrictEqual(seen, ["a session", own])
    for (const path of ["/admin", "/admin/studio/main.ts", "/admin/offline.js"])
      assert.strictEqual((await handler(new Request(`http://host${path}`))).status, 403, path)
    assert.strictEqual((await handler(new Request("http://host/elsewhere"))).status, 404)
  })

  it("frameAncestors says who may show it in a frame; nobody unless it is said", async () => {
    assert.strictEqual(await policyFor(), "frame-ancestors 'none'")
    assert.strictEqual(await policyFor("'self'"), "frame-ancestors 'self'")
    assert.strictEqual(
      await policyFor(["'self'", "https://*.admin.example:8443"]),
      "frame-ancestors 'self' https://*.admin.example:8443"
    )
    for (const wrong of ["", "'self'; script-src *", "a\r\nx: y"])
      assert.throws(() => studio({ api: "/ai", frameAncestors: wrong }), /frameAncestors is .* Give sources/u)
  })

  it("brand is written as text, and its colour can be read whatever it is", async () => {
    const page = await (await get({ brand: { name: '<b>"Acme"', colour: "#ffd400" } })).text()
    assert.include(page, "<title>&#60;b&#62;&#34;Acme&#34;</title>")
    assert.notInclude(page, "<b>")
    assert.include(page, 'href="studio/brand.css"')
    assert.strictEqual((await get({}, "/studio/brand.css")).status, 404)
    const styles = await get({ brand: { colour: "#036" } }, "/studio/brand.css")
    assert.match(await styles.text(), /--accent: light-dark\(#003366, #[\da-f]{6}\)/u)
    assert.throws(
      () => studio({ api: "/ai", brand: { colour: "red; }" } }),
      /brand\.colour is "red; \}"\. Give a colour/u
    )
  })

  it("rooms are those that there are, and the API has to be named", () => {
    // @ts-expect-error: no such room
    const cellar: StudioOptions = { api: "/ai", rooms: ["runs", "cellar"] }
    assert.throws(() => studio(cellar), /rooms has \["cellar"\]\. Choose of talk, runs/u)
    assert.throws(() => studio({ api: "/ai", rooms: [] }), /rooms is empty/u)
    // @ts-expect-error: without the API
    assert.throws(() => studio({}), /studio needs the path of the API/u)
  })

  it("links to a guide where the host has one", async () => {
    assert.include(await (await get({ guide: "/help" })).text(), '<meta name="guide" content="/help" />')
    assert.notInclude(await (await get({})).text(), 'name="guide"')
  })

  it("keeps the query where it adds the slash", async () => {
    const redirect = await get({ basePath: "/admin/studio" }, "/admin/studio?from=mail")
    assert.strictEqual(redirect.headers.get("location"), "studio/?from=mail")
  })
})
