/** The service as a layer, in a router of a host who lives in Effect: beside the host's routes, and none of them touched. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedModel } from "@colloquy/testing"
import { Kernel } from "@colloquy/core"
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
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

/** A kernel that opens when its database is there, and counts how often it was tried. */
const openable = () => {
  const state = { tries: 0, closed: 0, fault: "no database" as string | null }
  const opened = Layer.effectContext(
    Effect.gen(function* () {
      state.tries++
      yield* Effect.addFinalizer(() => Effect.sync(() => state.closed++))
      if (state.fault !== null) return yield* Effect.fail(state.fault)
      return yield* Layer.build(kernel)
    })
  )
  return { state, opened }
}

const ask = async ({ handler }: { readonly handler: (request: Request) => Promise<Response> }) => {
  const { headers, status } = await handler(new Request("http://host/threads"))
  return [status, headers.get("retry-after")]
}

describe("a kernel that cannot be built", () => {
  afterEach(() => void vi.useRealTimers())

  it("is logged once, and tried again at later requests with a pause that grows", async () => {
    vi.useFakeTimers({ toFake: ["performance"] })
    const log = vi.spyOn(console, "log").mockImplementation(() => {})
    const said = () => log.mock.calls.flat().join("\n")
    const { opened, state } = openable()
    const service = webHandler({ kernel: opened })
    assert.strictEqual(state.tries, 0)

    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const tries = state.tries
      assert.deepStrictEqual(await ask(service), [503, String(seconds)])
      assert.strictEqual(state.tries, tries + 1)
      vi.advanceTimersByTime(seconds * 1000 - 1)
      assert.deepStrictEqual(await ask(service), [503, "1"])
      assert.strictEqual(state.tries, tries + 1)
      vi.advanceTimersByTime(1)
    }
    assert.lengthOf(said().match(/no database/gu) ?? [], 1)
    assert.strictEqual(state.closed, state.tries)

    state.fault = "another fault"
    assert.deepStrictEqual(await ask(service), [503, "60"])
    assert.include(said(), "another fault")
    state.fault = null
    vi.advanceTimersByTime(60_000)
    assert.deepStrictEqual(await Promise.all([ask(service), ask(service), ask(service)]), [
      [401, null],
      [401, null],
      [401, null]
    ])
    assert.include(said(), "The kernel has been started")
    assert.strictEqual(state.tries, state.closed + 1)
    await service.dispose()
    assert.strictEqual(state.tries, state.closed)
    log.mockRestore()
  })

  it("is logged with what the first of its causes says, and again when that is another one", async () => {
    vi.useFakeTimers({ toFake: ["performance"] })
    const log = vi.spyOn(console, "log").mockImplementation(() => {})
    const outermost = (cause: unknown) => new Error("The store could not be reached", { cause })
    const causes = [
      outermost(new Error("", { cause: new Error("wrong password") })),
      outermost(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }))
    ]
    let tries = 0
    const failing = Layer.effectContext(Effect.suspend(() => Effect.fail(causes[Math.min(tries++, 1)])))
    const service = webHandler({ kernel: failing })
    for (let count = 0; count < 3; count++) {
      assert.strictEqual((await ask(service))[0], 503)
      vi.advanceTimersByTime(60_000)
    }
    const told = log.mock.calls.map((call) => call.join(" "))
    assert.lengthOf(told, 2)
    assert.include(told[0], "The store could not be reached Cause: wrong password\n    at ")
    assert.include(told[1], "The store could not be reached Cause: ECONNREFUSED\n    at ")
    await service.dispose()
    log.mockRestore()
  })

  it("tells why to those who wait for it, who need not wait for the pause", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {})
    const { opened, state } = openable()
    const service = webHandler({ kernel: opened })
    assert.include(String(await service.ready().catch(String)), "no database")
    assert.lengthOf(log.mock.calls, 0)
    assert.deepStrictEqual(await ask(service), [503, "1"])
    assert.lengthOf(log.mock.calls, 1)
    state.fault = null
    await service.ready()
    assert.deepStrictEqual(await ask(service), [401, null])
    await service.dispose()
    log.mockRestore()
  })
})

describe("a handler", () => {
  it("opens nothing before the first request, and nothing when there was none", async () => {
    const { opened, state } = openable()
    state.fault = null
    const unused = webHandler({ kernel: opened })
    await unused.drain()
    await unused.dispose()
    assert.deepStrictEqual([state.tries, await ask(unused)], [0, [503, "1"]])
    const used = webHandler({ kernel: opened })
    assert.deepStrictEqual([await ask(used), await ask(used), state.tries], [[401, null], [401, null], 1])
    await used.dispose()
    assert.strictEqual(state.closed, 1)
  })

  it("that was drained before its first request takes no new turns after it", async () => {
    const service = webHandler({ kernel, authenticate: () => "ada" })
    await service.drain()
    const body = '{"content":"Hello"}'
    const headers = { "content-type": "application/json" }
    const answer = await service.handler(new Request("http://host/threads/messages", { method: "POST", headers, body }))
    assert.strictEqual(answer.status, 503)
    assert.strictEqual((await service.handler(new Request("http://host/threads"))).status, 200)
    await service.dispose()
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
