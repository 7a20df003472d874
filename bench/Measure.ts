/**
 * Measures sides in turns: every round visits each side once, every second one the other way round, and the median of the rounds counts, so
 * that what else runs on the machine hits all alike.
 */
import { inRounds, inTurns } from "./Figures.ts"
import { hammer, median } from "./Load.ts"
import type { Side } from "./Side.ts"

export interface Measured {
  readonly perSecond: number
  /** CPU time of the side's process for each piece of work. */
  readonly cpuMillis: number
  /** The same of the database. */
  readonly databaseMillis: number
  readonly millis: number
}

/** The medians, and the rounds that they are of. */
export interface Rounds extends Measured {
  readonly rounds: ReadonlyArray<Measured>
}

export interface Job {
  readonly side: Side
  readonly work: (worker: number) => Promise<unknown>
}

export interface Effort {
  readonly rounds: number
  readonly millis: number
  /** CPU time of the database so far. */
  readonly databaseCpu: () => Promise<number>
}

/** The jobs of one comparison, in the order in which they were given. */
export const compare = async (
  jobs: ReadonlyArray<Job>,
  concurrency: number,
  { databaseCpu, millis, rounds }: Effort
): Promise<ReadonlyArray<Rounds>> => {
  for (const job of jobs) await hammer(concurrency, millis / 4, job.work)
  const found: Array<Array<Measured>> = jobs.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, job] of inTurns(jobs, round)) {
      found[index]?.push(await once(job, concurrency, databaseCpu, (work) => hammer(concurrency, millis, work)))
    }
  }
  return found.map(medians)
}

export const medians = (rounds: ReadonlyArray<Measured>): Rounds => ({
  perSecond: median(rounds.map((row) => row.perSecond)),
  cpuMillis: median(rounds.map((row) => row.cpuMillis)),
  databaseMillis: median(rounds.map((row) => row.databaseMillis)),
  millis: median(rounds.map((row) => row.millis)),
  rounds
})

/** What a row shows of one figure of two sides. */
export const compared = (ours: Rounds, theirs: Rounds, key: keyof Measured) =>
  inRounds(
    ours.rounds.map((round) => round[key]),
    theirs.rounds.map((round) => round[key])
  )

export const once = async (
  { side, work }: Job,
  concurrency: number,
  databaseCpu: Effort["databaseCpu"],
  load: (work: Job["work"]) => Promise<{ readonly count: number; readonly seconds: number }>
): Promise<Measured> => {
  const [before, database] = [await side.process.stats(), await databaseCpu()]
  const { count, seconds } = await load(work)
  const [after, databaseAfter] = [await side.process.stats(), await databaseCpu()]
  return {
    perSecond: count / seconds,
    cpuMillis: (after.cpuMicros - before.cpuMicros) / 1000 / count,
    databaseMillis: (databaseAfter - database) / count,
    millis: (seconds * 1000 * concurrency) / count
  }
}
