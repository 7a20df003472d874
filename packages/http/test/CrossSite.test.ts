/** What a browser does by itself: it sends the session of its user for pages of other sites, and keeps answers for later. */
import { assert, describe, it } from "@effect/vitest"
import { say } from "@colloquy/testing"
import { InMemory } from "@colloquy/adapters/in-memory"
import { chatRoute } from "../src/ai-sdk/index.ts"
import { openai } from "../src/openai/index.ts"
import type { RoutesOptions } from "../src/index.ts"
import { openWithDocuments } from "./DocumentService.ts"
import { keys, open } from "./Service.ts"

const cookie = "session=ada"
const session: RoutesOptions<never> = {
  authenticate: ({ headers }) => (headers["cookie"] === cookie ? "ada" : null)
}
const evil = { origin: "https://evil.example", "sec-fetch-site": "cross-site" }
const page = { origin: "http://localhost", "sec-fetch-site": "same-origin" }

describe("a session of the host", () => {
  it("cannot be used by the page of another site to change anything", async () => {
    await using service = await open([], { http: session })
    const status = async (method: string, path: string, headers: Record<string, string>, key: string | null = null) =>
      (await service.call(method, path, method === "GET" ? undefined : { name: "a" }, { key, headers })).status
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "kept" })).body
    const changes = [
      ["POST", "/assistants"],
      ["PUT", `/assistants/${assistant_id}`],
      ["DELETE", `/assistants/${assistant_id}`]
    ] as const
    for (const [method, path] of changes) {
      assert.strictEqual(await status(method, path, { cookie, ...evil }), 403, method)
      assert.strictEqual(await status(method, path, { cookie, origin: evil.origin }), 403, method)
      assert.strictEqual(await status(method, path, { cookie, "sec-fetch-site": "cross-site" }), 403, method)
      // Nobody is told apart from a stranger.
      assert.strictEqual(await status(method, path, { cookie: "session=eve", ...evil }), 401, method)
    }
    assert.lengthOf((await service.call("GET", "/assistants")).body, 1)
    assert.strictEqual(await status("GET", "/assistants", { cookie, ...evil }), 200)
    assert.strictEqual(await status("POST", "/assistants", { cookie, ...page }), 200)
    assert.strictEqual(await status("POST", "/assistants", { cookie }), 200)
    assert.strictEqual(await status("POST", "/assistants", { cookie, ...evil }, keys.ada), 200)
    const refused = await service.call(
      "POST",
      "/assistants",
      { name: "a" },
      { key: null, headers: { cookie, ...evil } }
    )
    assert.match(refused.body.detail, /cors/u)
  })

  it("can be used by the pages that `cors` names, and by those of the public address", async () => {
    const friend = "https://friend.example"
    const http = { ...session, cors: { allowedOrigins: [friend] }, publicUrl: "https://ai.example" }
    await using service = await open([], { http })
    const status = async (origin: string, site = "cross-site") => {
      const headers = { cookie, origin, "sec-fetch-site": site }
      return (await service.call("POST", "/assistants", { name: "a" }, { key: null, headers })).status
    }
    assert.deepStrictEqual([await status(friend), await status(evil.origin)], [200, 403])
    assert.deepStrictEqual(
      [await status("https://ai.example", "same-site"), await status(friend, "same-site")],
      [200, 200]
    )
    assert.strictEqual(await status("https://blog.ai.example", "same-site"), 403)
  })

  it("is protected in OpenAI's form and behind a chat route too", async () => {
    await using service = await open([say("Hello.")], { http: { ...session, wings: [openai] } })
    const body = { model: "scripted-model", messages: [{ role: "user", content: "Hi" }] }
    const refused = await service.call("POST", "/v1/chat/completions", body, {
      key: null,
      headers: { cookie, ...evil }
    })
    assert.deepStrictEqual([refused.status, refused.body.error.type], [403, "permission_error"])
    const route = chatRoute({ handler: service.handler })
    const chat = JSON.stringify({
      id: "c",
      messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }]
    })
    const ask = async (headers: Record<string, string>) =>
      (await route(new Request("http://localhost/chat", { method: "POST", headers, body: chat }))).text()
    assert.include(await ask({ cookie, ...evil, "content-type": "text/plain" }), "another site")
    assert.include(await ask({ cookie, ...page, "content-type": "application/json" }), "Hello.")
  })

  it("takes no body without a content type from a browser, whoever it is", async () => {
    await using service = await open([], { http: session })
    const send = async (headers: Record<string, string>, body: string | null) => {
      const bytes = body === null ? null : new Blob([body])
      const request = new Request("http://localhost/assistants", { method: "POST", headers, body: bytes })
      return (await service.handler(request)).status
    }
    const json = '{"name":"a"}'
    assert.strictEqual(await send({ cookie, ...page }, json), 415)
    assert.strictEqual(await send({ "x-api-key": keys.ada, origin: evil.origin }, json), 415)
    assert.strictEqual(await send({ cookie, ...page, "content-type": "text/plain" }, json), 415)
    assert.strictEqual(await send({ cookie, ...page, "content-type": "application/json" }, json), 200)
    assert.strictEqual(await send({ "x-api-key": keys.ada }, json), 200)
    assert.strictEqual(await send({ cookie, ...page }, null), 422)
  })
})

