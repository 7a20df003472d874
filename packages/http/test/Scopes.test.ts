/** What a key may do: each endpoint names the scope that it needs, and a key without it gets 403. */
import { Keys, type KeyScope } from "@colloquy/core"
import { say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { Api, NeedsScope, type RoutesOptions } from "../src/index.ts"
import { openai } from "../src/openai/index.ts"
import { keys, open, type Service } from "./Service.ts"

const keyWith = async (service: Service, scope: KeyScope, expiresAt: Date | null = null) =>
  Redacted.value((await service.run(Keys.use(({ make }) => make(scope, { scope, expiresAt })))).key)

interface Endpoint {
  readonly method: string
  readonly path: string
  readonly scope: KeyScope | null
}

const endpoints: ReadonlyArray<Endpoint> = (() => {
  const found: Array<Endpoint> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) =>
      found.push({
        method: endpoint.method,
        path: endpoint.path,
        scope: Context.get(endpoint.annotations, NeedsScope)
      })
  })
  return found
})()

describe("every endpoint", () => {
  it("names the scope that it needs, and none that changes something is for readers", () => {
    assert.isAbove(endpoints.length, 50)
    assert.deepStrictEqual(
      endpoints.filter(({ scope }) => scope === null),
      []
    )
    const changing = endpoints.filter(({ method, scope }) => method !== "GET" && scope === "read")
    assert.deepStrictEqual(changing.map(({ path }) => path).toSorted(), [
      "/assistants/:assistant_id/documents/search",
      "/assistants/:assistant_id/memories/search",
      "/documents/:document_id/url",
      "/threads/:thread_id/documents/search"
    ])
  })

  it("refuses a key without its scope before anything else, and takes one with it", async () => {
    await using service = await open([])
    const given = { read: await keyWith(service, "read"), write: await keyWith(service, "write") }
    const id = "00000000-0000-4000-8000-000000000000"
    for (const { method, path, scope } of endpoints) {
      const status = async (key: string) => {
        const body = method === "POST" ? {} : undefined
        const answer = await service.fetch(method, path.replaceAll(/:\w+/gu, id), body, { key })
        await answer.body?.cancel()
        return answer.status
      }
      const isRefused = { read: scope !== "read", write: scope === "admin" }
      assert.strictEqual((await status(given.read)) === 403, isRefused.read, `${method} ${path}`)
      assert.strictEqual((await status(given.write)) === 403, isRefused.write, `${method} ${path}`)
    }
  })
})

describe("the keys of an owner", () => {
  it("are listed newest first, in pages, without secrets, for their owner alone", async () => {
    await using service = await open([])
    const writer = await keyWith(service, "write", new Date("2200-01-01T00:00:00Z"))
    const list = async (query = "", key: string = keys.ada) =>
      (await service.call("GET", `/owners/me/keys${query}`, undefined, { key })).body
    const { keys: found, next_cursor } = await list()
    assert.isNull(next_cursor)
    const [made, registered] = found
    assert.deepInclude(made, {
      name: "write",
      scope: "write",
      current: false,
      expires_at: "2200-01-01T00:00:00.000Z",
      revoked_at: null
    })
    assert.deepInclude(registered, { name: "ada", scope: "admin", current: true, expires_at: null })
    const fields = ["key_id", "name", "scope", "current", "created_at", "expires_at", "revoked_at"]
    for (const each of found) assert.sameMembers(Object.keys(each), fields)
    assert.notInclude(JSON.stringify(found), writer)
    const first = await list("?limit=1")
    assert.deepStrictEqual(first, { keys: [made], next_cursor: made.key_id })
    assert.deepStrictEqual(await list(`?limit=1&cursor=${made.key_id}`), { keys: [registered], next_cursor: null })
    assert.deepStrictEqual(await list(`?cursor=${registered.key_id}`), { keys: [], next_cursor: null })
    assert.deepStrictEqual((await list("", keys.bob)).keys.length, 1)
    assert.deepStrictEqual((await list(`?cursor=${made.key_id}`, keys.bob)).keys, [])
    assert.strictEqual((await service.call("GET", "/owners/me/keys?limit=0")).status, 422)
  })

  it("are revoked by their owner alone, and open nothing any more", async () => {
    await using service = await open([], { http: { keyCacheTime: 0 } })
    const reader = await keyWith(service, "read")
    const { key_id } = (await service.call("GET", "/owners/me/keys")).body.keys[0]
    const path = `/owners/me/keys/${key_id}`
    const status = async (key: string) => (await service.call("DELETE", path, undefined, { key })).status
    assert.deepStrictEqual([await status(keys.bob), await status(reader)], [404, 403])
    assert.strictEqual((await service.call("GET", "/threads", undefined, { key: reader })).status, 200)
    const revoked = await service.call("DELETE", path)
    assert.deepInclude(revoked.body, { key_id })
    assert.strictEqual((await service.call("GET", "/threads", undefined, { key: reader })).status, 401)
    const [listed] = (await service.call("GET", "/owners/me/keys")).body.keys
    assert.strictEqual(listed.revoked_at, revoked.body.revoked_at)
    assert.deepStrictEqual((await service.call("DELETE", path)).body, revoked.body)
    const unknown = "/owners/me/keys/00000000-0000-4000-8000-000000000000"
    assert.strictEqual((await service.call("DELETE", unknown)).status, 404)
    assert.strictEqual((await service.call("DELETE", "/owners/me/keys/none")).status, 422)
  })
})

