/** Two processes, one database: one follows and ends the run of the other. */
import { assert, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import pg from "pg"
import { onPostgres } from "../../test/databases.ts"
import { bareEnvironment } from "../../test/environment.ts"

const main = fileURLToPath(new URL("main.ts", import.meta.url))

/** A process of the example; `next` returns its output, line by line. */
const run = (environment: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) => {
  const child: ChildProcess = spawn(process.execPath, ["--conditions=colloquy-source", main, ...words], {
    env: { ...bareEnvironment, ...environment },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const lines = createInterface({ input: child.stdout ?? assert.fail() })[Symbol.asyncIterator]()
  const ended = once(child, "close")
  return {
    next: async () => {
      const line = await lines.next()
      return JSON.parse(line.done === true ? assert.fail("The process ended") : line.value)
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await ended
    }
  }
}

const scratchSchema = (url: string) => {
  const name = `two_processes_${process.pid}`
  return {
    name,
    [Symbol.asyncDispose]: async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(`drop schema if exists ${name} cascade`)
      await client.end()
    }
  }
}

onPostgres((url) => {
  it("one begins a turn, the other follows and cancels it", async () => {
    await using schema = scratchSchema(url)
    const environment = { DATABASE_URL: url, DATABASE_SCHEMA: schema.name }
    await using first = run(environment, "begin")
    const { runId, threadId } = await first.next()
    await using second = run(environment, "cancel", threadId, runId)
    const heard = await second.next()
    const reply = await first.next()
    assert.match(heard, /^1 2 3 4 5/)
    assert.deepStrictEqual(reply, { status: "CANCELLED", content: heard })
  })
})
