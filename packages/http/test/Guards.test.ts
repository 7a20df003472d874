/** Who may ask, how often, how much; repeats; shutting down; and faults that tell nothing. Specification part 5. */
import { assert, describe, it } from "@effect/vitest"
import { callTool, gate, say } from "@colloquy/testing"
import { InsufficientCredit, Keys, StoreUnavailable } from "@colloquy/core"
import { AssistantStore, ThreadStore } from "@colloquy/core/adapters"
import { InMemory } from "@colloquy/adapters/in-memory"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import { allEvents, keys, open, tool } from "./Service.ts"

const hello = { content: "Hello" }
const send = "/threads/messages"

describe("keys", () => {
  it("are needed everywhere, and a wrong one is like none", async () => {
    await using service = await open([])
    const id = "00000000-0000-0000-0000-000000000000"
    const endpoints = [
      ["GET", "/assistants"],
      ["GET", "/threads"],
      ["GET", "/threads/not-even-an-id"],
      ["POST", send],
      ["POST", "/threads/tool-outputs"],
      ["POST", `/threads/${id}/runs/${id}/cancel`]
    ] as const
    for (const [method, path] of endpoints) {
      for (const key of [null, "", "wrong", `cq_${"0".repeat(32)}_${"0".repeat(48)}`, `${keys.ada} `.repeat(3), "é"]) {
        const answer = await service.call(method, path, undefined, { key })
        assert.deepStrictEqual([answer.status, answer.body], [401, { detail: "Invalid or missing API key" }])
      }
    }
  })

  it("that are revoked stop working within seconds", async () => {
    await using service = await open([], { extra: TestClock.layer() })
    const status = async () => (await service.call("GET", "/threads", undefined, { key: keys.ada })).status
    assert.strictEqual(await status(), 200)
    const [own] = await service.run(Keys.use((all) => all.list))
    await service.run(Keys.use((all) => all.revoke(own?.id ?? assert.fail("no key"))))
    await service.run(TestClock.adjust("4 seconds"))
    assert.strictEqual(await status(), 200)
    await service.run(TestClock.adjust("1 second"))
    assert.strictEqual(await status(), 401)
  })

  it("are looked up every time when the host wants that", async () => {
    await using service = await open([], { http: { keyCacheTime: 0 } })
    assert.strictEqual((await service.call("GET", "/threads")).status, 200)
    const [own] = await service.run(Keys.use((all) => all.list))
    await service.run(Keys.use((all) => all.revoke(own?.id ?? assert.fail("no key"))))
    assert.strictEqual((await service.call("GET", "/threads")).status, 401)
  })
})

describe("a host's own session", () => {
  it("stands for an owner instead of a key", async () => {
    const asked: Array<unknown> = []
    await using service = await open([], {
      http: {
        authenticate: ({ authorization, headers, sessionToken }) => {
          asked.push([authorization, sessionToken, headers["x-host"]])
          return sessionToken === "bobs" || authorization === "Bearer bob" ? "bob" : null
        }
      }
    })
    await service.call("POST", "/assistants", { name: "Bob's" }, { key: keys.bob })
    const names = async (headers: Record<string, string>, key: string | null = null) => {
      const { body, status } = await service.call("GET", "/assistants", undefined, { key, headers })
      return status === 200 ? body.map(({ name }: { name: string }) => name) : status
    }
    assert.deepStrictEqual(await names({ x_session_token: "bobs" }), ["Bob's"])
    assert.deepStrictEqual(await names({ "x-session-token": "bobs" }), ["Bob's"])
    assert.deepStrictEqual(await names({ authorization: "Bearer bob", "x-host": "h" }), ["Bob's"])
    assert.deepStrictEqual(await names({ authorization: "Bearer bob" }, keys.ada), ["Bob's"])
    assert.deepStrictEqual(await names({ authorization: "Bearer nobody" }, keys.ada), [])
    assert.deepStrictEqual(await names({ authorization: "Bearer nobody" }), 401)
    assert.deepInclude(asked, ["Bearer bob", null, "h"])
  })

  it("may be looked up by a promise or an effect; a fault in it is a fault of the server", async () => {
    const answers = [
      () => Promise.resolve("bob"),
      () => Effect.succeed("bob"),
      () => Promise.reject(new Error("secret"))
    ]
    await using service = await open([], { http: { authenticate: () => answers.shift()?.() ?? null }, extra: silent })
    const call = () => service.call("GET", "/threads", undefined, { key: null })
    assert.deepStrictEqual([(await call()).status, (await call()).status], [200, 200])
    const answer = await call()
    assert.deepStrictEqual([answer.status, answer.body], [500, { detail: "Internal Server Error" }])
  })
})