describe("a key", () => {
  it("for reading reads and changes nothing, and the refusal names the scope", async () => {
    await using service = await open([say("Hi.")], { http: { wings: [openai] } })
    const key = await keyWith(service, "read")
    assert.strictEqual((await service.call("GET", "/threads", undefined, { key })).status, 200)
    const refused = await service.call("POST", "/assistants", { name: "a" }, { key })
    assert.deepStrictEqual(
      [refused.status, refused.body],
      [403, { detail: "This needs the scope write, and the key has the scope read." }]
    )
    assert.lengthOf((await service.call("GET", "/assistants")).body, 0)
    const body = { model: "scripted/scripted-model", messages: [{ role: "user", content: "Hi" }] }
    const chat = await service.call("POST", "/v1/chat/completions", body, { key })
    assert.deepStrictEqual([chat.status, chat.body.error.type], [403, "permission_error"])
    assert.strictEqual((await service.call("GET", "/v1/models", undefined, { key })).status, 200)
    const writer = await keyWith(service, "write")
    assert.strictEqual((await service.call("POST", "/v1/chat/completions", body, { key: writer })).status, 200)
  })

  it("that has expired is refused like one that never was", async () => {
    await using service = await open([], { extra: TestClock.layer(), http: { keyCacheTime: 0 } })
    const key = await keyWith(service, "admin", new Date(60_000))
    const answer = () => service.call("GET", "/threads", undefined, { key })
    assert.strictEqual((await answer()).status, 200)
    await service.run(TestClock.adjust("59 seconds"))
    assert.strictEqual((await answer()).status, 200)
    await service.run(TestClock.adjust("1 second"))
    const { body, status } = await answer()
    assert.deepStrictEqual([status, body], [401, { detail: "Invalid or missing API key" }])
    assert.strictEqual((await service.call("GET", "/threads", undefined, { key: keys.ada })).status, 200)
  })
})

describe("a session of the host", () => {
  it("may have a scope too", async () => {
    const http: RoutesOptions<never> = {
      authenticate: ({ sessionToken }) => (sessionToken === "guest" ? { owner: "ada", scope: "read" } : sessionToken)
    }
    await using service = await open([], { http })
    const status = async (session: string, method: string) => {
      const call = { key: null, headers: { "x-session-token": session } }
      return (await service.call(method, "/assistants", method === "GET" ? undefined : { name: "a" }, call)).status
    }
    assert.deepStrictEqual([await status("guest", "GET"), await status("guest", "POST")], [200, 403])
    assert.deepStrictEqual([await status("ada", "GET"), await status("ada", "POST")], [200, 200])
  })
})
