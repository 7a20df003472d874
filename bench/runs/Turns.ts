/** Run (a): persisted turns without streaming, warm and cold. Run (b): streamed turns of 200 deltas, their log stored. */
import { hammerTimes } from "../Load.ts"
import { inTurns } from "../Figures.ts"
import { compare, compared, type Effort, type Job, type Measured, medians, once, type Rounds } from "../Measure.ts"
import type { Row } from "../Report.ts"
import { historySize, type Side, stop, type Store } from "../Side.ts"
import { plain, streamed, threadsFor, turnsOn } from "../ThreadTurns.ts"
import type { Prompts } from "../Upstream.ts"
import type { Sides, World } from "../World.ts"

export const plainTurns = async (
  store: Store,
  { baseline, kernel, raw }: Sides,
  concurrency: number,
  world: World
): Promise<ReadonlyArray<Row>> => {
  const jobs = []
  for (const side of [kernel, baseline, raw]) jobs.push(await turnsOn(side, concurrency, plain))
  await world.prompts()
  const [ours, theirs, least] = await compare(jobs, concurrency, world.effort)
  const prompts = await world.prompts()
  if (ours === undefined || theirs === undefined || least === undefined) return []
  const what = `plain turns, ${concurrency} at once`
  const bounds = { perSecond: rates.get(concurrency) ?? null, cpuMillis: 1.8, databaseMillis: 1.6 }
  const found = rows(store, what, [ours, theirs, least], bounds)
  return concurrency === 16 ? [...found, promptRow(store, "prompt of these turns", prompts)] : found
}

/** The goals of turns a second, by how many are at once. */
const rates: ReadonlyMap<number, number> = new Map([
  [16, 0.5],
  [64, 0.65]
])

/** Both sides must send about as much, or the comparison is none. */
const promptRow = (store: Store, what: string, prompts: Readonly<Record<string, Prompts>>): Row => {
  const bytes = (name: string): number => {
    const sent = prompts[name]
    return sent === undefined ? Number.NaN : sent.bytes / sent.count
  }
  return {
    store,
    what,
    unit: "bytes",
    kernel: bytes("kernel"),
    baseline: bytes("baseline"),
    raw: bytes("raw"),
    target: null
  }
}

/** Bounds of the ratio to `raw`. */
interface Bounds {
  readonly perSecond: number | null
  readonly cpuMillis: number | null
  readonly databaseMillis: number | null
}

const rows = (
  store: Store,
  what: string,
  [ours, theirs, least]: readonly [Rounds, Rounds, Rounds | undefined],
  bounds: Bounds
): ReadonlyArray<Row> => {
  const row = (unit: string, key: keyof Bounds & keyof Measured, sense: "at least" | "at most"): Row => {
    const bound = store === "postgres" ? bounds[key] : null
    return {
      store,
      what,
      unit,
      ...compared(ours, theirs, key),
      ...(least === undefined ? {} : { raw: least[key] }),
      target: bound === null ? null : { of: "to raw", sense, bound }
    }
  }
  const found = [row("turns/s", "perSecond", "at least"), row("CPU ms/turn", "cpuMillis", "at most")]
  return store === "postgres" ? [...found, row("database CPU ms/turn", "databaseMillis", "at most")] : found
}

/**
 * The first thousand turns of a process, whose code is not compiled yet. Their threads are made by another process of the same kind, so that
 * the first request that this one answers is a turn that counts. New processes in each round.
 */
export const coldTurns = async (
  start: ReadonlyArray<() => Promise<Side>>,
  rounds: number,
  databaseCpu: Effort["databaseCpu"]
): Promise<ReadonlyArray<Row>> => {
  const found: Array<Array<Measured>> = start.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, begin] of inTurns(start, round)) {
      const preparing = await begin()
      const threads = await threadsFor(preparing, 16)
      await stop([preparing])
      const side = await begin()
      const work = (worker: number) => side.turn(threads[worker] ?? "", plain)
      found[index]?.push(await once({ side, work }, 16, databaseCpu, (job) => hammerTimes(16, 1000, job)))
      await stop([side])
    }
  }
  const [ours, theirs, least] = found.map(medians)
  if (ours === undefined || theirs === undefined) return []
  return rows("postgres", "the first 1,000 plain turns of a process, 16 at once", [ours, theirs, least], {
    perSecond: null,
    cpuMillis: 2.2,
    databaseMillis: null
  })
}

