/** Backup and restore with the commands of docs/backup.md: a conversation with a document is lost, restored elsewhere, and continued. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"
import { scratchDatabase } from "./ScratchDatabase.ts"
import { startServer } from "../src/Server.ts"
import { readSettings } from "../src/Settings.ts"
import { bareEnvironment } from "../../../test/environment.ts"

const key = "key-of-ada-0123456"
const secrets = { COLLOQUY_API_KEYS: `${key}=ada`, COLLOQUY_SIGNING_KEY: "0123456789abcdef", PORT: "0" }

/** A dead process blocks its threads for three seconds, so that the test need not wait for thirty. */
const leases = { RUN_LEASE_SECONDS: "3", SWEEP_SECONDS: "1" }

const page = readFileSync(new URL("../../../docs/backup.md", import.meta.url), "utf8")

/** The commands below a heading of the page. */
const commandsBelow = (heading: string): string =>
  new RegExp(`^## ${heading}$[^]*?^\`\`\`sh\\n([^]*?)^\`\`\``, "mu").exec(page)?.[1] ??
  assert.fail(`No commands: ${heading}`)

const runCommands = async (heading: string, folder: string, environment: Readonly<Record<string, string>>) => {
  const options = { cwd: folder, env: { ...bareEnvironment, ...environment } }
  await promisify(execFile)("bash", ["-euc", commandsBelow(heading)], options)
}

const start = async (environment: Readonly<Record<string, string>>) => {
  const server = await startServer(await Effect.runPromise(readSettings({ ...secrets, ...leases, ...environment })))
  const send = async (method: string, path: string, body?: FormData | object) => {
    const isForm = body instanceof FormData
    const answer = await fetch(`${server.url}/api${path}`, {
      method,
      headers: { "x-api-key": key, ...(body === undefined || isForm ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) })
    })
    assert.strictEqual(answer.status, 200)
    return answer
  }
  // oxlint-disable-next-line typescript/no-explicit-any -- what comes over the wire is read field by field
  const call = async (...request: Parameters<typeof send>): Promise<any> => (await send(...request)).json()
  return { ...server, send, call, [Symbol.asyncDispose]: server.stop }
}

type Server = Awaited<ReturnType<typeof start>>

const hours = "<h1>Opening hours</h1><p>The museum opens at ten.</p>"

/** A thread with a document and an answer from it. */
const converse = async (server: Server) => {
  const form = new FormData()
  form.append("content", "When does the museum open?")
  form.append("files", new File([hours], "hours.html"))
  const reply = await server.call("POST", "/threads/messages", form)
  assert.deepStrictEqual(reply.retrieved_files, ["hours.html"])
  const documentId: string = reply.attachments[0].document_id
  const threadId: string = reply.thread_id
  const { url } = await server.call("POST", `/documents/${documentId}/url`)
  return { threadId, documentId, signed: new URL(url) }
}

const goesOn = async (server: Server, { documentId, signed, threadId }: Awaited<ReturnType<typeof converse>>) => {
  const { messages } = await server.call("GET", `/threads/${threadId}`)
  assert.deepStrictEqual(
    messages.map((message: { role: string; status: string }) => [message.role, message.status]),
    [
      ["user", "COMPLETED"],
      ["assistant", "COMPLETED"]
    ]
  )
  assert.strictEqual(await (await server.send("GET", `/documents/${documentId}/content`)).text(), hours)
  const bySignature = await fetch(`${server.url}${signed.pathname}${signed.search}`)
  assert.strictEqual(await bySignature.text(), hours, "an address that was given out before is still good")
  const reply = await server.call("POST", `/threads/${threadId}/messages`, { content: "And the museum, at what hour?" })
  assert.deepStrictEqual([reply.status, reply.retrieved_files], ["COMPLETED", ["hours.html"]])
}

const scratchFolder = () => {
  const path = mkdtempSync(join(tmpdir(), "colloquy-backup-"))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

onPostgres((url) =>
  describe("a PostgreSQL server with files in a folder", () => {
    beforeAll(() =>
      assert.isTrue((process.env["PATH"] ?? "").split(":").some((each) => existsSync(join(each, "pg_dump"))))
    )

    it("is brought back from a dump that was made while it ran", { timeout: 120_000 }, async () => {
      using folder = scratchFolder()
      const paths = { COLLOQUY_BLOBS: join(folder.path, "old"), RESTORED_BLOBS: join(folder.path, "new") }
      await using copy = await scratchDatabase(url)
      let place: Awaited<ReturnType<typeof converse>>
      let running: string
      {
        await using lost = await scratchDatabase(url)
        await using server = await start({ DATABASE_URL: lost.url, COLLOQUY_BLOBS: paths.COLLOQUY_BLOBS })
        place = await converse(server)
        const body = { content: "Count to 900", stream: true }
        const stream = await server.send("POST", "/threads/messages", body)
        const reader = stream.body?.getReader() ?? assert.fail("no stream")
        let heard = ""
        while (!/"content":" ?12"/u.test(heard)) {
          const { done, value } = await reader.read()
          if (done) return assert.fail(`It ended before it was copied: ${heard}`)
          heard += new TextDecoder().decode(value)
        }
        running = /"thread_id":"([^"]+)"/u.exec(heard)?.[1] ?? assert.fail("no thread")
        await runCommands("PostgreSQL, while the service runs", folder.path, { DATABASE_URL: lost.url, ...paths })
        const runId = /"run_id":"([^"]+)"/u.exec(heard)?.[1] ?? assert.fail("no run")
        await server.call("POST", `/threads/${running}/runs/${runId}/cancel`)
        await reader.cancel()
      }
      await rm(paths.COLLOQUY_BLOBS, { recursive: true })

      await runCommands("Into an empty database", folder.path, { RESTORED_URL: copy.url, ...paths })
      await using server = await start({ DATABASE_URL: copy.url, COLLOQUY_BLOBS: paths.RESTORED_BLOBS })
      await goesOn(server, place)
      const next = await server.call("POST", `/threads/${running}/messages`, { content: "Count to 3" })
      assert.strictEqual(next.content, "1 2 3")
      const { messages } = await server.call("GET", `/threads/${running}`)
      assert.deepStrictEqual(
        messages.map((message: { status: string }) => message.status),
        ["COMPLETED", "FAILED", "COMPLETED", "COMPLETED"],
        "the turn that was under way is ended as one of a process that died"
      )
    })
  })
)

onEmbedded("PGlite", () =>
  it("the embedded database is brought back from a copy of its folder", { timeout: 120_000 }, async () => {
    using folder = scratchFolder()
    const paths = { COLLOQUY_DATA_DIR: join(folder.path, "old"), RESTORED_DATA_DIR: join(folder.path, "new") }
    let place: Awaited<ReturnType<typeof converse>>
    {
      await using server = await start({ COLLOQUY_DATA_DIR: paths.COLLOQUY_DATA_DIR })
      place = await converse(server)
    }
    await runCommands("The embedded database", folder.path, paths)
    await rm(paths.COLLOQUY_DATA_DIR, { recursive: true })
    await using server = await start({ COLLOQUY_DATA_DIR: paths.RESTORED_DATA_DIR })
    await goesOn(server, place)
  })
)
