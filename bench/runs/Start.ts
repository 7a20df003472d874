/** Run (d): from the start of the process to the first answer, on a database that exists, and the memory after it. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inRounds, inTurns } from "../Figures.ts"
import type { Row } from "../Report.ts"
import { type Env, type Side, stop, type Store } from "../Side.ts"

/** A baseline is on Postgres, and has no start on the other stores. */
interface Starts {
  readonly kernel: (env: Env) => Promise<Side>
  readonly baseline: (() => Promise<Side>) | null
}

type Start = Awaited<ReturnType<typeof firstTurn>>

export const startUp = async (
  store: Store,
  { baseline, kernel }: Starts,
  rounds: number
): Promise<ReadonlyArray<Row>> => {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-bench-"))
  const both = [() => kernel({ BENCH_DATA_DIR: join(folder, "data") }), ...(baseline === null ? [] : [baseline])]
  try {
    const found: Array<Array<Start>> = both.map(() => [])
    for (const begin of both) await firstTurn(begin)
    for (let round = 0; round < rounds; round++) {
      for (const [index, begin] of inTurns(both, round)) found[index]?.push(await firstTurn(begin))
    }
    const [ours = [], theirs] = found
    const of = (key: keyof Start) =>
      inRounds(
        ours.map((each) => each[key]),
        theirs?.map((each) => each[key]) ?? null
      )
    const target = (bound: number) =>
      store === "postgres" ? ({ of: "value", sense: "at most", bound } as const) : null
    const row = { store, what: "process start to first turn" }
    return [
      { ...row, unit: "ms", ...of("millis"), target: target(450) },
      { ...row, unit: "MB after it", ...of("megabytes"), target: null }
    ]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const firstTurn = async (start: () => Promise<Side>) => {
  const began = performance.now()
  const side = await start()
  await side.turn(await side.thread(0), { model: "burst-20", stream: false })
  const millis = performance.now() - began
  const { rss } = await side.process.stats()
  await stop([side])
  return { millis, megabytes: rss / 1e6 }
}
