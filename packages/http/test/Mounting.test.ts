/** The service as a layer, in a router of a host who lives in Effect: beside the host's routes, and none of them touched. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedModel } from "@colloquy/adapters/scripted"
import { Kernel } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { routes, webHandler } from "../src/index.ts"

const kernel = Kernel.layer.pipe(Layer.provide(ScriptedModel.layer([])), Layer.provide(InMemory.layer))

const own = Layer.mergeAll(
  HttpRouter.add("GET", "/health", HttpServerResponse.text("fine")),
  HttpRouter.add("GET", "/broken", Effect.die(new Error("the host's own"))),
  HttpRouter.add("GET", "/ai/mine", HttpServerResponse.text("mine"))
)

describe("routes as a layer", () => {
  it("stand beside the host's", async () => {
    const app = Layer.merge(own, routes({ basePath: "/ai" })).pipe(Layer.provide(kernel))
    const host = HttpRouter.toWebHandler(app, { disableLogger: true })
    const get = async (path: string) => {
      const response = await host.handler(new Request(`http://host${path}`))
      return [response.status, await response.text()]
    }
    assert.deepStrictEqual(await get("/health"), [200, "fine"])
    assert.deepStrictEqual(await get("/ai/mine"), [200, "mine"])
    assert.deepStrictEqual(await get("/ai/threads"), [401, '{"detail":"Invalid or missing API key"}'])
    assert.deepStrictEqual(await get("/ai/nothing"), [404, '{"detail":"Not Found"}'])
    assert.deepStrictEqual(await get("/nothing"), [404, ""])
    assert.deepStrictEqual(await get("/aix/threads"), [404, ""])
    await host.dispose()
  })
})

describe("a handler", () => {
  it("whose kernel cannot be built says so to those who wait for it, and 503 to the rest", async () => {
    const broken = webHandler({ kernel: Layer.effectContext(Effect.fail("no database")) })
    const response = await broken.handler(new Request("http://host/threads"))
    assert.deepStrictEqual(
      [response.status, await response.json()],
      [503, { detail: "The service could not be started" }]
    )
    assert.strictEqual(await broken.ready().catch(String), "no database")
    await broken.dispose()
  })

  it("answers under its base path alone, however that is written", async () => {
    for (const basePath of ["ai", "/ai", "/ai/", "a/i"]) {
      const { dispose, handler } = webHandler({ kernel, basePath })
      const status = async (path: string) => (await handler(new Request(`http://host${path}`))).status
      const inside = `/${basePath.replaceAll(/^\/|\/$/gu, "")}`
      assert.deepStrictEqual([await status(`${inside}/threads`), await status(`${inside}/threads/`)], [401, 401])
      assert.deepStrictEqual([await status("/threads"), await status("/"), await status(inside)], [404, 404, 404])
      await dispose()
    }
  })
})
