/** What was measured, row by row; the targets of the rows that have one; the table that people read. */
import type { Spread } from "./Figures.ts"

export interface Row {
  readonly store: string
  readonly what: string
  readonly unit: string
  readonly kernel: number
  /** Null where there is nothing to compare with. */
  readonly baseline: number | null
  /** The leanest program; only where it was measured. */
  readonly raw?: number
  /** Of the ratio in the rounds, or of the kernel's figure where nothing is compared. Absent: it was taken once. */
  readonly spread?: Spread
  readonly target: Target | null
}

/** A bound of `kernel / raw`, of `kernel / baseline`, or of `kernel` itself. */
export interface Target {
  readonly of: "to raw" | "ratio" | "value"
  readonly sense: "at least" | "at most"
  readonly bound: number
}

export const baselineRatio = ({ baseline, kernel }: Row): number | null =>
  baseline === null ? null : kernel / baseline

export const holds = (row: Row): boolean | null => {
  const { kernel, raw = Number.NaN, target } = row
  if (target === null) return null
  const measured = { "to raw": kernel / raw, ratio: baselineRatio(row) ?? Number.NaN, value: kernel }[target.of]
  return target.sense === "at least" ? measured >= target.bound : measured <= target.bound
}

const plain = (value: number | null): string =>
  value === null ? "" : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)

const targetText = ({ target }: Row): string => {
  if (target === null) return ""
  const text = `${target.sense} ${plain(target.bound)}`
  return target.of === "value" ? text : `${target.of} ${text}`
}

const spreadText = ({ spread }: Row): string =>
  spread === undefined || spread.rounds < 2
    ? "once"
    : `${plain(spread.lowest)} to ${plain(spread.highest)} (${spread.rounds})`

const verdict = (row: Row): string => ({ true: "holds", false: "MISSED", null: "" })[`${holds(row)}`]

export const table = (rows: ReadonlyArray<Row>): string => {
  const lines = rows.map((row) => [
    row.store,
    row.what,
    row.unit,
    plain(row.kernel),
    plain(row.baseline),
    plain(baselineRatio(row)),
    spreadText(row),
    plain(row.raw ?? null),
    plain(row.raw === undefined ? null : row.kernel / row.raw),
    targetText(row),
    verdict(row)
  ])
  const all = [
    ["store", "what", "unit", "kernel", "baseline", "ratio", "of rounds", "raw", "to raw", "target", ""],
    ...lines
  ]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? []
  const show = (line: ReadonlyArray<string>) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")
  const [head = [], ...rest] = all
  return [show(head), widths.map((width) => "-".repeat(width)).join("-|-"), ...rest.map(show)].join("\n")
}
