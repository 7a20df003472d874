/** Run (a): persisted turns without streaming, warm and cold. Run (b): streamed turns of 200 deltas, their log stored. */
import { hammer, hammerTimes } from "../Load.ts"
import { compare, type Effort, type Measured, medians, once } from "../Measure.ts"
import type { Row } from "../Report.ts"
import { historySize, type Side, stop, type Store, type Turn } from "../Side.ts"

const threadsFor = (side: Side, count: number): Promise<ReadonlyArray<string>> =>
  Promise.all(Array.from({ length: count }, () => side.thread(historySize)))

/** A server that has just begun runs code that is not compiled yet: what counts is how it goes on. */
export const warmUp = async (side: Side, millis: number): Promise<void> => {
  for (const turn of [
    { model: "burst-20", stream: false },
    { model: "burst-200", stream: true }
  ]) {
    const { work } = await turnsOn(side, 16, turn)
    await hammer(16, millis / 2, work)
  }
}

const turnsOn = async (side: Side, concurrency: number, turn: Turn) => {
  const threads = await threadsFor(side, concurrency)
  return { side, work: (worker: number) => side.turn(threads[worker] ?? "", turn) }
}

/** The kernel, its baseline, and the baseline that asks with `fetch`. */
export interface Sides {
  readonly kernel: Side
  readonly baseline: Side
  readonly onFetch: Side
}

export const plainTurns = async (
  store: Store,
  { baseline, kernel, onFetch }: Sides,
  concurrency: number,
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const turn = { model: "burst-20", stream: false }
  const jobs = []
  for (const side of [kernel, baseline, onFetch]) jobs.push(await turnsOn(side, concurrency, turn))
  const [ours, raw, fetched] = await compare(jobs, concurrency, effort)
  if (ours === undefined || raw === undefined || fetched === undefined) return []
  return rows(store, `plain turns, ${concurrency} at once`, [ours, raw, fetched], {
    perSecond: concurrency > 1 ? 0.7 : null,
    cpuMillis: 1.8,
    databaseMillis: 1.6
  })
}

interface Bounds {
  readonly perSecond: number | null
  readonly cpuMillis: number | null
  readonly databaseMillis: number | null
}

const rows = (
  store: Store,
  what: string,
  [ours, raw, fetched]: readonly [Measured, Measured, Measured?],
  bounds: Bounds
): ReadonlyArray<Row> => {
  const row = (unit: string, key: keyof Bounds, ratio: "at least" | "at most"): Row => {
    const bound = store === "postgres" ? bounds[key] : null
    const target = bound === null ? null : { ratio, bound }
    return {
      store,
      what,
      unit,
      kernel: ours[key],
      baseline: raw[key],
      ...(fetched === undefined ? {} : { onFetch: fetched[key] }),
      target
    }
  }
  const found = [row("turns/s", "perSecond", "at least"), row("CPU ms/turn", "cpuMillis", "at most")]
  return store === "postgres" ? [...found, row("database CPU ms/turn", "databaseMillis", "at most")] : found
}

/** The first thousand turns of a process, whose code is not compiled yet. Two processes of each kind, in turns. */
export const coldTurns = async (
  start: ReadonlyArray<() => Promise<Side>>,
  databaseCpu: Effort["databaseCpu"]
): Promise<ReadonlyArray<Row>> => {
  const found: Array<Array<Measured>> = start.map(() => [])
  for (let round = 0; round < 2; round++) {
    for (const [index, begin] of start.entries()) {
      const side = await begin()
      const job = await turnsOn(side, 16, { model: "burst-20", stream: false })
      found[index]?.push(await once(job, 16, databaseCpu, (work) => hammerTimes(16, 1000, work)))
      await stop([side])
    }
  }
  const [ours, raw] = found.map(medians)
  if (ours === undefined || raw === undefined) return []
  return rows("postgres", "the first 1,000 plain turns of a process, 16 at once", [ours, raw], {
    perSecond: 0.6,
    cpuMillis: null,
    databaseMillis: null
  })
}

export const streamedTurns = async (
  store: Store,
  { baseline, kernel, onFetch }: Sides,
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const turn = { model: "burst-200", stream: true }
  const jobs = []
  for (const side of [kernel, baseline, onFetch]) jobs.push(await turnsOn(side, 8, turn))
  const [ours, raw, fetched] = await compare(jobs, 8, effort)
  if (ours === undefined || raw === undefined || fetched === undefined) return []
  const bounds = { perSecond: null, cpuMillis: 1.3, databaseMillis: null }
  return rows(store, "streamed turns of 200 deltas, 8 at once", [ours, raw, fetched], bounds)
}
