/**
 * What turns of many owners cost on each node of Citus: `node --conditions=colloquy-source bench/scale/Nodes.ts`, with the address of the
 * database in `TEST_CITUS_URL` and the data folders of its servers, the coordinator first, in `NODE_FOLDERS`. They are on this machine: the
 * CPU of a server is read from Linux's `/proc`.
 */
import { Postgres } from "@colloquy/adapters/postgres"
import { Principal, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { readdirSync, readFileSync } from "node:fs"
import pg from "pg"
import { ticksIn } from "../DatabaseCpu.ts"
import { median } from "../Load.ts"
import { kernelOn, question, type Times } from "./Kernel.ts"

const url = process.env["TEST_CITUS_URL"] ?? ""
const folders = (process.env["NODE_FOLDERS"] ?? "").split(" ")
const seconds = Number(process.env["BENCH_SECONDS"] ?? 6)
const owners = 32
const schema = "bench_nodes"

const stat = (pid: number | string): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
  } catch {
    return ""
  }
}
const fieldsAfterName = (text: string) => text.slice(text.lastIndexOf(") ") + 2).split(" ")

/** Milliseconds of CPU of a server: its first process with those of its children that have ended, and its children. */
const serverCpu = (folder: string): number => {
  const server = readFileSync(`${folder}/postmaster.pid`, "utf8").split("\n")[0] ?? ""
  const own = stat(server)
  const ended = fieldsAfterName(own)
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(stat)
    .filter((text) => text !== "" && fieldsAfterName(text)[1] === server)
  const ticks = ticksIn(own) + Number(ended[13]) + Number(ended[14])
  return children.reduce((sum, text) => sum + ticksIn(text), ticks) * 10
}

const client = new pg.Client({ connectionString: url })
await client.connect()
await client.query(`drop schema if exists ${schema} cascade`)
const options = { url: Redacted.make(url), schema }
await Effect.runPromise(process.argv.includes("--alone") ? Postgres.migrate(options) : Postgres.distribute(options))

const times: Times = { begin: [], settle: [] }
const runtime = ManagedRuntime.make(kernelOn(url, schema, times, 8))
const as = (owner: number) => Principal.provide(`owner-${owner}`)
const threads = await Promise.all(
  Array.from({ length: owners }, (_, owner) =>
    runtime.runPromise(
      Effect.gen(function* () {
        const { threadId } = yield* (yield* Turns).send({ content: question })
        return threadId
      }).pipe(as(owner), Effect.orDie)
    )
  )
)
const oneTurn = (owner: number) =>
  runtime.runPromise(
    Turns.use(({ send }) =>
      send({ content: question, ...(threads[owner] === undefined ? {} : { threadId: threads[owner] }) })
    ).pipe(as(owner), Effect.orDie)
  )

const measure = async (concurrency: number, length: number): Promise<void> => {
  times.begin.length = 0
  times.settle.length = 0
  const walls: Array<number> = []
  const before = folders.map(serverCpu)
  const start = performance.now()
  await Promise.all(
    Array.from({ length: concurrency }, async (_, worker) => {
      for (let round = 0; performance.now() < start + length * 1000; round++) {
        const begun = performance.now()
        await oneTurn((worker + round * concurrency) % owners)
        walls.push(performance.now() - begun)
      }
    })
  )
  const passed = (performance.now() - start) / 1000
  const cpu = folders.map((folder, index) => (serverCpu(folder) - (before[index] ?? 0)) / walls.length)
  console.log(
    `${concurrency} at a time: ${(walls.length / passed).toFixed(0)} turns/s, median ${median(walls).toFixed(1)} ms (begin ${median(times.begin).toFixed(1)}, settle ${median(times.settle).toFixed(1)}); CPU a turn of ${cpu.map((each) => each.toFixed(2)).join(", ")} ms`
  )
}

/** What the kernel and the servers do when nobody asks for anything: milliseconds of CPU a second. */
const idle = async (length: number): Promise<void> => {
  const before = folders.map(serverCpu)
  await new Promise((resolve) => setTimeout(resolve, length * 1000))
  const cpu = folders.map((folder, index) => (serverCpu(folder) - (before[index] ?? 0)) / length)
  console.log(`idle: CPU a second of ${cpu.map((each) => each.toFixed(0)).join(", ")} ms`)
}
await measure(8, 3)
await idle(seconds / 2)
await measure(8, seconds)
await measure(1, seconds / 2)
await idle(seconds / 2)
await runtime.dispose()
await client.query(`drop schema if exists ${schema} cascade`)
await client.end()
