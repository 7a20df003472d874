/** The official conformance suite of MCP against the server, as far as it asks for no tool of its own. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { mcp } from "../../src/mcp/index.ts"
import { open } from "../Service.ts"
import { listen } from "../Sockets.ts"

const suite = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")),
  "dist/index.js"
)
const scenarios = ["server-initialize", "ping", "tools-list", "resources-list"]

describe("the conformance suite", () => {
  it.each(scenarios)("%s", { timeout: 60_000 }, async (scenario) => {
    await using service = await open([], { http: { wings: [mcp], authenticate: () => "ada" } })
    await service.call("POST", "/assistants", { name: "a" })
    await using server = await listen(createServer(service.node))
    const args = [suite, "server", "--url", `${server.url}/mcp`, "--scenario", scenario]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    assert.match(stdout, /Passed: (\d+)\/\1, 0 failed/u)
  })
})
