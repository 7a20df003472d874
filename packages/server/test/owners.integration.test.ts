/** The export and the erasure of an owner, at the server as operators start it. The archive is read by the system's own tar. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { callApi, startDemo } from "./TestServer.ts"

const keys = { ada: "key-of-ada-0123456789", bob: "key-of-bob-0123456789" }

const open = async () => {
  const server = await startDemo({ COLLOQUY_API_KEYS: `${keys.ada}=ada,${keys.bob}=bob` }, true)
  const api = `${server.url}/api`
  return {
    call: (key: string, method: string, path: string, body?: object) => callApi({ api, key }, method, path, body),
    upload: async (key: string, path: string, name: string, text: string) => {
      const form = new FormData()
      form.append("file", new File([text], name, { type: "text/plain" }))
      const response = await fetch(`${api}${path}`, { method: "POST", headers: { "x-api-key": key }, body: form })
      assert.strictEqual(response.status, 200, await response.text())
    },
    export: async (key: string) => {
      const response = await fetch(`${api}/owners/me/export`, { headers: { "x-api-key": key } })
      assert.strictEqual(response.status, 200)
      assert.strictEqual(response.headers.get("content-type"), "application/x-tar")
      return Buffer.from(await response.arrayBuffer())
    },
    [Symbol.asyncDispose]: () => server.stop()
  }
}

const unpack = (archive: Buffer) => {
  const path = mkdtempSync(join(tmpdir(), "colloquy-export-"))
  writeFileSync(join(path, "export.tar"), archive)
  execFileSync("tar", ["-xf", "export.tar"], { cwd: path })
  const lines = (name: string) =>
    readFileSync(join(path, name), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
  return { path, lines, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

describe("an owner", () => {
  const long = `${"sehr lang ".repeat(20)}Grüße 你好.txt`

  it("exports everything of its own and nothing of another, as an archive that tar reads", async () => {
    await using server = await open()
    for (const [owner, key] of Object.entries(keys)) {
      const { body: assistant } = await server.call(key, "POST", "/assistants", { name: `Assistant of ${owner}` })
      const at = `/assistants/${assistant.assistant_id}`
      await server.call(key, "POST", `${at}/memories`, { content: `The secret of ${owner}` })
      const { body: thread } = await server.call(key, "POST", `${at}/threads`, {})
      for (let turn = 0; turn < 110; turn++) {
        const content = `${owner} says ${turn}`
        const body = { content, send_to_llm: turn === 0 }
        const { body: said, status } = await server.call(key, "POST", `/threads/${thread.thread_id}/messages`, body)
        assert.strictEqual(status, 200, JSON.stringify(said))
      }
      await server.upload(key, `${at}/documents`, "plain.txt", `A file of ${owner}`)
      await server.upload(key, `${at}/documents`, long, "x".repeat(600))
    }
    const archive = await server.export(keys.ada)
    assert.strictEqual(archive.length % 512, 0)
    assert.isFalse(archive.includes("bob"))
    using found = unpack(archive)
    assert.deepStrictEqual(
      found.lines("assistants.jsonl").map(({ name }) => name),
      ["Assistant of ada"]
    )
    assert.strictEqual(found.lines("threads.jsonl").length, 1)
    const messages = found.lines("messages.jsonl")
    assert.strictEqual(messages.length, 111)
    assert.deepStrictEqual([messages[0].content, messages.at(-1).content], ["ada says 0", "ada says 109"])
    assert.deepStrictEqual(
      found.lines("memories.jsonl").map(({ content }) => content),
      ["The secret of ada"]
    )
    assert.isAbove(found.lines("usage.jsonl").length, 0)
    const documents = found.lines("documents.jsonl")
    assert.strictEqual(documents.length, 2)
    const texts = documents.map(({ document_id: id, filename }) => {
      assert.deepStrictEqual(readdirSync(join(found.path, "documents", id)), [filename])
      return readFileSync(join(found.path, "documents", id, filename), "utf8")
    })
    assert.deepStrictEqual(texts, ["A file of ada", "x".repeat(600)])
  })

  it("erases everything of its own, and is told when nothing is left", async () => {
    await using server = await open()
    for (const key of Object.values(keys)) {
      await server.call(key, "POST", "/threads/messages", { content: "Hello" })
      const { body } = await server.call(key, "GET", "/assistants")
      await server.upload(key, `/assistants/${body[0].assistant_id}/documents`, "a.txt", "A file")
    }
    const begun = await server.call(keys.ada, "DELETE", "/owners/me")
    assert.strictEqual(begun.status, 202)
    const path = `/owners/me/erasures/${begun.body.erasure_id}`
    let { body } = await server.call(keys.ada, "GET", path)
    while (body.status === "IN_PROGRESS") ({ body } = await server.call(keys.ada, "GET", path))
    assert.deepStrictEqual([body.status, body.left], ["COMPLETED", {}])
    assert.deepStrictEqual((await server.call(keys.ada, "GET", "/threads")).body, [])
    assert.strictEqual((await server.call(keys.bob, "GET", path)).status, 404)
    assert.strictEqual((await server.call(keys.bob, "GET", "/threads")).body.length, 1)
    const archive = await server.export(keys.ada)
    using found = unpack(archive)
    assert.deepStrictEqual([found.lines("assistants.jsonl"), found.lines("documents.jsonl")], [[], []])
    assert.isAbove(found.lines("usage.jsonl").length, 0)
  })
})
