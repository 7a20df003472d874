/** The versions of an assistant over HTTP: made by changes, read, restored, and asked for by messages and threads. On every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { say } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import { keys, open } from "./Service.ts"

const versionLine = ({ by, changes, version }: { by: string; changes: ReadonlyArray<string>; version: number }) => [
  version,
  by,
  changes.join()
]

export const assistantVersions = (stores: () => Layer.Layer<InMemory.Stores>): void => {
  it("every change of an assistant is a version that can be read, compared and restored, and nobody overwrites another", async () => {
    await using service = await open([], { stores: stores() })
    const texts = { system_prompt: "One.", description: "One." }
    const first = (await service.call("POST", "/assistants", { name: "Guide", ...texts })).body
    const path = `/assistants/${first.assistant_id}`
    const put = (body: object, ifMatch?: string) =>
      service.call("PUT", path, body, ifMatch === undefined ? {} : { headers: { "if-match": ifMatch } })
    assert.strictEqual(first.version, 1)
    const unchanged = await put({ name: "Guide", system_prompt: "One.", tools: null })
    assert.deepStrictEqual([unchanged.body, unchanged.headers.get("etag")], [first, `"1"`])

    const second = await put({ system_prompt: "Two.", tok_k: 3, metadata: { a: 1 } }, `"7", "1"`)
    assert.deepStrictEqual([second.status, second.body.version, second.headers.get("etag")], [200, 2, `"2"`])
    for (const stale of [`"1"`, `W/"2"`, "2", "x", ""]) {
      const refused = await put({ name: "Lost" }, stale)
      assert.deepStrictEqual([refused.status, refused.body.detail.includes("version is 2")], [412, true], stale)
    }
    assert.strictEqual((await put({ name: "Lost", tok_k: 0 }, `"1"`)).status, 422)
    const both = await Promise.all([put({ name: "A" }, `"2"`), put({ name: "B" }, `"2"`)])
    assert.sameMembers(
      both.map(({ status }) => status),
      [200, 412]
    )
    assert.strictEqual((await put({ description: "D" }, "*")).body.version, 4)

    const { body: listed } = await service.call("GET", `${path}/versions`)
    assert.deepStrictEqual(listed.versions.map(versionLine), [
      [4, "ada", "description,system_prompt"],
      [3, "ada", "name"],
      [2, "ada", "description,system_prompt,tok_k,metadata"],
      [1, "ada", ""]
    ])
    const page = (await service.call("GET", `${path}/versions?limit=3`)).body
    assert.strictEqual(page.next_cursor, "2")
    const rest = (await service.call("GET", `${path}/versions?limit=3&cursor=${page.next_cursor}`)).body
    assert.deepStrictEqual([[...page.versions, ...rest.versions], rest.next_cursor], [listed.versions, null])
    const { body: read } = await service.call("GET", `${path}/versions/1`)
    assert.deepStrictEqual(read, { ...listed.versions[3], assistant: first })

    const restored = await service.call("POST", `${path}/versions/1/restore`)
    assert.deepStrictEqual([restored.status, restored.body.version, restored.headers.get("etag")], [200, 5, `"5"`])
    assert.deepStrictEqual(restored.body, { ...first, version: 5, updated_at: restored.body.updated_at })
    assert.strictEqual((await service.call("POST", `${path}/versions/1/restore`)).body.version, 5)
    const stale = { headers: { "if-match": `"4"` } }
    assert.strictEqual((await service.call("POST", `${path}/versions/2/restore`, undefined, stale)).status, 412)

    const restore = (version: number, key: string, headers: Record<string, string> = {}) =>
      service.call("POST", `${path}/versions/${version}/restore`, undefined, {
        headers: { "idempotency-key": key, ...headers }
      })
    const ifFive = { "if-match": `"5"` }
    const once = await restore(2, "restore", ifFive)
    assert.deepStrictEqual([once.status, once.body.version], [200, 6])
    const nothing = await restore(2, "nothing")
    assert.strictEqual(nothing.body.version, 6)
    assert.strictEqual((await put({ name: "Later" })).body.version, 7)
    for (const [key, headers] of [
      ["restore", ifFive],
      ["nothing", {}]
    ] as const) {
      const again = await restore(2, key, headers)
      assert.deepStrictEqual([again.status, again.text, again.headers.get("etag")], [200, once.text, `"6"`])
    }
    assert.strictEqual((await restore(3, "restore", ifFive)).status, 409)
    const many = await Promise.all(Array.from({ length: 5 }, () => restore(1, "at once")))
    assert.deepStrictEqual(
      many.map(({ body }) => body.version),
      [8, 8, 8, 8, 8]
    )

    const copy = (await service.call("POST", `${path}/clone`)).body.assistant
    assert.strictEqual((await service.call("DELETE", path)).status, 200)
    assert.strictEqual((await restore(2, "restore", ifFive)).text, once.text)
    const ofCopy = (await service.call("GET", `/assistants/${copy.assistant_id}/versions`)).body.versions
    assert.deepStrictEqual([copy.version, ofCopy.map(versionLine)], [1, [[1, "ada", ""]]])
  })

  it("unknown versions, wrong ones and those of others are refused, each where it stands", async () => {
    await using service = await open([], { stores: stores() })
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "Guide" })).body
    const path = `/assistants/${assistant_id}`
    for (const wrong of ["0", "2", "-1", "1.5", "x", "01", "99999999999999999999", "%20"]) {
      assert.strictEqual((await service.call("GET", `${path}/versions/${wrong}`)).status, 404, wrong)
      assert.strictEqual((await service.call("POST", `${path}/versions/${wrong}/restore`)).status, 404, wrong)
    }
    for (const wrong of ["limit=0", "limit=101", "cursor=x"])
      assert.strictEqual((await service.call("GET", `${path}/versions?${wrong}`)).status, 422, wrong)
    const { thread_id } = (await service.call("POST", `${path}/threads`)).body
    const form = (assistant_version: string) => {
      const fields = new FormData()
      fields.append("content", "Hi")
      fields.append("assistant_version", assistant_version)
      return fields
    }
    const bodies = [0, 2, -1, 1.5, "1", 4_000_000_000, {}].map((assistant_version) => ({ assistant_version }))
    for (const [method, to, body] of [
      ...bodies.map((wrong) => ["POST", `/threads/${thread_id}/messages`, { content: "Hi", ...wrong }] as const),
      ...bodies.map((wrong) => ["POST", "/threads/messages", { content: "Hi", assistant_id, ...wrong }] as const),
      ...bodies.map((wrong) => ["POST", `${path}/threads`, wrong] as const),
      ...bodies.map((wrong) => ["PUT", `/threads/${thread_id}`, wrong] as const),
      ...["0", "2", "x", "1.5"].map((text) => ["POST", `/threads/${thread_id}/messages`, form(text)] as const)
    ]) {
      const refused = await service.call(method, to, body)
      assert.strictEqual(refused.status, 422, `${method} ${to} ${JSON.stringify(body)}`)
      assert.deepStrictEqual(refused.body.detail[0].loc, ["body", "assistant_version"])
    }
    assert.strictEqual((await service.call("PUT", `/threads/${thread_id}`, {})).status, 422)
    assert.deepStrictEqual((await service.call("GET", `/threads/${thread_id}`)).body.messages, [])
    const bob = { key: keys.bob }
    for (const [method, to] of [
      ["GET", `${path}/versions`],
      ["GET", `${path}/versions/1`],
      ["POST", `${path}/versions/1/restore`]
    ] as const) {
      const unknown = to.replace(assistant_id, "0199a5a0-0000-7000-8000-000000000000")
      const foreign = await service.call(method, to, undefined, bob)
      assert.strictEqual(foreign.status, 404)
      const none = await service.call(method, unknown, undefined, bob)
      assert.strictEqual(foreign.text, none.text.replace("0199a5a0-0000-7000-8000-000000000000", assistant_id))
    }
  })

  it("a message or a thread is answered by the version that it names, and runs and answers tell theirs", async () => {
    const steps = ["a", "b", "c", "d", "e", "f"].map((text) => say(text))
    await using service = await open(steps, { stores: stores() })
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "Guide", system_prompt: "One." })).body
    const path = `/assistants/${assistant_id}`
    const { thread_id } = (await service.call("POST", `${path}/threads`)).body
    const thread = `/threads/${thread_id}`
    const send = async (fields: object = {}) =>
      (await service.call("POST", `${thread}/messages`, { content: "Hi", ...fields })).body
    const used: Array<number> = []
    const check = async (version: number, fields?: object) => {
      const { assistant_version, run_id } = await send(fields)
      const run = (await service.call("GET", `${thread}/runs/${run_id}`)).body
      const systems = ["", "One.", "Two."]
      assert.deepStrictEqual([assistant_version, run.assistant_version], [version, version])
      assert.strictEqual(service.model.requests.at(-1)?.system, systems[version])
      used.push(version)
    }
    await check(1)
    await service.call("PUT", path, { system_prompt: "Two." })
    await check(2)
    await check(1, { assistant_version: 1 })
    const pinned = (await service.call("PUT", thread, { assistant_version: 1 })).body
    assert.deepStrictEqual([pinned.assistant_version, pinned.metadata_], [1, null])
    await check(1)
    await check(2, { assistant_version: 2 })
    const freed = (await service.call("PUT", thread, { assistant_version: null, metadata: { a: 1 } })).body
    assert.deepStrictEqual([freed.assistant_version, freed.metadata_], [null, { a: 1 }])
    await check(2)
    const { messages } = (await service.call("GET", thread)).body
    const told = messages.map((message: Record<string, unknown>) => [
      message["assistant_id"],
      message["assistant_version"]
    ])
    assert.deepStrictEqual(
      told,
      used.flatMap((version) => [
        [null, null],
        [assistant_id, version]
      ])
    )
    const born = (await service.call("POST", `${path}/threads`, { assistant_version: 1 })).body
    assert.strictEqual(born.assistant_version, 1)
  })
}
