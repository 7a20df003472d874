/** Run (d): from the start of the process to the first answer, on a database that exists or inside of the process, and the memory after it. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inRounds, inTurns } from "../Figures.ts"
import type { Row } from "../Report.ts"
import { type Env, type Side, stop } from "../Side.ts"
import { plain } from "../ThreadTurns.ts"

interface Starts {
  readonly kernel: (env: Env) => Promise<Side>
  readonly baseline: () => Promise<Side>
}

type Start = Awaited<ReturnType<typeof firstTurn>>

export const startUp = async ({ baseline, kernel }: Starts, rounds: number): Promise<ReadonlyArray<Row>> => {
  const both = [() => kernel({}), baseline]
  const found: Array<Array<Start>> = both.map(() => [])
  for (const begin of both) await firstTurn(begin)
  for (let round = 0; round < rounds; round++) {
    for (const [index, begin] of inTurns(both, round)) found[index]?.push(await firstTurn(begin))
  }
  const [ours = [], theirs = []] = found
  const of = (key: keyof Start) =>
    inRounds(
      ours.map((each) => each[key]),
      theirs.map((each) => each[key])
    )
  const row = { store: "postgres", what: "process start to first turn" }
  return [
    { ...row, unit: "ms", ...of("millis"), target: atMost(450) },
    { ...row, unit: "MB after it", ...of("megabytes"), target: null }
  ]
}

/**
 * The same with the database in the process: on a new folder, and once more on that folder. Each process then goes on to its hundredth turn,
 * because that is when its memory is compared.
 */
export const embeddedStart = async (kernel: Starts["kernel"], rounds: number): Promise<ReadonlyArray<Row>> => {
  const found: readonly [Array<Start>, Array<Start>] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-bench-"))
    const start = () => kernel({ BENCH_DATA_DIR: join(folder, "data") })
    try {
      for (const starts of found) starts.push(await firstTurn(start, 99))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  const row = (what: string, unit: string, starts: ReadonlyArray<Start>, key: keyof Start, bound: number): Row => ({
    store: "pglite",
    what,
    unit,
    ...inRounds(
      starts.map((each) => each[key]),
      null
    ),
    target: atMost(bound)
  })
  const [first, second] = found
  return [
    row("a first start to the first turn", "ms", first, "millis", 1500),
    row("a second start to the first turn", "ms", second, "millis", 800),
    row("memory after 100 turns, first start", "MB", first, "megabytes", 260),
    row("memory after 100 turns, second start", "MB", second, "megabytes", 260)
  ]
}

const atMost = (bound: number) => ({ of: "value", sense: "at most", bound }) as const

/** Memory is that after `more` further turns. */
const firstTurn = async (start: () => Promise<Side>, more = 0) => {
  const began = performance.now()
  const side = await start()
  const thread = await side.thread(0)
  await side.turn(thread, plain)
  const millis = performance.now() - began
  for (let turn = 0; turn < more; turn++) await side.turn(thread, plain)
  const { rss } = await side.process.stats()
  await stop([side])
  return { millis, megabytes: rss / 1e6 }
}
