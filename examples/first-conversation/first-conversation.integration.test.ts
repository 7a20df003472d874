import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const main = new URL("main.ts", import.meta.url)

describe("the first conversation", () => {
  it("stands in the README as it is", async () => {
    const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8")
    const [, block] = /## With Effect\n[^]*?```ts\n([^]*?)```/.exec(readme) ?? []
    assert.strictEqual(block, await readFile(main, "utf8"))
  })

  it("runs without a network", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--conditions=colloquy-source",
      fileURLToPath(main)
    ])
    assert.deepStrictEqual(stdout.trim().split("\n"), [
      "REQUIRES_ACTION get_weather",
      "COMPLETED It is sunny in Paris."
    ])
  })
})
