/**
 * `npm run bench`: the built packages against a raw baseline on this machine, in one run. Prints a table, and JSON into the file that
 * `--json` names. `--quick` takes a few minutes; `--only=start,turns` makes some runs, `--list` names them. `docs/benchmarks.md` says how
 * and why.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { cpus, loadavg } from "node:os"
import { parseArgs } from "node:util"
import { measureDurability } from "./Databases.ts"
import { baselineRatio, holds, type Row, table } from "./Report.ts"
import { chosen, runs } from "./Runs.ts"
import { World } from "./World.ts"

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean" },
    list: { type: "boolean" },
    json: { type: "string" },
    only: { type: "string" },
    stores: { type: "string" }
  }
})
if (options.list === true) {
  for (const { name, says, stores } of runs) console.log(`${name.padEnd(10)} ${says} (${stores.join(", ")})`)
  process.exit(0)
}
const isQuick = options.quick === true
const plan = chosen({ isQuick, only: options.only, stores: options.stores })

const database = process.env["TEST_DATABASE_URL"]
if (database === undefined) throw new Error("TEST_DATABASE_URL is not set. Run this with: npm run bench")

execFileSync("npm", ["run", "--silent", "build"], { cwd: new URL("../", import.meta.url), stdio: "inherit" })
const { commitMillis, settings, version } = await measureDurability(database)
const [load = 0] = loadavg()
const machine = {
  node: process.version,
  postgres: version,
  durability: settings,
  commitMillis,
  cpu: cpus()[0]?.model ?? "",
  cores: cpus().length,
  loadBefore: load
}
const durability = Object.entries(settings)
  .map(([name, value]) => `${name} ${value}`)
  .join(", ")
console.log(
  [
    `Node ${machine.node} on ${machine.cores} cores (${machine.cpu}); the machine's load before was ${load.toFixed(1)}.`,
    "The servers, their provider, PostgreSQL and the load share the cores; nothing is bound to one.",
    `PostgreSQL ${version}: ${durability}; a transaction that writes one row takes ${commitMillis.toFixed(2)} ms.`
  ].join("\n")
)

const world = await World.open(database, isQuick)
const rows: Array<Row> = []
const began = performance.now()
try {
  for (const [at, [store, run]] of plan.entries()) {
    const from = performance.now()
    const found = await run.measure(world, store)
    for (const row of found) process.stderr.write(`${row.store} ${row.what}: ${row.kernel.toFixed(2)} ${row.unit}\n`)
    process.stderr.write(`(${run.name} on ${store}: ${((performance.now() - from) / 1000).toFixed(0)} s)\n`)
    rows.push(...found)
    if (plan[at + 1]?.[0] !== store) await world.leave(store)
  }
} finally {
  await world.close()
}

console.log(`\n${table(rows)}`)
const judged = rows.filter((row) => holds(row) !== null)
const missed = judged.filter((row) => holds(row) === false)
console.log(
  judged.length === 0
    ? "\nNo target is set for these rows."
    : missed.length === 0
      ? `\nAll ${judged.length} targets hold.`
      : `\n${missed.length} of ${judged.length} targets are missed on this machine, this time.`
)
console.log(`It took ${((performance.now() - began) / 60_000).toFixed(1)} minutes.`)
if (options.json !== undefined) {
  const found = rows.map((row) => ({ ...row, ratio: baselineRatio(row), holds: holds(row) }))
  writeFileSync(options.json, `${JSON.stringify({ machine, rows: found }, null, 2)}\n`)
}
