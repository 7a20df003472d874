import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const main = new URL("main.ts", import.meta.url)

describe("the example without Effect", () => {
  it("is what the README begins with", async () => {
    const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8")
    const [, first] = /```ts\n([^]*?)```/.exec(readme) ?? []
    assert.strictEqual(first, await readFile(main, "utf8"))
  })

  it("runs without a network", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--conditions=colloquy-source",
      fileURLToPath(main)
    ])
    assert.strictEqual(stdout, "It is sunny in Paris.")
  })

  it("is tested as docs/testing.md begins", async () => {
    const guide = await readFile(new URL("../../docs/testing.md", import.meta.url), "utf8")
    const umbrella = new URL("umbrella.ts", import.meta.url)
    assert.include(guide, `\`\`\`ts\n${await readFile(umbrella, "utf8")}\`\`\``)
    await promisify(execFile)(process.execPath, ["--conditions=colloquy-source", fileURLToPath(umbrella)])
  })

  it("remembers across threads, as docs/memory.md shows", async () => {
    const guide = await readFile(new URL("../../docs/memory.md", import.meta.url), "utf8")
    const remember = new URL("remember.ts", import.meta.url)
    assert.include(guide, `\`\`\`ts\n${await readFile(remember, "utf8")}\`\`\``)
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--conditions=colloquy-source",
      fileURLToPath(remember)
    ])
    assert.strictEqual(stdout, "In Oslo. [ 'Ada lives in Oslo.' ]\n")
  })
})
