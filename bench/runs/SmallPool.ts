/** 64 turns at once where the store has two connections: all must finish, however long they wait for one. */
import type { Row } from "../Report.ts"
import { type Side, stop } from "../Side.ts"

export const smallPool = async (
  start: (env: { readonly BENCH_POOL: string }) => Promise<Side>
): Promise<ReadonlyArray<Row>> => {
  const kernel = await start({ BENCH_POOL: "2" })
  const threads: Array<string> = []
  for (let index = 0; index < 64; index++) threads.push(await kernel.thread(0))
  const turn = { model: "burst-200", stream: true }
  const ended = await Promise.allSettled(
    threads.map(async (id) => {
      let text = ""
      await kernel.turn(id, turn, (piece) => {
        text += piece
      })
      if (!text.includes(`"type":"run_ended"`)) throw new Error("The stream did not end well")
    })
  )
  await stop([kernel])
  return [
    {
      store: "postgres",
      what: "64 turns at once on a pool of 2",
      unit: "finished",
      kernel: ended.filter(({ status }) => status === "fulfilled").length,
      baseline: null,
      target: { of: "value", sense: "at least", bound: 64 }
    }
  ]
}
