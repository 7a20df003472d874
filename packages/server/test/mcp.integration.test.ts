/** Tools of MCP servers in the standalone server: a real program and a real server over streamable HTTP, by the setting alone. */
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import type { RequestListener } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { openAccountDesk } from "../../adapters/test/mcp/AccountDesk.ts"
import { makeToolServer } from "../../adapters/test/mcp/ToolServer.ts"
import { listen } from "../../../test/snippets/Stage.ts"
import { readSettings } from "../src/Settings.ts"
import { caller, startDemo } from "./TestServer.ts"

const program = {
  command: process.execPath,
  args: [
    "--conditions=colloquy-source",
    fileURLToPath(new URL("../../adapters/test/mcp/ToolServerProcess.ts", import.meta.url))
  ]
}

/** Without sessions: each request has a separate server. */
const openServer = async () => {
  const keys: Array<string | undefined> = []
  const serve = async (...[request, response]: Parameters<RequestListener>) => {
    keys.push(request.headers["x-key"]?.toString())
    const transport = new StreamableHTTPServerTransport()
    await makeToolServer({ waiting: false, cancelled: false }).server.connect(transport)
    await transport.handleRequest(request, response)
  }
  const served = await listen((request, response) => void serve(request, response))
  return { ...served, keys, [Symbol.asyncDispose]: served.stop }
}

/** The tool calls that are stored with the answer. */
const storedCalls = async (servers: string, tool: string) => {
  const server = await startDemo({ MCP_SERVERS: servers }, true)
  try {
    const call = caller(server)
    const { status, thread_id: threadId } = await call("POST", "/threads/messages", { content: `Please use ${tool}` })
    assert.strictEqual(status, "COMPLETED")
    const { messages } = await call("GET", `/threads/${threadId}`)
    return JSON.stringify(messages.at(-1).metadata_?.hosted_calls ?? null)
  } finally {
    await server.stop()
  }
}

