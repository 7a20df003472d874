/** Tools of MCP servers in the standalone server: a real program and a real server over streamable HTTP, by the setting alone. */
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import type { RequestListener } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
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
const callsOf = async (servers: string, tool: string) => {
  const server = await startDemo({ MCP_SERVERS: servers })
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
      const calls = await callsOf(JSON.stringify(servers), tool)
      assert.include(calls, `"${tool}"`)
      assert.include(calls, "You said: ")
    }
    assert.deepStrictEqual([...new Set(remote.keys)], ["secret-of-mcp"])
    assert.strictEqual(await callsOf(JSON.stringify(servers), "far_look_at"), "null", "it is not wanted")
  })

  it("may be a file, in the form of other clients", { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-mcp-"))
    const file = join(folder, "mcp.json")
    await writeFile(file, JSON.stringify({ mcpServers: { desk: program } }))
    assert.include(await callsOf(file, "desk_echo"), "You said: ")
    await rm(folder, { recursive: true })
  })

  it("does not keep the server from starting when one of them is away", { timeout: 60_000 }, async () => {
    const away = { gone: { command: join(tmpdir(), "no-such-program") }, desk: program }
    assert.include(await callsOf(JSON.stringify(away), "desk_echo"), "You said: ")
  })

  it("reads the example of the guide, and refuses what is none, without a word of it", async () => {
    const settingsOf = (text: string) => Effect.runPromise(Effect.result(readSettings({ MCP_SERVERS: text })))
    const guide = await readFile(new URL("../../../docs/standalone-server.md", import.meta.url), "utf8")
    const example = await settingsOf(/```json\n([^]*?)```/u.exec(guide)?.[1] ?? "")
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
      const refused = await settingsOf(text)
      if (refused._tag === "Success") return assert.fail(text)
      assert.include(refused.failure.message, "MCP_SERVERS must be a JSON object")
      assert.notInclude(refused.failure.message, "secret")
    }
  })
})
