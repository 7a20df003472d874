/** The standalone server with a tool that waits for a person (`desk_echo`), for tests that kill it (SIGKILL) and start it again. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { spawnServer } from "../../server/test/ServerProcess.ts"
import { callApi } from "../../server/test/TestServer.ts"

export const deskKeys = { ada: "key-of-ada-0123456", bob: "key-of-bob-0123456" }

const desk = {
  command: process.execPath,
  args: [
    "--conditions=colloquy-source",
    fileURLToPath(new URL("../../adapters/test/mcp/ToolServerProcess.ts", import.meta.url))
  ],
  approval: true
}

/** `kill` ends the process and starts another one over the same data and at the same address. `servers` are more servers of tools. */
export const openDeskService = async (servers: object = {}) => {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-desk-"))
  const start = async (port: string) => {
    const server = spawnServer({
      PORT: port,
      COLLOQUY_DATA_DIR: folder,
      COLLOQUY_API_KEYS: Object.entries(deskKeys)
        .map(([owner, key]) => `${key}=${owner}`)
        .join(","),
      MCP_SERVERS: JSON.stringify({ desk, ...servers })
    })
    const api = /listens on (\S+),/u.exec(await server.printed(/listens on/u))?.[1] ?? ""
    return { server, api }
  }
  let { api, server } = await start("0")
  return {
    api,
    call: (method: string, path: string, body?: object, key = deskKeys.ada) =>
      callApi({ api, key }, method, path, body),
    kill: async () => {
      await server[Symbol.asyncDispose]()
      server = (await start(new URL(api).port)).server
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    }
  }
}
