/** The bytes of documents over HTTP: ranges, what a browser may keep and show, and whose they are. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { assert, describe, it } from "@effect/vitest"
import { fileForm, openWithDocuments } from "./DocumentService.ts"
import { keys } from "./Service.ts"

const open = async () => {
  const service = await openWithDocuments(InMemory.layer)
  const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
  const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
  return {
    service,
    assistant: assistant_id as string,
    thread: thread_id as string,
    upload: async (name: string, content: string) => {
      const answer = await service.call(
        "POST",
        `/assistants/${assistant_id}/documents`,
        fileForm({ file: new File([content], name) })
      )
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body.document_id as string
    },
    get: (id: string, headers: Record<string, string> = {}) =>
      service.call("GET", `/documents/${id}/content`, undefined, { headers }),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]()
  }
}

describe("the content of a document", () => {
  it("is given in part", async () => {
    await using room = await open()
    const id = await room.upload("a.txt", "0123456789")
    const whole = await room.get(id)
    const etag = whole.headers.get("etag") ?? ""
    assert.deepStrictEqual(
      [whole.status, whole.text, whole.headers.get("accept-ranges"), whole.headers.get("content-length")],
      [200, "0123456789", "bytes", "10"]
    )
    const cases: ReadonlyArray<readonly [Record<string, string>, number, string, string | null]> = [
      [{ range: "bytes=0-3" }, 206, "0123", "bytes 0-3/10"],
      [{ range: "bytes=4-" }, 206, "456789", "bytes 4-9/10"],
      [{ range: "bytes=-3" }, 206, "789", "bytes 7-9/10"],
      [{ range: "bytes=-99" }, 206, "0123456789", "bytes 0-9/10"],
      [{ range: "bytes=8-99" }, 206, "89", "bytes 8-9/10"],
      [{ range: "bytes=0-0" }, 206, "0", "bytes 0-0/10"],
      [{ range: "bytes=5-2" }, 200, "0123456789", null],
      [{ range: "bytes=0-1,4-5" }, 200, "0123456789", null],
      [{ range: "lines=0-1" }, 200, "0123456789", null],
      [{ range: "bytes = 0 - 3" }, 206, "0123", "bytes 0-3/10"],
      // A pattern that backtracks would take an hour.
      [{ range: `bytes=${" ".repeat(16_000)}x` }, 200, "0123456789", null],
      [{ range: "bytes=0-3", "if-range": etag }, 206, "0123", "bytes 0-3/10"],
      [{ range: "bytes=0-3", "if-range": '"other"' }, 200, "0123456789", null],
      [{ "if-none-match": '"other"' }, 200, "0123456789", null]
    ]
    for (const [headers, status, text, range] of cases) {
      const answer = await room.get(id, headers)
      const found = [answer.status, answer.text, answer.headers.get("content-range")]
      assert.deepStrictEqual(found, [status, text, range], JSON.stringify(headers))
    }
    for (const range of ["bytes=10-", "bytes=99-100", "bytes=-0"]) {
      const answer = await room.get(id, { range })
      assert.deepStrictEqual([answer.status, answer.headers.get("content-range")], [416, "bytes */10"], range)
    }
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const answer = await room.get(id, { "if-none-match": known })
      assert.deepStrictEqual([answer.status, answer.text, answer.headers.get("etag")], [304, "", etag], known)
    }
  })

  it("is shown by a browser only where that does no harm", async () => {
    await using room = await open()
    const png = "\x89PNG\r\n\x1a\n"
    const cases: ReadonlyArray<readonly [string, string, string, string]> = [
      ["a.txt", "x", "text/plain; charset=utf-8", "inline"],
      ["a.pdf", "%PDF-1.4", "application/pdf", "inline"],
      ["a.html", "<script>alert(1)</script>", "text/html; charset=utf-8", "attachment"],
      ["a.xml", "<svg xmlns='http://www.w3.org/2000/svg'/>", "application/xml", "attachment"],
      ["a.js", "alert(1)", "text/plain; charset=utf-8", "attachment"],
      ["a.json", "{}", "application/json", "attachment"]
    ]
    for (const [name, content, type, disposition] of cases) {
      const { headers } = await room.get(await room.upload(name, content))
      assert.strictEqual(headers.get("content-type"), type, name)
      assert.isTrue(headers.get("content-disposition")?.startsWith(`${disposition}; filename="${name}"`), name)
      assert.strictEqual(headers.get("content-security-policy"), "default-src 'none'; sandbox")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
    }
    const picture = new File([Uint8Array.from(png, (char) => char.charCodeAt(0))], "a.png")
    const { document_id } = (
      await room.service.call("POST", `/threads/${room.thread}/documents`, fileForm({ file: picture }))
    ).body
    assert.strictEqual((await room.get(document_id)).headers.get("content-type"), "image/png")
  })
})

describe("documents of another user", () => {
  it("are answered like those that do not exist, at every address", async () => {
    await using room = await open()
    const { assistant, service, thread } = room
    const id = await room.upload("secret.txt", "Secret of Ada")
    const form = () => fileForm({ file: new File(["x"], "x.txt") })
    const surface: ReadonlyArray<readonly [string, (ids: Record<string, string>) => string, (() => unknown)?]> = [
      ["GET", (ids) => `/assistants/${ids["assistant"]}/documents`],
      ["POST", (ids) => `/assistants/${ids["assistant"]}/documents`, form],
      ["POST", (ids) => `/assistants/${ids["assistant"]}/documents/search`, () => ({ query: "secret" })],
      ["GET", (ids) => `/threads/${ids["thread"]}/documents`],
      ["POST", (ids) => `/threads/${ids["thread"]}/documents`, form],
      ["POST", (ids) => `/threads/${ids["thread"]}/documents/search`, () => ({ query: "secret" })],
      ["GET", (ids) => `/documents/${ids["id"]}/status`],
      ["GET", (ids) => `/documents/${ids["id"]}/content`],
      ["GET", (ids) => `/documents/${ids["id"]}/chunks`],
      ["POST", (ids) => `/documents/${ids["id"]}/url`],
      ["DELETE", (ids) => `/documents/${ids["id"]}`]
    ]
    const hers = { assistant, thread, id }
    const nobodys = {
      assistant: globalThis.crypto.randomUUID(),
      thread: globalThis.crypto.randomUUID(),
      id: globalThis.crypto.randomUUID()
    }
    const without = (ids: object, text: string) =>
      Object.values(ids).reduce((rest: string, each: string) => rest.replaceAll(each, "<id>"), text)
    for (const [method, path, body] of surface) {
      const foreign = await service.call(method, path(hers), body?.(), { key: keys.bob })
      const unknown = await service.call(method, path(nobodys), body?.(), { key: keys.bob })
      assert.strictEqual(foreign.status, 404, path(hers))
      assert.strictEqual(without(hers, foreign.text), without(nobodys, unknown.text))
      assert.strictEqual((await service.call(method, path(hers), body?.(), { key: null })).status, 401)
    }
    const attached = { content: "Read it", attachments: [id] }
    const stolen = await service.call("POST", "/threads/messages", attached, { key: keys.bob })
    assert.strictEqual(stolen.status, 404)
    assert.notInclude(stolen.text, "Secret")
    assert.strictEqual((await room.get(id)).text, "Secret of Ada")
  })
})
