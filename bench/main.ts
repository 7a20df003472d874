/**
 * `npm run bench`: the built packages against a raw baseline on this machine, in one run. Prints a table, and JSON into the file that
 * `--json` names. `--quick` takes about a minute; `--only=start,turns` runs a part. `docs/benchmarks.md` says how and why.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { watchDatabase } from "./DatabaseCpu.ts"
import { Process } from "./Processes.ts"
import { holds, ratioOf, type Row, table } from "./Report.ts"
import { files } from "./runs/Files.ts"
import { longThread } from "./runs/LongThreads.ts"
import { memories } from "./runs/Memories.ts"
import { search } from "./runs/Search.ts"
import { sizes } from "./runs/Sizes.ts"
import { smallPool } from "./runs/SmallPool.ts"
import { startUp } from "./runs/Start.ts"
import { realTimeStreams, slowStreams } from "./runs/Streams.ts"
import { toolRounds } from "./runs/ToolRounds.ts"
import { coldTurns, plainTurns, type Sides, streamedTurns, warmUp } from "./runs/Turns.ts"
import { voice } from "./runs/Voice.ts"
import { type Side, startBaseline, startKernel, stop, type Store } from "./Side.ts"

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean" },
    json: { type: "string" },
    only: { type: "string" },
    stores: { type: "string" }
  }
})
const quick = options.quick === true
const isWanted = (run: string) => options.only === undefined || options.only.split(",").includes(run)
const isStoreWanted = (store: Store) => options.stores === undefined || options.stores.split(",").includes(store)

const database = process.env["TEST_DATABASE_URL"]
if (database === undefined) throw new Error("TEST_DATABASE_URL is not set. Run this with: npm run bench")

execFileSync("npm", ["run", "--silent", "build"], { cwd: new URL("../", import.meta.url), stdio: "inherit" })
const watched = await watchDatabase(database)
const effort = { ...(quick ? { rounds: 3, millis: 500 } : { rounds: 5, millis: 1000 }), databaseCpu: watched.cpuMillis }
const provider = await Process.start("Upstream", {})
const upstream = `http://127.0.0.1:${provider.port}/v1`
const rows: Array<Row> = []

const measure = async (name: string, run: () => Promise<ReadonlyArray<Row>>): Promise<void> => {
  if (!isWanted(name)) return
  const found = await run()
  for (const row of found) process.stderr.write(`${row.store} ${row.what}: ${row.kernel.toFixed(2)} ${row.unit}\n`)
  rows.push(...found)
}

/** Streams and long threads on Postgres only: there the network and the log cost what they cost in production. */
const measureStore = async (store: Store, baseline: Side, onFetch: Side): Promise<void> => {
  const kernel = await startKernel(upstream, store, { DATABASE_URL: database })
  const sides: Sides = { kernel, baseline, onFetch }
  if (store === "postgres") await measure("slow", () => slowStreams(store, kernel, baseline, quick ? 16 : 32))
  for (const side of [kernel, baseline, onFetch]) await warmUp(side, quick ? 1500 : 3000)
  for (const concurrency of [1, 16, 64]) {
    await measure("turns", () => plainTurns(store, sides, concurrency, effort))
  }
  await measure("stream", () => streamedTurns(store, sides, effort))
  if (!quick) await measure("tools", () => toolRounds(store, kernel, baseline, effort))
  if (store === "postgres") {
    for (const messages of quick ? [1000] : [1000, 10_000]) {
      await measure("threads", () => longThread(store, kernel, baseline, messages, effort))
    }
    const counts = quick ? [150] : [100, 150, 200, 250, 300, 350]
    await measure("realtime", () => realTimeStreams(store, kernel, baseline, counts, 150))
  }
  await stop([kernel])
}

const beginKernel = () => startKernel(upstream, "postgres", { DATABASE_URL: database })
const beginBaseline = () => startBaseline(upstream, database)
if (isStoreWanted("postgres")) await measure("cold", () => coldTurns([beginKernel, beginBaseline], effort.databaseCpu))
const baseline = await beginBaseline()
const onFetch = await startBaseline(upstream, database, { BENCH_FETCH: "1" })
for (const store of ["postgres", "pglite", "in-memory"] as const) {
  if (isStoreWanted(store) && !(quick && store !== "postgres")) await measureStore(store, baseline, onFetch)
}
if (isStoreWanted("postgres")) await measure("pool", () => smallPool(upstream, database))
if (isStoreWanted("postgres")) await measure("search", () => search(database, quick ? [1000] : [1000, 20_000, 200_000]))
if (isStoreWanted("postgres")) await measure("memories", () => memories(database, quick ? 1000 : 10_000))
if (isStoreWanted("postgres")) await measure("files", () => files(database, quick ? 2 : 5))
for (const store of ["postgres", "pglite"] as const) {
  if (isStoreWanted(store))
    await measure("start", () => startUp(upstream, store, { DATABASE_URL: database }, quick ? 2 : 5))
}
await measure("voice", () => voice(quick ? 20 : 80, quick ? 3 : 5, quick ? 3 : 8))
await measure("sizes", sizes)
const prompts = await provider.ask<{ readonly messagesAPrompt: number; readonly bytesAPrompt: number }>("prompts")
await stop([baseline, onFetch])
await watched.stop()
await provider.stop()

console.log(table(rows))
console.log(
  `\nPrompts had ${prompts.messagesAPrompt.toFixed(1)} messages and ${prompts.bytesAPrompt.toFixed(0)} bytes on average.`
)
const missed = rows.filter((row) => holds(row) === false)
console.log(
  missed.length === 0 ? "All targets hold." : `${missed.length} targets are missed on this machine, this time.`
)
if (options.json !== undefined) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? "", cores: cpus().length }
  const found = rows.map((row) => ({ ...row, ratio: ratioOf(row), holds: holds(row) }))
  writeFileSync(options.json, `${JSON.stringify({ machine, rows: found }, null, 2)}\n`)
}