describe("the quota of requests", () => {
  it("is kept for each principal, and says when to come back", async () => {
    await using service = await open([], { quota: { requestsPerMinute: 3 }, extra: TestClock.layer() })
    const statuses = async (key: string, count: number) => {
      const found: Array<number> = []
      for (let index = 0; index < count; index++)
        found.push((await service.call("GET", "/threads", undefined, { key })).status)
      return found
    }
    assert.deepStrictEqual(await statuses(keys.ada, 4), [200, 200, 200, 429])
    assert.deepStrictEqual(await statuses(keys.bob, 1), [200])
    const refused = await service.call("GET", "/threads")
    assert.strictEqual(refused.headers.get("retry-after"), "60")
    assert.match(refused.body.detail, /limit of 3 requests a minute is reached: 0 left\. There is room again at /u)
    await service.run(TestClock.adjust("60 seconds"))
    assert.deepStrictEqual(await statuses(keys.ada, 4), [200, 200, 200, 429])
  })
})

describe("limits", () => {
  const limits = { text: 100, body: 1000, file: 2000, upload: 5000, parts: 5 }

  it("of bodies, text, files and parts are answered with 413", async () => {
    await using service = await open([say("Fits.")], { http: { limits } })
    const form = (fields: Record<string, string | Blob>) => {
      const data = new FormData()
      data.append("content", "Look")
      for (const [name, value] of Object.entries(fields)) data.append(name, value)
      return data
    }
    const file = (size: number) => new File(["x".repeat(size)], "a.txt")
    const cases: ReadonlyArray<readonly [number, unknown]> = [
      [200, { content: "x".repeat(100) }],
      [413, { content: "x".repeat(101) }],
      [413, { content: "é".repeat(51) }],
      [413, { content: "x", system_prompt: "x".repeat(1000) }],
      [413, new URLSearchParams({ content: "x", system_prompt: "x".repeat(1000) })],
      [413, form({ content: "x".repeat(101) })],
      [413, form({ system_prompt: "x".repeat(1001) })],
      [422, form({ files: file(2000) })],
      [413, form({ files: file(2001) })],
      [413, form(Object.fromEntries(["a", "b", "c"].map((name) => [name, file(1900)])))],
      [413, form(Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((name) => [name, "x"])))]
    ]
    for (const [status, body] of cases) {
      const answer = await service.call("POST", send, body)
      assert.strictEqual(answer.status, status, answer.text)
      if (status === 413) assert.isString(answer.body.detail)
    }
  })

  it("stop reading at once", async () => {
    await using service = await open([], { http: { limits } })
    for (const type of [
      "application/json",
      "multipart/form-data; boundary=b",
      "application/x-www-form-urlencoded",
      "text/plain"
    ]) {
      let pieces = 0
      const endless = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          pieces++
          const head =
            type.startsWith("multipart") && pieces === 1
              ? '--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
              : ""
          controller.enqueue(new TextEncoder().encode(head + "x".repeat(500)))
        }
      })
      assert.strictEqual((await service.call("POST", send, endless, { headers: { "content-type": type } })).status, 413)
      assert.isBelow(pieces, 20)
    }
  })

  it("of content types are answered with 415", async () => {
    await using service = await open([])
    const cases = [
      [send, "text/plain", 415],
      [send, "application/xml", 415],
      ["/assistants", "multipart/form-data; boundary=b", 415],
      ["/assistants", "application/x-www-form-urlencoded", 415]
    ] as const
    for (const [path, type, status] of cases) {
      const answer = await service.call("POST", path, "name=x", { headers: { "content-type": type } })
      assert.deepStrictEqual([answer.status, typeof answer.body.detail], [status, "string"])
    }
  })
})

