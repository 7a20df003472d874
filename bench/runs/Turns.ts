/** Run (a): persisted turns without streaming. Run (b): streamed turns of 200 deltas, their log stored. */
import { hammer } from "../Load.ts"
import { compare, type Effort } from "../Measure.ts"
import type { Row } from "../Report.ts"
import { historySize, type Side, type Store, type Turn } from "../Side.ts"

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

export const plainTurns = async (
  store: Store,
  kernel: Side,
  baseline: Side,
  concurrency: number,
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const turn = { model: "burst-20", stream: false }
  const jobs = [await turnsOn(kernel, concurrency, turn), await turnsOn(baseline, concurrency, turn)]
  const [ours, raw] = await compare(jobs, concurrency, effort)
  if (ours === undefined || raw === undefined) return []
  const isTarget = store === "postgres"
  const what = `plain turns, ${concurrency} at once`
  return [
    {
      store,
      what,
      unit: "turns/s",
      kernel: ours.perSecond,
      baseline: raw.perSecond,
      target: isTarget && concurrency > 1 ? { ratio: "at least", bound: 0.5 } : null
    },
    {
      store,
      what,
      unit: "CPU ms/turn",
      kernel: ours.cpuMillis,
      baseline: raw.cpuMillis,
      target: isTarget ? { ratio: "at most", bound: 2.5 } : null
    }
  ]
}

export const streamedTurns = async (
  store: Store,
  kernel: Side,
  baseline: Side,
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const turn = { model: "burst-200", stream: true }
  const jobs = [await turnsOn(kernel, 8, turn), await turnsOn(baseline, 8, turn)]
  const [ours, raw] = await compare(jobs, 8, effort)
  if (ours === undefined || raw === undefined) return []
  const row = { store, what: "streamed turns of 200 deltas, 8 at once" }
  return [
    { ...row, unit: "turns/s", kernel: ours.perSecond, baseline: raw.perSecond, target: null },
    {
      ...row,
      unit: "CPU ms/turn",
      kernel: ours.cpuMillis,
      baseline: raw.cpuMillis,
      target: store === "postgres" ? { ratio: "at most", bound: 2 } : null
    }
  ]
}
