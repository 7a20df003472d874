/** Run (d): from the start of the process to the first answer, on a database that exists, and the memory after it. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { median } from "../Load.ts"
import type { Row } from "../Report.ts"
import { startKernel, stop, type Store } from "../Side.ts"

export const startUp = async (
  upstream: string,
  store: Store,
  env: Readonly<Record<string, string>>,
  rounds: number
): Promise<ReadonlyArray<Row>> => {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-bench-"))
  const all = { ...env, BENCH_DATA_DIR: join(folder, "data") }
  try {
    await firstTurn(upstream, store, all)
    const found = []
    for (let round = 0; round < rounds; round++) found.push(await firstTurn(upstream, store, all))
    const isTarget = store === "postgres"
    const row = { store, what: "process start to first turn", baseline: null }
    return [
      {
        ...row,
        unit: "ms",
        kernel: median(found.map(({ millis }) => millis)),
        target: isTarget ? { value: "at most", bound: 500 } : null
      },
      {
        ...row,
        unit: "MB after it",
        kernel: median(found.map(({ megabytes }) => megabytes)),
        target: isTarget ? { value: "at most", bound: 110 } : null
      }
    ]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const firstTurn = async (upstream: string, store: Store, env: Readonly<Record<string, string>>) => {
  const began = performance.now()
  const side = await startKernel(upstream, store, env)
  await side.turn(await side.thread(0), { model: "burst-20", stream: false })
  const millis = performance.now() - began
  const { rss } = await side.process.stats()
  await stop([side])
  return { millis, megabytes: rss / 1e6 }
}
