/** The results of an experiment as a table: a line for each case, the worst first, and a cell for each variant. Pure. */
import type { AttemptResult } from "../wire.ts"

export interface Cell {
  readonly attempts: ReadonlyArray<AttemptResult>
  readonly passed: number
  /** The mean of all scores. Null: there are no scores. */
  readonly score: number | null
  readonly costUsd: number | null
  /** The mean time. */
  readonly millis: number
}

export interface MatrixRow {
  readonly caseId: string
  readonly name: string
  /** The cells by the names of the variants. */
  readonly cells: ReadonlyMap<string, Cell>
  /** The share of all attempts that passed. */
  readonly share: number
}

const mean = (values: ReadonlyArray<number>): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length

const toCell = (attempts: ReadonlyArray<AttemptResult>): Cell => ({
  attempts,
  passed: attempts.filter(({ passed }) => passed).length,
  score: mean(attempts.flatMap(({ scores }) => scores.map(({ value }) => value))),
  costUsd: mean(attempts.flatMap(({ cost_usd }) => cost_usd ?? [])),
  millis: mean(attempts.map(({ ms }) => ms)) ?? 0
})

/** Equal shares are in the order of their scores, then of their names. */
const worstFirst = (a: MatrixRow, b: MatrixRow): number =>
  a.share - b.share || rowScore(a) - rowScore(b) || a.name.localeCompare(b.name, "en", { numeric: true })

const rowScore = ({ cells }: MatrixRow): number => mean([...cells.values()].flatMap(({ score }) => score ?? [])) ?? 0

export const matrixRows = (results: ReadonlyArray<AttemptResult>): ReadonlyArray<MatrixRow> =>
  [...Map.groupBy(results, ({ case_id }) => case_id)]
    .map(([caseId, own]): MatrixRow => ({
      caseId,
      name: own[0]?.name ?? caseId,
      cells: new Map([...Map.groupBy(own, ({ variant }) => variant)].map(([variant, list]) => [variant, toCell(list)])),
      share: own.filter(({ passed }) => passed).length / own.length
    }))
    .toSorted(worstFirst)
