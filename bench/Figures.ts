/** Pure: what is made of figures that were taken round by round. */
import { median } from "./Load.ts"

/** How far the rounds of one row lie from each other. */
export interface Spread {
  readonly rounds: number
  readonly lowest: number
  readonly highest: number
}

const spreadIn = (values: ReadonlyArray<number>): Spread => ({
  rounds: values.length,
  lowest: Math.min(...values),
  highest: Math.max(...values)
})

/** Of the ratio in each round, where there is a baseline; otherwise of the figure itself. */
export const spread = (ours: ReadonlyArray<number>, theirs: ReadonlyArray<number> | null): Spread =>
  spreadIn(theirs === null ? ours : ours.map((value, round) => value / (theirs[round] ?? Number.NaN)))

/** The medians of a row, and the spread of its rounds. */
export const inRounds = (ours: ReadonlyArray<number>, theirs: ReadonlyArray<number> | null) => ({
  kernel: median(ours),
  baseline: theirs === null ? null : median(theirs),
  spread: spread(ours, theirs)
})

/** The medians of so many figures each, as rounds; what is left over at the end is one more. */
export const inBlocks = (values: ReadonlyArray<number>, size: number): ReadonlyArray<number> =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, block) =>
    median(values.slice(block * size, (block + 1) * size))
  )

/** Every second round goes the other way, so that no side always comes after the same other one. */
export const inTurns = <A>(
  sides: ReadonlyArray<A>,
  round: number
): ReadonlyArray<readonly [index: number, side: A]> => {
  const turns = [...sides.entries()]
  return round % 2 === 0 ? turns : turns.toReversed()
}
