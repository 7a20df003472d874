/** A process that opened a kernel and forgot to close it: it ends when nothing is under way, and not before. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"

/** The model pauses before it calls the tool, while nobody waits for the turn any more; what is learned from it comes later still. */
const program = (store: string) => `
  import { Colloquy, tool } from "colloquy"
  import { memory } from "colloquy/memory"
  import { callTool, pause, say, scripted } from "colloquy/testing"
  ${store}
  const note = tool({ name: "note", description: "Notes", parameters: null, execute: () => void console.log("noted") })
  const learned = '{"operations": [{"op": "ADD", "text": "Ada lives in Oslo.", "message": 1, "quote": "I live in Oslo"}]}'
  const steps = [say("Hello."), [pause("200 millis"), callTool("note")], say("Noted."), [pause("200 millis"), say(learned)]]
  const colloquy = await Colloquy.open({
    store, providers: [scripted(steps)], model: "m", owner: "ada", tools: [note], rooms: [memory()]
  })
  const { assistantId, content } = await colloquy.send({ content: "Hi" })
  console.log(content)
  await colloquy.start({ assistantId, content: "I live in Oslo.", memory: "auto" })
  process.on("exit", (code) => console.log("exit " + code))
`

const runs = async (store: string) => {
  const flags = ["--conditions=colloquy-source", "--disable-warning=ExperimentalWarning", "--input-type=module"]
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, "--eval", program(store)], {
    cwd: import.meta.dirname,
    timeout: 60_000
  })
  return stdout.trim().split("\n")
}

const endsByItself = (prepareStore: () => Promise<{ readonly store: string; readonly remove?: () => Promise<void> }>) =>
  it("ends after the last work, though it was not closed", async () => {
    const { remove, store } = await prepareStore()
    assert.deepStrictEqual(await runs(store), ["Hello.", "noted", "exit 0"])
    await remove?.()
  }, 90_000)

describe("a process in memory", () => {
  endsByItself(async () => ({ store: 'import { inMemory } from "colloquy/in-memory"\nconst store = inMemory()' }))
})

onEmbedded("PGlite", () => {
  describe("a process on PGlite", () => {
    endsByItself(async () => {
      const folder = await mkdtemp(join(tmpdir(), "colloquy-"))
      const dataDir = JSON.stringify(join(folder, "data"))
      return {
        store: `import { pglite } from "colloquy/pglite"\nconst store = pglite({ dataDir: ${dataDir} })`,
        remove: () => rm(folder, { recursive: true })
      }
    })
  })
})

onPostgres((url) => {
  describe("a process on PostgreSQL", () => {
    const schema = `test_${globalThis.crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`
    endsByItself(async () => {
      const options = JSON.stringify({ url, schema })
      const close = `
        import pg from "pg"
        const client = new pg.Client(${JSON.stringify(url)})
        await client.connect()
        await client.query("drop schema if exists ${schema} cascade")
        await client.end()`
      return {
        store: `import { postgres } from "colloquy/postgres"\nconst store = postgres(${options})`,
        remove: async () => {
          await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", close], {
            cwd: import.meta.dirname
          })
        }
      }
    })
  })
})