describe("repeats", () => {
  it("get the first one's result, in whatever encoding, and join its stream", async () => {
    await using service = await open([[say("One."), gate(), say(" Two.")]])
    const headers = { "idempotency-key": "k1" }
    const body = { content: "Hello", metadata: '{"a":1}', stream: true }
    const first = await service.fetch("POST", send, body, { headers })
    await service.run(service.model.reached())
    const second = await service.fetch(
      "POST",
      send,
      { stream: true, metadata: '{"a":1}', content: "Hello", memory: null },
      { headers }
    )
    const third = await service.fetch("POST", send, new URLSearchParams({ ...body, stream: "true" }), { headers })
    await service.run(service.model.release())
    const [one, two, three] = [await allEvents(first), await allEvents(second), await allEvents(third)]
    assert.deepStrictEqual(two, one)
    assert.deepStrictEqual(three, one)
    assert.lengthOf((await service.call("GET", "/threads")).body, 1)
  })

  it("of another body are a conflict", async () => {
    await using service = await open([say("One.")])
    const headers = { "idempotency-key": "k1" }
    const first = await service.call("POST", send, hello, { headers })
    const again = await service.call("POST", send, hello, { headers })
    assert.deepStrictEqual([again.status, again.body.run_id, again.body.content], [200, first.body.run_id, "One."])
    assert.strictEqual((await service.call("POST", send, { content: "Else" }, { headers })).status, 409)
    const elsewhere = `/threads/${first.body.thread_id}/messages`
    assert.strictEqual((await service.call("POST", elsewhere, hello, { headers })).status, 409)
  })

  it("of tool outputs go on once", async () => {
    await using service = await open([callTool("weather"), say("Sunny.")])
    const { body } = await service.call("POST", send, { content: "?", tools: [tool("weather")] })
    const outputs = { tool_outputs: [{ tool_call_id: body.tool_calls[0].id, output: "sun" }] }
    const path = `/threads/${body.thread_id}/runs/${body.run_id}/submit-tool-outputs`
    const headers = { "idempotency-key": "k2" }
    const first = await service.call("POST", path, outputs, { headers })
    const again = await service.call("POST", path, outputs, { headers })
    assert.deepStrictEqual([first.status, again.status, again.body.content], [200, 200, "Sunny."])
    assert.strictEqual((await service.call("POST", path, outputs)).status, 422)
  })
})

describe("the kernel's refusals", () => {
  it("of outputs that no window takes name the outputs, and leave the run open", async () => {
    await using service = await open([callTool("weather"), say("Sunny.")], {
      settings: { assumedContextLimit: 8000 }
    })
    const { body } = await service.call("POST", send, { content: "?", tools: [tool("weather")] })
    const run = `/threads/${body.thread_id}/runs/${body.run_id}`
    const submit = (output: string) =>
      service.call("POST", `${run}/submit-tool-outputs`, {
        tool_outputs: [{ tool_call_id: body.tool_calls[0].id, output }]
      })
    const refused = await submit("word ".repeat(20_000))
    assert.strictEqual(refused.status, 422)
    assert.deepInclude(refused.body.detail[0], { loc: ["body", "tool_outputs"], type: "context_too_long" })
    assert.strictEqual((await service.call("GET", run)).body.status, "REQUIRES_ACTION")
    assert.strictEqual((await submit("sun")).body.content, "Sunny.")
  })

  it("have the statuses of the table", async () => {
    await using poor = await open([], {
      metering: { ensureCredit: () => Effect.fail(new InsufficientCredit()), record: () => Effect.void }
    })
    assert.strictEqual((await poor.call("POST", send, hello)).status, 402)

    await using busy = await open([[gate(), say("1")]], { settings: { busy: "reject" } })
    const first = busy.call("POST", send, hello)
    await busy.run(busy.model.reached())
    const [thread] = (await busy.call("GET", "/threads")).body
    const answer = await busy.call("POST", `/threads/${thread.thread_id}/messages`, hello)
    assert.deepStrictEqual([answer.status, answer.body.run_id], [409, thread.messages[0].run_id])
    await busy.run(busy.model.release())
    assert.strictEqual((await first).status, 200)

    await using small = await open([], { model: { info: { contextLimit: 50 } } })
    const long = await small.call("POST", send, { content: "word ".repeat(200) })
    assert.deepStrictEqual([long.status, long.body.detail[0].loc], [422, ["body", "content"]])
  })

  it("of a store that is away are 503", async () => {
    const away = Effect.fail(new StoreUnavailable({ operation: "a test" }))
    const stores = Layer.mergeAll(
      InMemory.layer,
      Layer.mock(AssistantStore)({ list: () => away }),
      Layer.mock(ThreadStore)({ list: () => away })
    )
    await using service = await open([], { stores })
    for (const path of ["/assistants", "/threads"]) {
      const answer = await service.call("GET", path)
      assert.deepStrictEqual([answer.status, Object.keys(answer.body)], [503, ["detail"]])
    }
  })
})