/** What a process holds after 10,000 turns, from its start on. */
export const grownMemory = async (start: ReadonlyArray<() => Promise<Side>>): Promise<ReadonlyArray<Row>> => {
  const found: Array<number> = []
  for (const begin of start) {
    const side = await begin()
    const { work } = await turnsOn(side, 16, plain)
    await hammerTimes(16, 10_000, work)
    found.push((await side.process.stats()).rss / 1e6)
    await stop([side])
  }
  const [kernel = Number.NaN, baseline = null, raw = Number.NaN] = found
  const target = { of: "value", sense: "at most", bound: 180 } as const
  return [{ store: "postgres", what: "memory after 10,000 plain turns", unit: "MB", kernel, baseline, raw, target }]
}

/**
 * Each turn on a thread that its process has not answered before. A warm process of the kernel keeps the histories of threads that it answered
 * last, and other runs stay on a few threads; here it has to read them. The threads are made by another process of the same kind. The first side
 * is measured on known threads, too.
 */
export const turnsOnOtherThreads = async (
  sides: ReadonlyArray<{ readonly side: Side; readonly another: () => Promise<Side> }>,
  { rounds, turns, warm }: { readonly rounds: number; readonly turns: number; readonly warm: number },
  databaseCpu: Effort["databaseCpu"]
): Promise<ReadonlyArray<Row>> => {
  const prepared: Array<{ readonly side: Side; readonly threads: Array<string> }> = []
  for (const { another, side } of sides) {
    const maker = await another()
    const threads: Array<string> = []
    await hammerTimes(16, warm + rounds * turns, async () => threads.push(await maker.thread(historySize)))
    await stop([maker])
    // A warm process has read few histories.
    await hammerTimes(16, warm, () => side.turn(threads.pop() ?? "", plain))
    prepared.push({ side, threads })
  }
  const jobs: Array<Job> = prepared.map(({ side, threads }) => ({
    side,
    work: () => side.turn(threads.pop() ?? "", plain)
  }))
  // The kernel once more, on threads that it knows.
  for (const { side } of sides.slice(0, 1)) jobs.push(await turnsOn(side, 16, plain))
  const found: Array<Array<Measured>> = jobs.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, job] of inTurns(jobs, round)) {
      found[index]?.push(await once(job, 16, databaseCpu, (work) => hammerTimes(16, turns, work)))
    }
  }
  const [ours, theirs, known] = found.map(medians)
  if (ours === undefined || theirs === undefined || known === undefined) return []
  const what = "plain turns, each on a thread that the process has not answered, 16 at once"
  const noBounds = { perSecond: null, cpuMillis: null, databaseMillis: null }
  const againstKnown = (unit: string, key: keyof Measured): Row => ({
    store: "postgres",
    what: "the same of the kernel, against its turns on threads that it has answered",
    unit,
    ...compared(ours, known, key),
    target: { of: "ratio", sense: "at most", bound: 1.15 }
  })
  return [
    ...rows("postgres", what, [ours, theirs, undefined], noBounds),
    againstKnown("CPU ms/turn", "cpuMillis"),
    againstKnown("database CPU ms/turn", "databaseMillis")
  ]
}

export const streamedTurns = async (
  store: Store,
  { baseline, kernel, raw }: Sides,
  world: World
): Promise<ReadonlyArray<Row>> => {
  const jobs = []
  for (const side of [kernel, baseline, raw]) jobs.push(await turnsOn(side, 8, streamed))
  await world.prompts()
  const [ours, theirs, least] = await compare(jobs, 8, world.effort)
  const prompts = await world.prompts()
  if (ours === undefined || theirs === undefined || least === undefined) return []
  const bounds = { perSecond: 0.85, cpuMillis: 1.2, databaseMillis: null }
  const found = rows(store, "streamed turns of 200 deltas, 8 at once", [ours, theirs, least], bounds)
  return [...found, promptRow(store, "prompt of these streamed turns", prompts)]
}
