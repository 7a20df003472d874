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
const older = ["server-initialize", "ping"].map((scenario) => [scenario, "2025-11-25"] as const)
const both = ["tools-list", "resources-list"].flatMap((scenario) =>
  ["2025-11-25", "2026-07-28"].map((revision) => [scenario, revision] as const)
)
const stateless = [
  "sep-2164-resource-not-found",
  "http-header-validation",
  "input-required-result-unsupported-methods",
  "input-required-result-validate-input"
].map((scenario) => [scenario, "2026-07-28"] as const)

const judge = async (scenario: string, revision: string): Promise<string> => {
  await using service = await open([], { http: { wings: [mcp], authenticate: () => "ada" } })
  await service.call("POST", "/assistants", { name: "a" })
  await using server = await listen(createServer(service.node))
  const args = [suite, "server", "--url", `${server.url}/mcp`, "--scenario", scenario, "--spec-version", revision]
  const report = ({ stdout }: { readonly stdout: string }) => stdout
  return await promisify(execFile)(process.execPath, args).then(report, report)
}

describe("the conformance suite", () => {
  it.each([...older, ...both, ...stateless])(
    "%s in the revision %s",
    { timeout: 60_000 },
    async (scenario, revision) => {
      assert.match(await judge(scenario, revision), /Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/u)
    }
  )

  it("server-stateless, without the checks that need a tool of the suite", { timeout: 60_000 }, async () => {
    const told = await judge("server-stateless", "2026-07-28")
    assert.match(told, /Passed: 24\/28, 4 failed, 0 warnings/u)
    const reasons = [...told.matchAll(/^ +Error: (.*)$/gmu)].map(([, reason = ""]) => reason)
    assert.lengthOf(reasons, 4)
    for (const reason of reasons) assert.match(reason, /Not testable: server does not list the diagnostic tool/u)
  })
})
