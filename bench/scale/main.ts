/**
 * `npm run bench:scale`: what a turn, a list, a sweep and a search cost in a large database beside one that holds the same owner alone, on one
 * server and in one run: the two take turns, so that whatever else runs on the machine hits both. Then the same turns from 1, 2 and 4 processes.
 * `-- --owners=1000 --threads=200 --turns=12` is the size; `--rounds=300` how often each is asked. Filled schemas are used again.
 */
import { type AssistantId, Principal, type ThreadId, Threads, Turns } from "@colloquy/core"
import { FollowUpStore, noCharge, RunStore } from "@colloquy/core/adapters"
import { Retrieval } from "@colloquy/core/retrieval"
import { RetentionStore } from "@colloquy/core/retention"
import * as Effect from "effect/Effect"
import * as Duration from "effect/Duration"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import pg from "pg"
import { readFileSync } from "node:fs"
import { watchDatabase } from "../DatabaseCpu.ts"
import { generate, ownerName, searched, type Size } from "./Generator.ts"
import { kernelOn, question, type Times } from "./Kernel.ts"

const { values } = parseArgs({
  options: {
    owners: { type: "string", default: "1000" },
    threads: { type: "string", default: "200" },
    turns: { type: "string", default: "12" },
    rounds: { type: "string", default: "300" },
    seconds: { type: "string", default: "20" }
  }
})
const url = process.env["TEST_DATABASE_URL"] ?? ""
const owners = Number(values.owners)
const asked = Math.max(1, Math.floor(owners / 2))
const size: Size = { firstOwner: 1, owners, threads: Number(values.threads), turns: Number(values.turns) }
const rounds = Number(values.rounds)

const database = new pg.Client({ connectionString: url })
await database.connect()

const isFilled = async (schema: string): Promise<boolean> => {
  const { rows } = await database.query("select to_regclass($1) is not null as found", [`${schema}.bench_filled`])
  return rows[0]?.found === true
}

const fill = async (schema: string, what: Size): Promise<void> => {
  if (await isFilled(schema)) return
  const start = performance.now()
  const messages = await generate(url, schema, what, (text) => console.error(text))
  await database.query(`vacuum analyze`)
  await database.query(`create table ${schema}.bench_filled as select now()`)
  console.log(`${schema}: ${messages} messages in ${((performance.now() - start) / 1000).toFixed(0)} s`)
}

const full = `scale_${values.owners}_${values.threads}_${values.turns}`
const alone = `${full}_alone`
await fill(full, size)
await fill(alone, { ...size, firstOwner: asked, owners: 1 })

type Services = Layer.Success<ReturnType<typeof kernelOn>>

const middle = (numbers: ReadonlyArray<number>): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

/** Milliseconds of CPU that the server has spent on these connections, from Linux's scheduler: exact, and the same on a busy machine. */
const connectionCpu = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => sum + Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6, 0)

interface Side {
  readonly pids: ReadonlyArray<number>
  readonly times: Times
  readonly run: <A>(effect: Effect.Effect<A, unknown, Services | Principal>) => Promise<A>
  readonly threads: ReadonlyArray<ThreadId>
  readonly assistantId: AssistantId
  readonly close: () => Promise<void>
}

const openSide = async (schema: string): Promise<Side> => {
  const times: Times = { begin: [], settle: [] }
  const { rows: others } = await database.query<{ readonly pid: number }>("select pid from pg_stat_activity")
  const runtime = ManagedRuntime.make(kernelOn(url, schema, times, 1))
  const run: Side["run"] = (effect) =>
    runtime.runPromise(effect.pipe(Principal.provide(ownerName(asked)), Effect.orDie))
  const listed = await run(Threads.use(({ list }) => list({ page: { limit: 100, skip: 0 }, includeMessages: false })))
  const [first] = listed
  if (first === undefined) throw new Error(`There are no threads in ${schema}.`)
  const { rows } = await database.query<{ readonly pid: number }>(
    "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> all($1)",
    [others.map(({ pid }) => pid)]
  )
  return {
    pids: rows.map(({ pid }) => pid),
    times,
    run,
    threads: listed.map(({ thread }) => thread.id),
    assistantId: first.thread.assistantId,
    close: () => runtime.dispose()
  }
}

const sides = [await openSide(alone), await openSide(full)]

/** One operation; the round says on which thread. */
type Operation = (side: Side, round: number) => Promise<unknown>

const threadForRound = ({ threads }: Side, round: number) => threads[(round * 37) % threads.length]

