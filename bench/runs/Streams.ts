/**
 * Run (c): many streams at once. The upstream writes the time into each delta, so that the reader knows how late it came. Slow streams
 * (4 deltas a second) tell the memory of one, real-time streams (50 deltas a second) how many a core carries.
 */
import { percentile } from "../Load.ts"
import type { Row } from "../Report.ts"
import type { Side, Store } from "../Side.ts"

interface Watched {
  readonly lateMillis: number
  /** Cores that the side's process kept busy. */
  readonly cores: number
  readonly bytesAStream: number
}

const now = () => performance.timeOrigin + performance.now()

/** Runs so many streams to their end and looks at memory in the middle. They begin one after the other within a second, and all of it counts. */
const watch = async (side: Side, count: number, deltas: number, every: number): Promise<Watched> => {
  const threads: Array<string> = []
  for (let index = 0; index < count; index++) threads.push(await side.thread(0))
  await side.process.collect()
  const before = await side.process.stats()
  const began = now()
  const late: Array<number> = []
  const hear = (text: string) => {
    const at = now()
    for (const [, sent] of text.matchAll(/"content":"(\d+\.?\d*) "/gu)) {
      late.push(at - Number(sent))
    }
  }
  const model = `paced-${deltas}-${every}`
  const begin = async (id: string, index: number) => {
    await new Promise((resolve) => setTimeout(resolve, (index / count) * 1000))
    await side.turn(id, { model, stream: true }, hear)
  }
  const all = Promise.all(threads.map(begin))
  await new Promise((resolve) => setTimeout(resolve, (deltas * every) / 2))
  await side.process.collect()
  const middle = await side.process.stats()
  await all
  const seconds = (now() - began) / 1000
  const after = await side.process.stats()
  return {
    lateMillis: percentile(late, 0.99),
    cores: (after.cpuMicros - before.cpuMicros) / 1e6 / seconds,
    bytesAStream: (middle.rss - before.rss) / count
  }
}

const targets = (store: Store) => store === "postgres"

/** For processes that have just begun: what earlier work left free would hide what a stream takes. */
export const slowStreams = async (
  store: Store,
  kernel: Side,
  baseline: Side,
  deltas: number
): Promise<ReadonlyArray<Row>> => {
  for (const side of [baseline, kernel]) await watch(side, 20, 8, 250)
  const raw = await watch(baseline, 500, deltas, 250)
  const ours = await watch(kernel, 500, deltas, 250)
  const row = { store, what: "500 slow streams", target: null }
  return [
    { ...row, unit: "p99 ms late", kernel: ours.lateMillis, baseline: raw.lateMillis },
    {
      ...row,
      unit: "KB/stream",
      kernel: ours.bytesAStream / 1000,
      baseline: raw.bytesAStream / 1000,
      target: targets(store) ? { value: "at most", bound: 200 } : null
    },
    { ...row, unit: "cores", kernel: ours.cores, baseline: raw.cores }
  ]
}

const inTime = 50

/** The largest of the numbers of real-time streams that a side carries in time. What fails once is tried once more. */
const carried = async (side: Side, counts: ReadonlyArray<number>, deltas: number) => {
  await watch(side, 20, 50, 20)
  let best = { count: 0, lateMillis: Number.NaN, cores: 0 }
  for (const count of counts) {
    let seen = await watch(side, count, deltas, 20)
    if (!(seen.lateMillis < inTime)) seen = await watch(side, count, deltas, 20)
    if (!(seen.lateMillis < inTime)) break
    best = { count, lateMillis: seen.lateMillis, cores: seen.cores }
  }
  return best
}

export const realTimeStreams = async (
  store: Store,
  kernel: Side,
  baseline: Side,
  counts: ReadonlyArray<number>,
  deltas: number
): Promise<ReadonlyArray<Row>> => {
  const raw = await carried(baseline, counts, deltas)
  const ours = await carried(kernel, counts, deltas)
  const row = { store, what: `real-time streams in time (up to ${counts.at(-1)} tried)`, target: null }
  return [
    {
      ...row,
      unit: "streams",
      kernel: ours.count,
      baseline: raw.count,
      target: targets(store) ? { value: "at least", bound: 300 } : null
    },
    { ...row, unit: "p99 ms late", kernel: ours.lateMillis, baseline: raw.lateMillis },
    { ...row, unit: "CPU ms/s a stream", kernel: perStream(ours), baseline: perStream(raw) }
  ]
}

const perStream = ({ cores, count }: { readonly cores: number; readonly count: number }) => (cores * 1000) / count
