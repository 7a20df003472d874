/** Measures sides in turns: every round visits each side once, and the median of the rounds counts, so that what else runs on the machine hits all alike. */
import { hammer, median } from "./Load.ts"
import type { Side } from "./Side.ts"

export interface Measured {
  readonly perSecond: number
  /** CPU time of the side's process for each piece of work. */
  readonly cpuMillis: number
  readonly millis: number
}

export interface Job {
  readonly side: Side
  readonly work: (worker: number) => Promise<unknown>
}

export interface Effort {
  readonly rounds: number
  readonly millis: number
}

/** The jobs of one comparison, in the order in which they were given. */
export const compare = async (
  jobs: ReadonlyArray<Job>,
  concurrency: number,
  { millis, rounds }: Effort
): Promise<ReadonlyArray<Measured>> => {
  for (const job of jobs) await hammer(concurrency, millis / 4, job.work)
  const found: Array<Array<Measured>> = jobs.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, job] of jobs.entries()) found[index]?.push(await once(job, concurrency, millis))
  }
  return found.map((rows) => ({
    perSecond: median(rows.map((row) => row.perSecond)),
    cpuMillis: median(rows.map((row) => row.cpuMillis)),
    millis: median(rows.map((row) => row.millis))
  }))
}

const once = async ({ side, work }: Job, concurrency: number, millis: number): Promise<Measured> => {
  const before = await side.process.stats()
  const { count, seconds } = await hammer(concurrency, millis, work)
  const after = await side.process.stats()
  return {
    perSecond: count / seconds,
    cpuMillis: (after.cpuMicros - before.cpuMicros) / 1000 / count,
    millis: (seconds * 1000 * concurrency) / count
  }
}
