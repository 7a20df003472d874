/** A path has one form. Written otherwise it is unknown, because what stands in front of the service may have let it pass as another one. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { assert, describe, it } from "@effect/vitest"
import express from "express"
import { createServer } from "node:http"
import { straight, throughWeb } from "./BothWays.ts"
import { keys, openEndless, type Service } from "./Service.ts"
import { listen, portIn, talk } from "./Sockets.ts"

const others = [
  "/ai//threads",
  "//ai/threads",
  "/ai/threads//",
  "/AI/threads",
  "/ai/Threads",
  "/ai/THREADS",
  "/ai/threads;x",
  "/ai/threads;x=1",
  "/ai;x/threads",
  "/ai/thr%65ads",
  "/a%69/threads",
  "/ai/%74hreads",
  "/ai/%2e/threads",
  "/ai/%2E/threads",
  "/ai/x/%2e%2e/threads",
  "/ai/x/.%2e/threads",
  "/ai/x/../threads",
  "/ai/./threads",
  "/ai/threads/.",
  "/../ai/threads",
  "/ai/..;/ai/threads",
  "/ai\\threads",
  "/ai%2fthreads",
  "/ai/models%2e",
  "/ai/openapi%2ejson",
  "/ai/OpenApi.json"
]

const same = ["/ai/threads", "/ai/threads/", "/ai/threads?x=//;%2e", "/ai/openapi.json", "http://elsewhere/ai/threads"]

const ways: ReadonlyArray<readonly [string, (service: Service) => Parameters<typeof listen>[0]]> = [
  ["on Node's messages", straight],
  ["through web requests", throughWeb],
  [
    "in Express",
    (service) => {
      const app = express()
      app.use("/ai", service.node)
      return createServer(app)
    }
  ]
]

describe("a path", () => {
  it.each(ways)("that is written otherwise is unknown %s", async (_name, way) => {
    await using service = await openEndless(InMemory.layer, { basePath: "/ai" })
    await using server = await listen(way(service))
    const port = portIn(server)
    const status = async (path: string) => {
      const head = `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${keys.ada}\r\nconnection: close\r\n\r\n`
      return Number((await talk(port, head, false)).split(" ", 2)[1])
    }
    for (const path of others) assert.strictEqual(await status(path), 404, path)
    for (const path of same) assert.strictEqual(await status(path), 200, path)
  })

  it("is one for web requests too, as far as the platform leaves it as it was", async () => {
    await using service = await openEndless(InMemory.layer, { basePath: "/ai" })
    const status = async (path: string) => (await service.call("GET", path)).status
    const isLeft = (path: string) => new URL(path, "http://x/y").pathname === path && !path.startsWith("//")
    for (const path of others.filter(isLeft)) assert.strictEqual(await status(path), 404, path)
    assert.strictEqual(await status("/ai/threads"), 200)
  })

  it("keeps the escapes that a value needs", async () => {
    await using service = await openEndless(InMemory.layer)
    const named = async (name: string) => (await service.call("GET", `/models/${name}`)).body.detail
    assert.strictEqual(await named("acme%2Fm%3B1"), await named("acme/m%3B1"))
    assert.include(await named("acme%2Fm%3B1"), "acme/m;1")
  })
})
