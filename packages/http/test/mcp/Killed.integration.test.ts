/** MCP on both sides of the standalone server, which is killed while a person is asked: the official client, and a server of the official SDK. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { assert, describe, it } from "@effect/vitest"
import { openDesk } from "../../../adapters/test/mcp/DeskServer.ts"
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

describe("a question of an MCP server of 2026, when the service is killed (SIGKILL) before the answer", () => {
  onEmbedded("PGlite", () => {
    it("is answered in another process, by its own owner", { timeout: 120_000 }, async () => {
      await using far = await openDesk()
      await using service = await openDeskService({ far: { url: far.url } })
      const asked = await service.call("POST", "/threads/messages", { content: "Please use far_book" })
      const { run_id, status, thread_id, tool_calls } = asked.body
      assert.strictEqual(status, "REQUIRES_ACTION")
      await service.kill()
      const path = `/threads/${thread_id}/runs/${run_id}/approvals`
      const approvals = [{ tool_call_id: tool_calls[0].id, decision: "approve", arguments: { seats: 2 } }]
      assert.strictEqual((await service.call("POST", path, { approvals }, deskKeys.bob)).status, 404)
      const answered = await service.call("POST", path, { approvals })
      assert.strictEqual(answered.body.status, "COMPLETED")
      assert.include(answered.body.content, '["kept",{"kind":"elicit","action":"accept","content":{"seats":2}}]')
    })
  })
})
