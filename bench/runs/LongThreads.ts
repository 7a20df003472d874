/** Run (e): a thread with very many messages, listed whole, and the same turn at its end against one on a short thread. */
import { compare, compared, type Effort } from "../Measure.ts"
import type { Row } from "../Report.ts"
import { historySize, type Side, type Store } from "../Side.ts"

export const longThread = async (
  store: Store,
  kernel: Side,
  baseline: Side,
  messages: number,
  effort: Effort
): Promise<ReadonlyArray<Row>> => {
  const [long, short, raw] = [
    await kernel.thread(messages),
    await kernel.thread(historySize),
    await baseline.thread(messages)
  ]
  const listings = [
    { side: kernel, work: () => kernel.list(long) },
    { side: baseline, work: () => baseline.list(raw) }
  ]
  const turn = { model: "burst-20", stream: false }
  const turns = [
    { side: kernel, work: () => kernel.turn(long, turn) },
    { side: kernel, work: () => kernel.turn(short, turn) }
  ]
  const [ours, theirs] = await compare(listings, 1, effort)
  const [atItsEnd, onShort] = await compare(turns, 1, effort)
  if (!ours || !theirs || !atItsEnd || !onShort) return []
  const isTarget = store === "postgres" && messages === 1000
  const target = (bound: number) => (isTarget ? ({ of: "ratio", sense: "at most", bound } as const) : null)
  const list = { store, what: `listing a thread of ${messages} messages` }
  const end = { store, what: `turn at the end of ${messages} messages, against a short thread` }
  return [
    { ...list, unit: "ms", ...compared(ours, theirs, "millis"), target: target(2) },
    { ...list, unit: "CPU ms", ...compared(ours, theirs, "cpuMillis"), target: null },
    { ...end, unit: "ms", ...compared(atItsEnd, onShort, "millis"), target: target(1.25) },
    { ...end, unit: "CPU ms", ...compared(atItsEnd, onShort, "cpuMillis"), target: null }
  ]
}
