/** The limits of an owner, at the server as operators start it. */
import { assert, describe, it } from "@effect/vitest"
import { serverKey, startDemo } from "./TestServer.ts"

const open = async (limits: object | "off" | undefined) => {
  const text = limits === "off" ? limits : JSON.stringify(limits)
  const server = await startDemo({ LIMITS: text })
  /** A list of texts is sent as JSON lines. */
  const send = async (method: string, path: string, body?: object | FormData | ReadonlyArray<string>) => {
    const isForm = body instanceof FormData
    const type = isForm ? {} : { "content-type": Array.isArray(body) ? "application/x-ndjson" : "application/json" }
    const response = await fetch(`${server.url}/api${path}`, {
      method,
      headers: { "x-api-key": serverKey(server), ...type },
      ...(body === undefined
        ? {}
        : { body: isForm ? body : Array.isArray(body) ? body.join("\n") : JSON.stringify(body) })
    })
    // oxlint-disable-next-line typescript/no-explicit-any -- read field by field
    const found: any = await response.json()
    return { status: response.status, retryAfter: response.headers.get("retry-after"), body: found }
  }
  return { send, [Symbol.asyncDispose]: () => server.stop() }
}

const limitsIn = (usage: Readonly<Record<string, { readonly limit: number | null }>>) =>
  Object.values(usage).map(({ limit }) => limit)

const fileForm = (text: string) => {
  const form = new FormData()
  form.append("file", new Blob([text], { type: "text/plain" }), "a.txt")
  return form
}

describe("the limits of an owner", () => {
  it("are on by default, and GET /owners/me/usage shows them", async () => {
    await using server = await open(undefined)
    assert.strictEqual((await server.send("POST", "/threads/messages", { content: "Hello" })).status, 200)
    const { body } = await server.send("GET", "/owners/me/usage")
    assert.deepStrictEqual(Object.keys(body), [
      "requests",
      "turns",
      "input_tokens",
      "output_tokens",
      "cost_usd",
      "bytes",
      "documents",
      "memories",
      "sessions"
    ])
    const limits = limitsIn(body)
    assert.deepStrictEqual(limits, [600, 60, null, null, null, 5e9, 10_000, 100_000, 8])
    assert.deepStrictEqual([body.requests.used, body.turns.used], [2, 1])
    assert.isAbove(body.input_tokens.used, 0)
    for (const { resets_at: at } of [body.requests, body.turns, body.cost_usd])
      assert.isFalse(Number.isNaN(Date.parse(at)))
    assert.deepStrictEqual(body.documents, { used: 0, limit: 10_000, resets_at: null })
  })

  it("are none with LIMITS=off", async () => {
    await using server = await open("off")
    await server.send("POST", "/threads/messages", { content: "Hello" })
    const { body } = await server.send("GET", "/owners/me/usage")
    const limits = limitsIn(body)
    assert.deepStrictEqual(new Set(limits), new Set([null]))
  })

  it("refuse turns with 429 and a time, and dollars with 402", async () => {
    await using server = await open({ turns_per_minute: 2 })
    const say = () => server.send("POST", "/threads/messages", { content: "Hello" })
    assert.deepStrictEqual([(await say()).status, (await say()).status], [200, 200])
    const refused = await say()
    assert.strictEqual(refused.status, 429)
    assert.match(refused.body.detail, /limit of 2 turns a minute is reached: 0 left/u)
    assert.isAbove(Number(refused.retryAfter), 0)
    assert.isAtMost(Number(refused.retryAfter), 60)
    await using poor = await open({ usd_per_day: 0 })
    const unpaid = await poor.send("POST", "/threads/messages", { content: "Hello" })
    assert.strictEqual(unpaid.status, 402)
    assert.match(unpaid.body.detail, /US dollars a day/u)
    assert.isAbove(Number(unpaid.retryAfter), 0)
    const streamed = await poor.send("POST", "/threads/messages", { content: "Hello", stream: true })
    assert.strictEqual(streamed.status, 402)
  })

  it("hold for the tokens of a day", async () => {
    await using server = await open({ tokens_per_day: 400 })
    const statuses: Array<number> = []
    for (let turn = 0; turn < 12; turn++)
      statuses.push((await server.send("POST", "/threads/messages", { content: "Hello ".repeat(20) })).status)
    assert.strictEqual(statuses[0], 200)
    assert.strictEqual(statuses.at(-1), 429)
    const { body } = await server.send("GET", "/owners/me/usage")
    assert.strictEqual(body.input_tokens.limit, 400)
    assert.isAtMost(body.input_tokens.used + body.output_tokens.used, 500)
  })

  it("hold for documents, bytes and memories, also of clones and imports", async () => {
    await using server = await open({ documents: 2, bytes: 100, memories: 2 })
    const { body: assistant } = await server.send("POST", "/assistants", { name: "A" })
    const at = `/assistants/${assistant.assistant_id}`
    assert.strictEqual((await server.send("POST", `${at}/documents`, fileForm("one"))).status, 200)
    const large = await server.send("POST", `${at}/documents`, fileForm("x".repeat(98)))
    assert.strictEqual(large.status, 429)
    assert.match(large.body.detail, /limit of 100 bytes of documents is reached: 97 left\. Delete some/u)
    assert.strictEqual((await server.send("POST", `${at}/documents`, fileForm("two"))).status, 200)
    const third = await server.send("POST", `${at}/documents`, fileForm("three"))
    assert.strictEqual(third.status, 429)
    assert.isNotNull(third.retryAfter)
    const cloned = await server.send("POST", `${at}/clone`, {})
    assert.strictEqual(cloned.status, 429)
    assert.strictEqual((await server.send("GET", "/assistants")).body.length, 1)

    assert.strictEqual((await server.send("POST", `${at}/memories`, { content: "Likes tea" })).status, 201)
    const lines = await server.send("POST", `${at}/memories/import`, [
      '{"content": "Likes milk"}',
      '{"content": "Likes honey"}'
    ])
    assert.strictEqual(lines.status, 429)
    const { body } = await server.send("GET", "/owners/me/usage")
    assert.deepStrictEqual([body.memories.used, body.documents.used, body.bytes.used], [1, 2, 6])
    assert.strictEqual((await server.send("POST", `${at}/memories`, { content: "Likes milk" })).status, 201)
    assert.strictEqual((await server.send("POST", `${at}/memories`, { content: "Likes honey" })).status, 429)
  })
})
