/** Five thousand live followers of one run that says a word every 50 ms: what each of them takes, and how long the requests of another client wait. */
import { percentile, sendJson } from "../Load.ts"
import { Process } from "../Processes.ts"
import type { Row } from "../Report.ts"
import { processTarget, type Side, stop, type Store } from "../Side.ts"

/** The first ones pay for what all share. */
const first = 200
const all = 5000

/** A list of a short thread every 20 ms, and what 99 of 100 took at most. */
const listFor = async (side: Side, threadId: string, seconds: number): Promise<number> => {
  const took: Array<number> = []
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    const began = performance.now()
    await side.list(threadId)
    took.push(performance.now() - began)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return percentile(took, 0.99)
}

export const manyFollowers = async (
  store: Store,
  start: () => Promise<Side>,
  seconds: number
): Promise<ReadonlyArray<Row>> => {
  const kernel = await start()
  const [followed, other] = [await kernel.thread(0), await kernel.thread(20)]
  await listFor(kernel, other, 1)
  const alone = await listFor(kernel, other, seconds)
  // Long enough for the followers to come, and cut off at the end by the end of the process.
  const turn = { content: "talk", model_name: "paced-6000-50" }
  const { run_id: run } = Object(
    await sendJson(processTarget(kernel.process), "POST", `/api/threads/${followed}/messages`, {
      ...turn,
      background: true
    })
  )
  const client = await Process.start("FollowersClient", {
    BENCH_PORT: String(kernel.process.port),
    BENCH_PATH: `/api/threads/${followed}/runs/${run}/events`
  })
  const memoryWith = async (more: number) => {
    await client.ask(more)
    await kernel.process.collect()
    return (await kernel.process.stats()).rss
  }
  const [few, many] = [await memoryWith(first), await memoryWith(all - first)]
  const beside = await listFor(kernel, other, seconds)
  await client.stop()
  await stop([kernel])
  const row = { store, what: `${all} live followers of one run` }
  return [
    {
      ...row,
      unit: "KB each",
      kernel: (many - few) / (all - first) / 1000,
      baseline: null,
      target: { of: "value", sense: "at most", bound: 60 }
    },
    {
      ...row,
      what: `a list beside ${row.what}, and without them`,
      unit: "p99 ms",
      kernel: beside,
      baseline: alone,
      target: { of: "value", sense: "at most", bound: 100 }
    }
  ]
}