const operations: Readonly<Record<string, Operation>> = {
  "a turn (load, begin, settle)": (side, round) => {
    const threadId = threadForRound(side, round)
    return side.run(
      Turns.use(({ send }) => send({ content: question, ...(threadId === undefined ? {} : { threadId }) }))
    )
  },
  "a turn on a new thread": (side) =>
    side.run(Turns.use(({ send }) => send({ content: question, assistantId: side.assistantId }))),
  "list of 20 threads": (side) =>
    side.run(Threads.use(({ list }) => list({ page: { limit: 20, skip: 20 }, includeMessages: false }))),
  "a thread with its messages": (side, round) => {
    const id = side.threads[50 + (round % 50)] ?? side.threads[0]
    return id === undefined ? Promise.resolve() : side.run(Threads.use(({ get }) => get(id)))
  },
  "sweep: runs of dead processes": (side) => side.run(RunStore.use(({ expired }) => expired(100))),
  "sweep: follow-ups that are due": (side) =>
    side.run(FollowUpStore.use(({ claim }) => claim(["index-document", "learn"], 4, Duration.seconds(30)))),
  "sweep: retention, nothing old": (side) =>
    side.run(
      Effect.forEach(
        ["logs", "idempotencyKeys", "deletedRuns", "chargeReceipts", "deadFollowUps", "learnedRuns"] as const,
        (what) => RetentionStore.use(({ prune }) => prune(what, new Date("2025-01-01"), 500))
      )
    ),
  "search of 100 chunks by five words": (side, round) =>
    side.run(
      Retrieval.use(({ search }) =>
        search({
          scopes: [searched],
          query: `harbour${round % 500} glacier invoice saffron${(round * 3) % 500} comet`,
          limit: 10,
          embedding: null,
          beginCharge: noCharge
        })
      )
    ),
  "removal of a thread": async (side) => {
    const found = await side.run(
      Threads.use(({ list }) => list({ page: { limit: 1, skip: 150 }, includeMessages: false }))
    )
    const id = found[0]?.thread.id
    const start = performance.now()
    if (id !== undefined) await side.run(Threads.use(({ remove }) => remove(id)))
    return performance.now() - start
  }
}

const pair = (small: number, large: number): string =>
  `${small.toFixed(2).padStart(8)} ${large.toFixed(2).padStart(8)} ${(large / small).toFixed(2).padStart(6)}`

console.log(`${"milliseconds, medians".padEnd(40)}    alone     full  ratio | CPU of the database: alone, full, ratio`)
for (const [name, operation] of Object.entries(operations)) {
  const wall: Array<Array<number>> = sides.map(() => [])
  const cpu: Array<Array<number>> = sides.map(() => [])
  const count = name === "removal of a thread" ? Math.min(rounds, 30) : rounds
  for (let round = -5; round < count; round++) {
    // A, B, B, A.
    for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const side = sides[which]
      if (side === undefined) continue
      const used = connectionCpu(side.pids)
      const start = performance.now()
      const own = await operation(side, Math.abs(round))
      if (round < 0) continue
      wall[which]?.push(typeof own === "number" ? own : performance.now() - start)
      cpu[which]?.push(connectionCpu(side.pids) - used)
    }
  }
  const [one = [], other = []] = wall
  const [less = [], more = []] = cpu
  console.log(`${name.padEnd(40)} ${pair(middle(one), middle(other))} | ${pair(middle(less), middle(more))}`)
}
for (const [name, times] of [
  ["begin", "begin"],
  ["settle", "settle"]
] as const) {
  const [one, other] = sides
  if (one !== undefined && other !== undefined) {
    console.log(`${`  of turns: ${name}`.padEnd(40)} ${pair(middle(one.times[times]), middle(other.times[times]))}`)
  }
}
for (const side of sides) await side.close()

/** Turns from several processes on the full database, and what each costs the database. */
const processes = async (count: number): Promise<void> => {
  const cpu = await watchDatabase(url)
  const workers = Array.from({ length: count }, (_, index) =>
    fork(fileURLToPath(new URL("Worker.ts", import.meta.url)), [full, String(owners), String(index)], {
      execArgv: ["--conditions=colloquy-source", "--disable-warning=ExperimentalWarning"],
      env: { ...process.env, BENCH_SECONDS: values.seconds }
    })
  )
  await Promise.all(workers.map((worker) => once(worker, "message")))
  const before = await cpu.cpuMillis()
  for (const worker of workers) worker.send("go")
  const told = await Promise.all(workers.map(async (worker) => Number((await once(worker, "message"))[0])))
  const turns = told.reduce((sum, each) => sum + each, 0)
  const used = (await cpu.cpuMillis()) - before
  console.log(
    `${count} process(es): ${(turns / Number(values.seconds)).toFixed(0)} turns/s, ${(used / turns).toFixed(2)} ms of the database's CPU for each`
  )
  await Promise.all(
    workers.map((worker) => {
      worker.send("end")
      return once(worker, "exit")
    })
  )
  await cpu.stop()
}
for (const count of [1, 2, 4]) await processes(count)
await database.end()
