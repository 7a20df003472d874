/** Turns on threads with a history, as the runs make them, and the turns that warm a server up. */
import { hammer } from "./Load.ts"
import { historySize, type Side, type Turn } from "./Side.ts"

export const threadsFor = (side: Side, count: number): Promise<ReadonlyArray<string>> =>
  Promise.all(Array.from({ length: count }, () => side.thread(historySize)))

export const plain: Turn = { model: "burst-20", stream: false }
export const streamed: Turn = { model: "burst-200", stream: true }

/** Runs turns before the measurement, because V8 has not compiled the code of a new server yet. */
export const warmUp = async (side: Side, millis: number): Promise<void> => {
  for (const turn of [plain, streamed]) {
    const { work } = await turnsOn(side, 16, turn)
    await hammer(16, millis / 2, work)
  }
}

export const turnsOn = async (side: Side, concurrency: number, turn: Turn) => {
  const threads = await threadsFor(side, concurrency)
  return { side, work: (worker: number) => side.turn(threads[worker] ?? "", turn) }
}
