/** Runs the small examples unchanged, and checks what they print. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
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

  it("evals: the gate catches what was broken, and the build stops", async () => {
    const error: unknown = await run("evals/main.ts").catch((failure: unknown) => failure)
    assert.deepInclude(error, { code: 1 })
    assert.include(String(Object(error).stdout), '"warm" is better than "now" in 0, worse in 12 of 30 cases')
  })

  it("custom store", async () => {
    assert.strictEqual(await run("custom-store/main.ts"), "The key belongs to ada.")
  })

  it("are short: no file has 100 lines or more, and the code of one of them is less than that, more where it has a page", () => {
    const cwd = fileURLToPath(new URL(".", import.meta.url))
    const files = globSync("*/**/*.{ts,tsx,mjs,js}", { cwd }).filter(
      (file) => !/\.test\.tsx?$|node_modules|dist|\.next/.test(file)
    )
    const long: Array<string> = []
    const lines = new Map<string, number>()
    for (const file of files) {
      // `embed` has one example for each framework, `cookbook` one in each file.
      const [folder = "", second = ""] = file.split(/[\\/]/)
      const isOwn = folder === "cookbook" || (folder === "embed" && !second.includes("."))
      const example = isOwn ? `${folder}/${second}` : folder
      const count = readFileSync(join(cwd, file), "utf8").trim().split("\n").length
      lines.set(example, (lines.get(example) ?? 0) + count)
      if (count >= 100) long.push(file)
    }
    assert.isAbove(files.length, 30)
    assert.isAbove(lines.size, 15)
    assert.deepStrictEqual(long, [])
    // Applications with a page of their own, beside its styles.
    const most = new Map([
      ["chat", 260],
      ["voice", 400]
    ])
    assert.deepStrictEqual(
      [...lines].filter(([example, count]) => count >= (most.get(example) ?? 100)),
      []
    )
  })
})
