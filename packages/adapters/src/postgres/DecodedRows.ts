/** Rows of a list whose records may have a megabyte each: other fibers run while they are decoded. */
import * as Effect from "effect/Effect"

/** After so many milliseconds of decoding, other fibers run. */
const longest = 5

export const decodeRows = <Row, A>(
  rows: ReadonlyArray<Row>,
  decode: (row: Row) => A,
  decoded: ReadonlyArray<A> = []
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.suspend(() => {
    const all = [...decoded]
    const end = performance.now() + longest
    for (const row of rows.slice(all.length)) {
      all.push(decode(row))
      if (performance.now() > end) return Effect.andThen(Effect.yieldNow, decodeRows(rows, decode, all))
    }
    return Effect.succeed(all)
  })
