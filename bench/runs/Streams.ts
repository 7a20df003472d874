/**
 * Run (c): many streams at once. The upstream writes the time into each delta, so that the reader knows how late it came. Slow streams
 * (4 deltas a second) tell the memory of one, real-time streams (50 deltas a second) how many a core carries.
 */
import { inRounds, inTurns } from "../Figures.ts"
import { percentile } from "../Load.ts"
import type { Row } from "../Report.ts"
import { type Side, stop, type Store } from "../Side.ts"

interface Watched {
  readonly lateMillis: number
  /** From the request of a stream to its first word, at p99. */
  readonly firstMillis: number
  /** Cores that the side's process kept busy. */
  readonly cores: number
}

const now = () => performance.timeOrigin + performance.now()

/** Runs so many streams to their end. They begin one after the other within a second, and all of it counts. */
const watch = async (
  side: Side,
  count: number,
  deltas: number,
  every: number,
  inTheMiddle: () => Promise<void> = async () => {}
): Promise<Watched> => {
  const threads: Array<string> = []
  for (let index = 0; index < count; index++) threads.push(await side.thread(0))
  await side.process.collect()
  const before = await side.process.stats()
  const began = now()
  const late: Array<number> = []
  const waited: Array<number> = []
  /** Also of a delta that the network cut, and of several in one event. */
  const listener = () => {
    const asked = now()
    let unread = ""
    let isFirst = true
    return (text: string) => {
      const at = now()
      const lines = (unread + text).split("\n")
      unread = lines.pop() ?? ""
      for (const line of lines) {
        if (line.includes('"status":')) continue
        const [, times = ""] = /"content":"([\d. ]+)"/u.exec(line) ?? []
        for (const sent of times.split(" ")) {
          if (sent === "") continue
          if (isFirst) waited.push(at - asked)
          isFirst = false
          late.push(at - Number(sent))
        }
      }
    }
  }
  const model = `paced-${deltas}-${every}`
  const begin = async (id: string, index: number) => {
    await new Promise((resolve) => setTimeout(resolve, (index / count) * 1000))
    await side.turn(id, { model, stream: true }, listener())
  }
  const all = Promise.all(threads.map(begin))
  await new Promise((resolve) => setTimeout(resolve, (deltas * every) / 2))
  await inTheMiddle()
  await all
  const seconds = (now() - began) / 1000
  const after = await side.process.stats()
  if (late.length !== count * deltas) throw new Error(`${late.length} deltas of ${count * deltas} were heard`)
  return {
    lateMillis: percentile(late, 0.99),
    firstMillis: percentile(waited, 0.99),
    cores: (after.cpuMicros - before.cpuMicros) / 1e6 / seconds
  }
}

const slowCount = 500

/**
 * For processes that have just begun: what earlier work left free would hide what a stream takes. Memory is looked at in the middle, behind
 * a collection, which makes what comes then late on both sides.
 */
export const slowStreams = async (
  store: Store,
  start: ReadonlyArray<() => Promise<Side>>,
  deltas: number,
  rounds: number
): Promise<ReadonlyArray<Row>> => {
  const found: Array<Array<Watched & { readonly kilobytes: number }>> = start.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, begin] of inTurns(start, round)) {
      const side = await begin()
      await watch(side, 20, 8, 250)
      await side.process.collect()
      const before = (await side.process.stats()).rss
      let middle = before
      const watched = await watch(side, slowCount, deltas, 250, async () => {
        await side.process.collect()
        middle = (await side.process.stats()).rss
      })
      found[index]?.push({ ...watched, kilobytes: (middle - before) / slowCount / 1000 })
      await stop([side])
    }
  }
  const [ours = [], raw = []] = found
  const of = (key: "cores" | "kilobytes" | "lateMillis") =>
    inRounds(
      ours.map((each) => each[key]),
      raw.map((each) => each[key])
    )
  const row = { store, what: `${slowCount} slow streams`, target: null }
  return [
    { ...row, unit: "p99 ms late", ...of("lateMillis") },
    { ...row, unit: "KB/stream", ...of("kilobytes"), target: { of: "value", sense: "at most", bound: 250 } },
    { ...row, unit: "cores", ...of("cores") }
  ]
}

const inTime = 50
const wanted = 300

interface Carried extends Watched {
  readonly count: number
}

/** Does a side carry so many in time? What fails once is tried once more. */
const attempt = async (side: Side, count: number, deltas: number): Promise<Carried | null> => {
  for (let time = 0; time < 2; time++) {
    const seen = await watch(side, count, deltas, 20)
    if (seen.lateMillis < inTime) return { count, ...seen }
  }
  return null
}

/**
 * The largest of the numbers of real-time streams that each side carries in time. The sides take turns at every number; one that has failed
 * is asked no more. What they cost is compared at the largest number that both carry.
 */
export const realTimeStreams = async (
  store: Store,
  kernel: Side,
  baseline: Side,
  counts: ReadonlyArray<number>,
  deltas: number
): Promise<ReadonlyArray<Row>> => {
  const sides = [kernel, baseline]
  const carried: Array<Array<Carried>> = sides.map(() => [])
  for (const side of sides) await watch(side, 20, 50, 20)
  const failed = new Set<Side>()
  for (const [round, count] of counts.entries()) {
    for (const [index, side] of inTurns(sides, round)) {
      if (failed.has(side)) continue
      const found = await attempt(side, count, deltas)
      if (found === null) failed.add(side)
      else carried[index]?.push(found)
    }
  }
  const [ours = [], raw = []] = carried
  const most = (side: ReadonlyArray<Carried>) => side.at(-1)?.count ?? 0
  const both = Math.min(most(ours), most(raw))
  const row = { store, target: null }
  // A quick run does not try so many.
  const target = (counts.at(-1) ?? 0) >= wanted ? ({ of: "value", sense: "at least", bound: wanted } as const) : null
  const streamRows = (count: number): ReadonlyArray<Row> => {
    const at = (side: ReadonlyArray<Carried>) => side.find((each) => each.count === count) ?? nothingCarried
    const compared = { ...row, what: `${count} real-time streams` }
    const limit = (bound: number) => (count === judged ? ({ of: "value", sense: "at most", bound } as const) : null)
    const compareBy = (read: (carried: Carried) => number) => ({ kernel: read(at(ours)), baseline: read(at(raw)) })
    return [
      { ...compared, unit: "p99 ms late", ...compareBy(({ lateMillis }) => lateMillis), target: limit(30) },
      {
        ...compared,
        unit: "ms to the first word, p99",
        ...compareBy(({ firstMillis }) => firstMillis),
        target: limit(120)
      },
      { ...compared, unit: "CPU ms/s a stream", ...compareBy(perStream) }
    ]
  }
  return [
    {
      ...row,
      what: `real-time streams in time (up to ${counts.at(-1)} tried)`,
      unit: "streams",
      kernel: most(ours),
      baseline: most(raw),
      target
    },
    ...(both > judged ? streamRows(judged) : []),
    ...streamRows(both)
  ]
}

/** The number of streams whose times have a target. */
const judged = 200

const nothingCarried: Carried = { count: 0, lateMillis: Number.NaN, firstMillis: Number.NaN, cores: Number.NaN }

const perStream = ({ cores, count }: Carried) => (cores * 1000) / count
