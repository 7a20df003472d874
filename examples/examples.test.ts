/** Runs the small examples unchanged, and checks what they print. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const run = async (main: string): Promise<string> => {
  const path = fileURLToPath(new URL(main, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=colloquy-source", path])
  return stdout.trim()
}

// Each example is a separate process, which starts slowly on a busy machine.
describe("examples", { timeout: 60_000 }, () => {
  it("hosted tool", async () => {
    assert.strictEqual(await run("hosted-tool/main.ts"), "COMPLETED It arrives on Friday.")
  })

  it("part of a turn", async () => {
    const lines = (await run("turn-part/main.ts")).split("\n")
    assert.sameMembers(lines, [
      "scripted-model Hello!",
      "guardrail Please send no card numbers.",
      "Audit: stopped because of a card number."
    ])
    const part = readFileSync(new URL("turn-part/Guardrail.ts", import.meta.url), "utf8")
    assert.isAtMost(part.trim().split("\n").length, 30, "a host writes a part in thirty lines")
  })

  it("custom store", async () => {
    assert.strictEqual(await run("custom-store/main.ts"), "The key belongs to ada.")
  })
})