const silent = Logger.layer([])

describe("faults", () => {
  it("tell the client nothing and the log everything", async () => {
    const logged: Array<string> = []
    const log = Logger.layer([Logger.make(({ message }) => logged.push(String(message)))])
    const stores = Layer.mergeAll(
      InMemory.layer,
      Layer.mock(ThreadStore)({ list: () => Effect.die(new Error("password")) })
    )
    await using service = await open([], { stores, extra: log })
    const answer = await service.call("GET", "/threads", undefined, { headers: { "x-request-id": "req-1" } })
    assert.deepStrictEqual([answer.status, answer.text], [500, '{"detail":"Internal Server Error"}'])
    assert.strictEqual(answer.headers.get("x-request-id"), "req-1")
    assert.isTrue(logged.some((line) => line.includes("req-1")))
    const given = (await service.call("GET", "/threads")).headers.get("x-request-id") ?? assert.fail("no id")
    assert.isTrue(logged.some((line) => line.includes(given)))
  })
})

describe("every answer", () => {
  it("has an id: the caller's when it is plain, else a new one", async () => {
    await using service = await open([])
    const requestId = async (headers: Record<string, string>, path = "/threads", key: string | null = keys.ada) =>
      (await service.call("GET", path, undefined, { headers, key })).headers.get("x-request-id")
    assert.strictEqual(await requestId({ "x-request-id": "abc-1.2:3_4" }), "abc-1.2:3_4")
    for (const id of ["", "a b", "x".repeat(129), '{"a":1}'])
      assert.match((await requestId({ "x-request-id": id })) ?? "", /^[\w-]{36}$/)
    assert.isString(await requestId({}, "/nothing"))
    assert.isString(await requestId({}, "/threads", null))
  })

  it("is for its own origin alone unless the host wants otherwise", async () => {
    const origin = "https://app.example"
    const headers = { origin, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key" }
    await using closed = await open([])
    assert.isNull(
      (await closed.call("GET", "/threads", undefined, { headers })).headers.get("access-control-allow-origin")
    )
    assert.strictEqual((await closed.call("OPTIONS", "/threads", undefined, { headers, key: null })).status, 405)

    await using service = await open([say("Hi.")], {
      http: { cors: { allowedOrigins: [origin], credentials: true, maxAge: 60 } }
    })
    const preflight = await service.call("OPTIONS", send, undefined, { headers, key: null })
    assert.strictEqual(preflight.status, 204)
    assert.strictEqual(preflight.headers.get("access-control-allow-origin"), origin)
    assert.strictEqual(preflight.headers.get("access-control-allow-headers"), "x-api-key")
    const streamed = await service.call("POST", send, { content: "Hi", stream: true }, { headers })
    assert.strictEqual(streamed.headers.get("access-control-allow-origin"), origin)
    const refused = await service.call("GET", "/threads", undefined, { headers, key: null })
    assert.deepStrictEqual([refused.status, refused.headers.get("access-control-allow-origin")], [401, origin])
    const exposed = refused.headers.get("access-control-expose-headers")?.split(/, ?/u) ?? []
    assert.includeMembers(exposed, ["X-Request-Id", "X-Should-Retry", "X-Ignored-Options", "Content-Range"])
  })
})

describe("shutting down", () => {
  it("lets running turns settle and says 503 to new ones", async () => {
    await using service = await open([[say("One, "), gate(), say("two.")]])
    const running = await service.fetch("POST", send, { content: "Count", stream: true })
    await service.run(service.model.reached())
    const drained = service.drain()
    const refused = await service.call("POST", send, hello)
    assert.deepStrictEqual([refused.status, Object.keys(refused.body)], [503, ["detail"]])
    assert.strictEqual((await service.call("GET", "/threads")).status, 200)
    await service.run(service.model.release())
    await drained
    const events = await allEvents(running)
    assert.deepStrictEqual([events.at(-1)?.data.type, events.at(-1)?.data.content], ["run_ended", "One, two."])
  })
})
