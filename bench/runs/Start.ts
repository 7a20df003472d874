/** Run (d): from the start of the process to the first answer, on a database that exists, and the memory after it. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inRounds } from "../Figures.ts"
import type { Row } from "../Report.ts"
import { type Env, type Side, stop, type Store } from "../Side.ts"

export const startUp = async (
  store: Store,
  start: (env: Env) => Promise<Side>,
  rounds: number
): Promise<ReadonlyArray<Row>> => {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-bench-"))
  const begin = () => start({ BENCH_DATA_DIR: join(folder, "data") })
  try {
    await firstTurn(begin)
    const found: Array<Awaited<ReturnType<typeof firstTurn>>> = []
    for (let round = 0; round < rounds; round++) found.push(await firstTurn(begin))
    const target = (bound: number) => (store === "postgres" ? ({ value: "at most", bound } as const) : null)
    const row = { store, what: "process start to first turn" }
    const of = (key: "megabytes" | "millis") =>
      inRounds(
        found.map((each) => each[key]),
        null
      )
    return [
      { ...row, unit: "ms", ...of("millis"), target: target(500) },
      { ...row, unit: "MB after it", ...of("megabytes"), target: target(110) }
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
