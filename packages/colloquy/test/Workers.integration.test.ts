/**
 * A platform without Node's modules, such as Cloudflare Workers: what a conversation over a provider of HTTP needs must not import one. The
 * code is bundled as for a browser, and the bundle answers in a process from which nothing of Node is imported.
 */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { isBuiltin } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { rolldown } from "rolldown"

const bundled = async (source: string) => {
  const builtin = new Set<string>()
  const entry = join(import.meta.dirname, "virtual.ts")
  const build = await rolldown({
    input: entry,
    platform: "browser",
    resolve: { conditionNames: ["colloquy-source", "import", "default"] },
    logLevel: "silent",
    plugins: [
      {
        name: "program",
        resolveId: (id) => {
          if (id === entry) return id
          if (!isBuiltin(id)) return null
          builtin.add(id)
          return { id, external: true }
        },
        load: (id) => (id === entry ? { code: source, moduleType: "ts" } : null)
      }
    ]
  })
  const { output } = await build.generate({ format: "esm", codeSplitting: false })
  await build.close()
  const code = output.map((file) => (file.type === "chunk" ? file.code : "")).join("")
  return { builtin: [...builtin].toSorted(), code }
}

const program = `
  import { Colloquy, provider } from "colloquy"
  import { inMemory } from "colloquy/in-memory"
  import { openai } from "colloquy/openai"
  const house = provider({ id: "house", models: ["house-1"], chat: async function* () { yield "Hello." } })
  const colloquy = await Colloquy.open({
    store: inMemory(), providers: [house, openai({ apiKey: "sk-1" })], model: "house-1", owner: "ada"
  })
  const handler = (await colloquy.handler({ authenticate: () => "ada" })).handler
  const body = JSON.stringify({ content: "Hi" })
  const request = { method: "POST", headers: { "content-type": "application/json" }, body }
  console.log((await (await handler(new Request("http://worker/threads/messages", request))).json()).content)
  await colloquy.close()
`

describe("without Node's modules", () => {
  it("a conversation in memory, a vendor's provider and the HTTP API are bundled, and answer", async () => {
    const { builtin, code } = await bundled(program)
    assert.deepStrictEqual(builtin, [])
    const folder = await mkdtemp(join(tmpdir(), "colloquy-"))
    const file = join(folder, "worker.mjs")
    await writeFile(file, code)
    const { stdout } = await promisify(execFile)(process.execPath, [file])
    assert.strictEqual(stdout, "Hello.\n")
    await rm(folder, { recursive: true })
  }, 60_000)

  it("PostgreSQL needs those that `nodejs_compat` gives", async () => {
    const { builtin } = await bundled('import { postgres } from "colloquy/postgres"\nconsole.log(postgres)')
    assert.deepStrictEqual(builtin, ["node:buffer", "node:crypto", "node:net", "node:tls"])
  }, 60_000)
})
