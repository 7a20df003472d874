/**
 * Turns of a kernel with every room installed and none of them used, against turns of one without rooms. Both are processes of the same
 * program on databases of the same server; five in a hundred is what the rooms may cost, so there are many rounds.
 */
import { compare, compared, type Effort } from "../Measure.ts"
import type { Row } from "../Report.ts"
import type { Side } from "../Side.ts"
import { plain, streamed, turnsOn } from "../ThreadTurns.ts"

const allowed = 1.05

export const wings = async (installed: Side, without: Side, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const found: Array<Row> = []
  for (const [turn, concurrency, what] of [
    [plain, 16, "plain turns"],
    [streamed, 8, "streamed turns of 200 deltas"]
  ] as const) {
    const jobs = [await turnsOn(installed, concurrency, turn), await turnsOn(without, concurrency, turn)]
    const [ours, raw] = await compare(jobs, concurrency, effort)
    if (ours === undefined || raw === undefined) continue
    const row = {
      store: "postgres",
      what: `${what} with all rooms installed and none used, against none installed, ${concurrency} at once`
    }
    const atMost = { of: "ratio", sense: "at most", bound: allowed } as const
    found.push(
      {
        ...row,
        unit: "turns/s",
        ...compared(ours, raw, "perSecond"),
        target: { of: "ratio", sense: "at least", bound: 1 / allowed }
      },
      { ...row, unit: "CPU ms/turn", ...compared(ours, raw, "cpuMillis"), target: atMost },
      { ...row, unit: "database CPU ms/turn", ...compared(ours, raw, "databaseMillis"), target: atMost }
    )
  }
  return found
}
