/** The official MCP client against the standalone server, which is killed while a person is asked. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { assert, describe, it } from "@effect/vitest"
import { onEmbedded } from "../../../../test/databases.ts"
import { deskKeys, openDeskService } from "../DeskService.ts"

describe("an MCP server that is killed (SIGKILL) while a call waits for a person", () => {
  onEmbedded("PGlite", () => {
    it("goes on with the decision in another process", { timeout: 120_000 }, async () => {
      await using service = await openDeskService()
      await service.call("POST", "/assistants", { name: "a" })
      const client = new Client(
        { name: "test", version: "1.0.0" },
        { versionNegotiation: { mode: { pin: "2026-07-28" } }, capabilities: { elicitation: {} } }
      )
      client.setRequestHandler("elicitation/create", async () => {
        await service.kill()
        return { action: "accept", content: { approved: true } }
      })
      const requestInit = { headers: { "x-api-key": deskKeys.ada } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${service.api}/mcp`), { requestInit }))
      const [tool] = (await client.listTools()).tools
      const result = await client.callTool({ name: tool?.name ?? "", arguments: { message: "Please use desk_echo" } })
      assert.include(JSON.stringify(result.structuredContent), '"COMPLETED"')
      assert.include(JSON.stringify(result.content), "You said: ")
      await client.close()
    })
  })
})
