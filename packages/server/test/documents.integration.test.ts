/** Documents of the standalone server, without a key of any vendor: files are read, found and returned, also after a restart. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"
import { scratchDatabase } from "./ScratchDatabase.ts"
import { startServer } from "../src/Server.ts"
import { readSettings } from "../src/Settings.ts"

const key = "key-of-ada-0123456"

const start = async (environment: Record<string, string>) => {
  const settings = await Effect.runPromise(readSettings({ PORT: "0", COLLOQUY_API_KEYS: `${key}=ada`, ...environment }))
  const server = await startServer(settings)
  const call = async (method: string, path: string, body?: FormData | object) => {
    const isForm = body instanceof FormData
    const answer = await fetch(`${server.url}/api${path}`, {
      method,
      headers: { "x-api-key": key, ...(body === undefined || isForm ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) })
    })
    // oxlint-disable-next-line typescript/no-explicit-any
    const found: any = await answer.json()
    assert.strictEqual(answer.status, 200, JSON.stringify(found))
    return found
  }
  return { ...server, call, [Symbol.asyncDispose]: server.stop }
}

const withFile = (content: string, name: string, fields: Record<string, string> = {}, field = "file") => {
  const form = new FormData()
  for (const [each, value] of Object.entries(fields)) form.append(each, value)
  form.append(field, new File([content], name))
  return form
}

onEmbedded("PGlite", () =>
  describe("documents of the standalone server", () => {
    it("are indexed with the readers of every type, and answered from", { timeout: 60_000 }, async () => {
      await using server = await start({ COLLOQUY_DATA_DIR: "memory://" })
      const page = "<h1>Opening hours</h1><p>The museum opens at ten.</p><script>never()</script>"
      const reply = await server.call(
        "POST",
        "/threads/messages",
        withFile(page, "hours.html", { content: "When does the museum open?" }, "files")
      )
      assert.deepStrictEqual(reply.retrieved_files, ["hours.html"])
      assert.strictEqual(reply.attachments[0].status, "completed")
      const { document_id } = reply.attachments[0]
      const { chunks } = await server.call("GET", `/documents/${document_id}/chunks`)
      assert.strictEqual(chunks[0].heading, "Opening hours")
      assert.notInclude(JSON.stringify(chunks), "never")
      const { url } = await server.call("POST", `/documents/${document_id}/url`)
      assert.isTrue(url.startsWith(`${server.url}/api/documents/${document_id}/content?`), url)
      const bytes = await fetch(url)
      assert.deepStrictEqual([bytes.status, await bytes.text()], [200, page])
      assert.match(bytes.headers.get("content-disposition") ?? "", /^attachment;/u)
    })

    it("outlive a restart, their bytes in a folder and their addresses too", { timeout: 60_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), "colloquy-documents-"))
      const environment = { COLLOQUY_DATA_DIR: join(folder, "data"), COLLOQUY_BLOBS: join(folder, "bytes") }
      try {
        const first = await start({ ...environment, PUBLIC_URL: "https://ai.example" })
        const { assistant_id } = await first.call("POST", "/assistants", { name: "A" })
        const { document_id } = await first.call(
          "POST",
          `/assistants/${assistant_id}/documents`,
          withFile("Kept.", "a.txt")
        )
        const { url } = await first.call("POST", `/documents/${document_id}/url`)
        await first.stop()
        assert.lengthOf(await readdir(join(folder, "bytes", "blobs")), 1)
        assert.isTrue(url.startsWith("https://ai.example/api/documents/"))
        await using second = await start(environment)
        const { pathname, search } = new URL(url)
        assert.strictEqual(await (await fetch(`${second.url}${pathname}${search}`)).text(), "Kept.")
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
  })
)

onPostgres((url) =>
  it(
    "addresses of one process open at another over the same database, and after both",
    { timeout: 60_000 },
    async () => {
      await using database = await scratchDatabase(url)
      const documentAddress = async (server: Awaited<ReturnType<typeof start>>) => {
        const reply = await server.call(
          "POST",
          "/threads/messages",
          withFile("Kept.", "a.txt", { content: "Hi" }, "files")
        )
        const { url: address } = await server.call("POST", `/documents/${reply.attachments[0].document_id}/url`)
        const { pathname, search } = new URL(address)
        return pathname + search
      }
      const read = async (server: { readonly url: string }, address: string) =>
        (await fetch(server.url + address)).text()
      const addresses: Array<string> = []
      {
        const [one, other] = await Promise.all([
          start({ DATABASE_URL: database.url }),
          start({ DATABASE_URL: database.url })
        ])
        await using first = one
        await using second = other
        addresses.push(await documentAddress(first), await documentAddress(second))
        assert.strictEqual(await read(second, addresses[0] ?? ""), "Kept.")
        assert.strictEqual(await read(first, addresses[1] ?? ""), "Kept.")
      }
      await using later = await start({ DATABASE_URL: database.url })
      for (const address of addresses) assert.strictEqual(await read(later, address), "Kept.")
    }
  )
)
