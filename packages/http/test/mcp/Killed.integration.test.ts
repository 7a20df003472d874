/** The official MCP client against the standalone server, which is killed while a person is asked. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { assert, describe, it } from "@effect/vitest"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { onEmbedded } from "../../../../test/databases.ts"
import { spawnServer } from "../../../server/test/ServerProcess.ts"

const key = "key-of-ada-0123456"
const desk = {
  command: process.execPath,
  args: [
    "--conditions=colloquy-source",
    fileURLToPath(new URL("../../../adapters/test/mcp/ToolServerProcess.ts", import.meta.url))
  ],
  approval: true
}

const start = async (folder: string, port: string) => {
  const server = spawnServer({
    PORT: port,
    COLLOQUY_DATA_DIR: folder,
    COLLOQUY_API_KEYS: `${key}=ada`,
    MCP_SERVERS: JSON.stringify({ desk })
  })
  const api = /listens on (\S+),/u.exec(await server.printed(/listens on/u))?.[1] ?? ""
  return { ...server, api }
}

describe("an MCP server that is killed (SIGKILL) while a call waits for a person", () => {
  onEmbedded("PGlite", () => {
    it("goes on with the decision in another process", { timeout: 120_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), "colloquy-mcp-server-"))
      let server = await start(folder, "0")
      const { api } = server
      const headers = { "x-api-key": key, "content-type": "application/json" }
      await fetch(`${api}/assistants`, { method: "POST", headers, body: JSON.stringify({ name: "a" }) })
      const client = new Client(
        { name: "test", version: "1.0.0" },
        { versionNegotiation: { mode: { pin: "2026-07-28" } }, capabilities: { elicitation: {} } }
      )
      client.setRequestHandler("elicitation/create", async () => {
        await server[Symbol.asyncDispose]()
        server = await start(folder, new URL(api).port)
        return { action: "accept", content: { approved: true } }
      })
      await client.connect(new StreamableHTTPClientTransport(new URL(`${api}/mcp`), { requestInit: { headers } }))
      const [tool] = (await client.listTools()).tools
      const result = await client.callTool({ name: tool?.name ?? "", arguments: { message: "Please use desk_echo" } })
      assert.include(JSON.stringify(result.structuredContent), '"COMPLETED"')
      assert.include(JSON.stringify(result.content), "You said: ")
      await client.close()
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    })
  })
})