describe("answers with the data of an owner", () => {
  const own = "private, no-store"

  it("are kept by nobody on their way, and belong to who asked", async () => {
    await using service = await open([say("Hello.")], { http: { ...session, basePath: "/ai" } })
    const cacheControl = async (method: string, path: string, body?: unknown) => {
      const { headers } = await service.call(method, `/ai${path}`, body)
      const vary = (headers.get("vary") ?? "").toLowerCase().split(", ")
      assert.includeMembers(vary, ["x-api-key", "authorization", "cookie"], path)
      return headers.get("cache-control")
    }
    const { assistant_id } = (await service.call("POST", "/ai/assistants", { name: "a" })).body
    for (const path of [`/assistants/${assistant_id}`, "/assistants", "/threads", "/models", "/billing/usage/recent"]) {
      assert.strictEqual(await cacheControl("GET", path), own, path)
      assert.strictEqual(await cacheControl("HEAD", path), own, path)
    }
    assert.strictEqual(await cacheControl("GET", "/threads/none"), own)
    assert.strictEqual(await cacheControl("POST", "/assistants", {}), own)
    assert.strictEqual(await cacheControl("GET", "/nothing"), own)
    assert.strictEqual(
      await cacheControl("POST", "/threads/messages", { content: "Hi", stream: true }),
      "no-cache, no-transform"
    )
    const description = await service.call("GET", "/ai/openapi.json", undefined, { key: null })
    assert.strictEqual(description.headers.get("cache-control"), "no-cache")
  })

  it("say so of the bytes of a document too, but not under a signed address", async () => {
    await using service = await openWithDocuments(InMemory.layer)
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "a" })).body
    const form = new FormData()
    form.append("file", new Blob(["Tea is a drink."]), "tea.txt")
    const { document_id } = (await service.call("POST", `/assistants/${assistant_id}/documents`, form)).body
    const content = `/documents/${document_id}/content`
    const { url } = (await service.call("POST", `/documents/${document_id}/url`)).body
    const rule = async (path: string, key: string | null, headers: Record<string, string> = {}) => {
      const answer = await service.call("GET", path, undefined, { key, headers })
      return [answer.status, answer.headers.get("cache-control")]
    }
    assert.deepStrictEqual(await rule(content, keys.ada), [200, own])
    assert.deepStrictEqual(await rule(content, keys.ada, { range: "bytes=0-2" }), [206, own])
    assert.deepStrictEqual(await rule(url, null), [200, "private, no-cache"])
    assert.deepStrictEqual(await rule(`${url}x`, null), [401, own])
    assert.deepStrictEqual(await rule(url, null, { range: "bytes=0-2" }), [206, "private, no-cache"])
  })

  it("keep what CORS says about the Origin", async () => {
    const http = { cors: { allowedOrigins: ["https://a.example", "https://b.example"] } }
    await using service = await open([], { http })
    const { headers } = await service.call("GET", "/threads", undefined, { headers: { origin: "https://a.example" } })
    assert.match(headers.get("vary") ?? "", /^X-API-Key, .*, Origin$/u)
  })
})
