/** The official AG-UI client against the standalone server, which is killed while an approval waits. */
import { HttpAgent } from "@ag-ui/client"
import { assert, describe, it } from "@effect/vitest"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"
import type { Environment } from "../src/Settings.ts"
import { scratchDatabase } from "./ScratchDatabase.ts"
import { spawnServer } from "./ServerProcess.ts"
import { callApi } from "./TestServer.ts"

const key = "key-of-ada-0123456"
const desk = {
  command: process.execPath,
  args: [
    "--conditions=colloquy-source",
    fileURLToPath(new URL("../../adapters/test/mcp/ToolServerProcess.ts", import.meta.url))
  ],
  approval: true
}

const start = async (environment: Environment) => {
  const server = spawnServer({
    PORT: "0",
    COLLOQUY_API_KEYS: `${key}=ada`,
    MCP_SERVERS: JSON.stringify({ desk }),
    ...environment
  })
  const api = /listens on (\S+),/u.exec(await server.printed(/listens on/u))?.[1] ?? ""
  return { ...server, api }
}

const agentAt = (api: string, assistantId: string) =>
  new HttpAgent({ url: `${api}/ag-ui/${assistantId}`, threadId: "a chat", headers: { "x-api-key": key } })

const story = (environment: Environment) => async () => {
  const first = await start(environment)
  const { body } = await callApi({ api: first.api, key }, "POST", "/assistants", { name: "a" })
  const before = agentAt(first.api, body.assistant_id)
  before.addMessage({ id: "u", role: "user", content: "Please use desk_echo" })
  await before.runAgent()
  assert.lengthOf(before.pendingInterrupts, 1)
  await first[Symbol.asyncDispose]()

  await using second = await start(environment)
  const after = agentAt(second.api, body.assistant_id)
  await after.runAgent()
  assert.deepStrictEqual(after.pendingInterrupts, before.pendingInterrupts)
  const resume = after.pendingInterrupts.map(({ id }) => ({
    interruptId: id,
    status: "resolved" as const,
    payload: { approved: true }
  }))
  await after.runAgent({ resume })
  assert.deepStrictEqual(
    after.messages.map(({ role }) => role),
    ["user", "assistant", "tool", "assistant"]
  )
  assert.match(JSON.stringify(after.messages[2]), /"You said: /u)
}

describe("an AG-UI agent whose server is killed (SIGKILL) while a call waits for a person", () => {
  onEmbedded("PGlite", () => {
    it("shows the interrupt again, and goes on with the decision", { timeout: 120_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), "colloquy-ag-ui-"))
      await story({ COLLOQUY_DATA_DIR: folder })()
      await rm(folder, { recursive: true, force: true })
    })
  })
  onPostgres((url) => {
    it("shows the interrupt again, and goes on with the decision", { timeout: 120_000 }, async () => {
      await using database = await scratchDatabase(url)
      await story({ DATABASE_URL: database.url })()
    })
  })
})
