/** The official conformance suite of MCP against the client: its wire, its headers, and the authorization of owners. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const suite = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")),
  "dist/index.js"
)
const client = [
  process.execPath,
  "--conditions=colloquy-source",
  "--disable-warning=ExperimentalWarning",
  fileURLToPath(new URL("ConformanceProcess.ts", import.meta.url))
]

const scenarios = [
  ["tools_call", "2025-11-25"],
  ["sep-2322-client-request-state", "2026-07-28"],
  ["http-custom-headers", "2026-07-28"],
  ["http-invalid-tool-headers", "2026-07-28"],
  ["json-schema-2020-12-preservation", "2026-07-28"],
  ["auth/metadata-var3", "2026-07-28"],
  ["auth/pre-registration", "2025-11-25"],
  ["auth/scope-step-up", "2026-07-28"],
  ["auth/iss-wrong-issuer", "2026-07-28"]
] as const

describe("the conformance suite", () => {
  it.each(scenarios)("%s in the revision %s", { timeout: 120_000 }, async (scenario, revision) => {
    const options = ["--command", client.join(" "), "--scenario", scenario, "--spec-version", revision]
    const args = [suite, "client", ...options, "--timeout", "100000"]
    const { stderr, stdout } = await promisify(execFile)(process.execPath, args)
    assert.match(`${stdout}${stderr}`, /Passed: (\d+)\/\1, 0 failed, 0 warnings/u)
  })
})