describe("MCP_SERVERS", () => {
  it("offers the tools of a program and of an address, and calls them", { timeout: 120_000 }, async () => {
    await using remote = await openServer()
    const servers = {
      desk: program,
      far: { url: `${remote.url}/mcp`, headers: { "x-key": "secret-of-mcp" }, tools: ["echo"], timeout_seconds: 20 }
    }
    for (const tool of ["desk_echo", "far_echo"]) {
      const calls = await storedCalls(JSON.stringify(servers), tool)
      assert.include(calls, `"${tool}"`)
      assert.include(calls, "You said: ")
    }
    assert.deepStrictEqual([...new Set(remote.keys)], ["secret-of-mcp"])
    assert.strictEqual(await storedCalls(JSON.stringify(servers), "far_look_at"), "null", "it is not wanted")
  })

  it("may be a file, in the form of other clients", { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-mcp-"))
    const file = join(folder, "mcp.json")
    await writeFile(file, JSON.stringify({ mcpServers: { desk: program } }))
    assert.include(await storedCalls(file, "desk_echo"), "You said: ")
    await rm(folder, { recursive: true })
  })

  it("does not keep the server from starting when one of them is away", { timeout: 60_000 }, async () => {
    const away = { gone: { command: join(tmpdir(), "no-such-program") }, desk: program }
    assert.include(await storedCalls(JSON.stringify(away), "desk_echo"), "You said: ")
  })

  it(
    "lets each owner grant access to an account, over a restart, and stores no token as text",
    { timeout: 120_000 },
    async () => {
      await using desk = await openAccountDesk()
      const folder = await mkdtemp(join(tmpdir(), "colloquy-accounts-"))
      const keys = { ada: "the-key-of-ada-is-long", bob: "the-key-of-bob-is-long" }
      const start = () =>
        startDemo({
          COLLOQUY_DATA_DIR: folder,
          PUBLIC_URL: "https://colloquy.example",
          COLLOQUY_API_KEYS: `${keys.ada}=ada,${keys.bob}=bob`,
          MCP_SERVERS: JSON.stringify({ desk: program, notes: { url: desk.url, oauth: true } })
        })
      let server = await start()
      let isUp = true
      const stop = async () => {
        if (isUp) await server.stop()
        isUp = false
      }
      const asking = (owner: keyof typeof keys) => caller(server, keys[owner])
      const begin = async (owner: keyof typeof keys): Promise<string> =>
        (await asking(owner)("POST", "/tool-servers/notes/authorization")).url
      const status = async (owner: keyof typeof keys) => (await asking(owner)("GET", "/tool-servers/notes")).status
      const ask = (owner: keyof typeof keys, tool: string) =>
        asking(owner)("POST", "/threads/messages", { content: `Please use ${tool}` })
      /** The browser comes back to the public address, without a key. */
      const comeBack = async (address: string, headers: Readonly<Record<string, string>> = { accept: "text/html" }) => {
        assert.match(address, /^https:\/\/colloquy\.example\/api\/tool-access\/callback\?/u)
        const { pathname, search } = new URL(address)
        const response = await fetch(`${server.url}${pathname}${search}`, { headers })
        return { status: response.status, headers: response.headers, text: await response.text() }
      }
      try {
        const { tool_access_required: required, status: ended } = await ask("ada", "notes_access")
        assert.strictEqual(ended, "COMPLETED")
        assert.deepStrictEqual(required, [{ server: "notes", begin: "POST /tool-servers/notes/authorization" }])
        assert.deepStrictEqual(await asking("ada")("GET", "/tool-servers"), {
          tool_servers: [{ server: "notes", status: "not_authorized", expires_at: null, renewed: false }],
          next_cursor: null
        })

        const refusal = await comeBack(await desk.decide(await begin("ada"), null), {})
        assert.deepStrictEqual(
          [refusal.status, JSON.parse(refusal.text)],
          [403, { detail: "Access to notes was not granted (access_denied)." }]
        )

        const address = await desk.decide(await begin("ada"), "ada-desk")
        await server.stop()
        server = await start()
        const byBob = await comeBack(address, { "x-api-key": keys.bob })
        assert.strictEqual(byBob.status, 400, "another owner brings it")
        const page = await comeBack(address)
        assert.deepStrictEqual([page.status, page.headers.get("referrer-policy")], [200, "no-referrer"])
        assert.match(page.text, /<p>Access to notes is granted\.<\/p>/u)
        assert.strictEqual((await comeBack(address)).status, 400, "each once")
        assert.deepStrictEqual([await status("ada"), await status("bob")], ["authorized", "not_authorized"])

        const said = JSON.stringify(await ask("ada", "notes_whoami"))
        assert.include(said, "You are ada-desk.")
        assert.notInclude(JSON.stringify(await ask("bob", "notes_whoami")), "You are")
        await comeBack(await desk.decide(await begin("bob"), "bob-desk"))
        assert.include(JSON.stringify(await ask("bob", "notes_whoami")), "You are bob-desk.")
        assert.include(
          JSON.stringify(await ask("bob", "desk_echo")),
          "You said: ",
          "servers of all owners are there too"
        )

        desk.revoke()
        const again = await ask("ada", "notes_whoami")
        assert.deepInclude(again, { status: "COMPLETED", tool_access_required: required })
        assert.strictEqual(await status("ada"), "not_authorized", "its refresh token has ended")
        assert.deepInclude(await asking("bob")("DELETE", "/tool-servers/notes/authorization"), {
          status: "not_authorized"
        })
        assert.include(
          (await asking("bob")("POST", "/tool-servers/other/authorization")).detail,
          "There is no server other"
        )

        await comeBack(await desk.decide(await begin("ada"), "ada-desk"))
        const tokens = desk.tokens()
        assert.lengthOf(tokens, 2)
        await stop()
        const files = await readdir(folder, { recursive: true, withFileTypes: true })
        for (const file of files.filter((each) => each.isFile())) {
          const bytes = await readFile(join(file.parentPath, file.name), "latin1")
          for (const token of tokens) assert.isFalse(bytes.includes(token), `a token is in ${file.name}`)
        }
      } finally {
        await stop()
        await rm(folder, { recursive: true })
      }
    }
  )

  it("reads the example of the guide, and refuses what is none, without a word of it", async () => {
    const settingsFrom = (text: string) => Effect.runPromise(Effect.result(readSettings({ MCP_SERVERS: text })))
    const guide = await readFile(new URL("../../../docs/standalone-server.md", import.meta.url), "utf8")
    const example = await settingsFrom(/```json\n([^]*?)```/u.exec(guide)?.[1] ?? "")
    if (example._tag === "Failure") return assert.fail(example.failure.message)
    const [files, search] = example.success.mcpServers
    assert.deepInclude(files, { name: "files", command: "npx" })
    assert.deepInclude(search, { name: "search", url: "https://mcp.example/mcp", timeout: "20 seconds" })
    const headers = search !== undefined && "url" in search ? search.headers : undefined
    assert.isTrue(Redacted.isRedacted(headers?.["authorization"]))

    const wrong = [
      "secret",
      "{secret",
      '["secret"]',
      '{"a": {"url": "ftp://secret"}}',
      '{"a": {"args": ["secret"]}}',
      '{"a b": {"command": "secret"}}',
      '{"a": {"command": "x", "timeout_seconds": "secret"}}'
    ]
    for (const text of wrong) {
      const refused = await settingsFrom(text)
      if (refused._tag === "Success") return assert.fail(text)
      assert.include(refused.failure.message, "MCP_SERVERS must be a JSON object")
      assert.notInclude(refused.failure.message, "secret")
    }
  })
})
