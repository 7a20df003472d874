/** A turn's steps as bars on one time scale. Pure; `Waterfall` draws it. */
import type { RunStep } from "../wire.ts"

export interface Bar {
  readonly step: RunStep
  /** From the beginning of the turn; null: not known. */
  readonly start: number | null
  readonly length: number | null
  /** Share of the whole turn, 0 to 1. */
  readonly left: number
  readonly width: number
}

const readTime = (iso: string | null): number | null => (iso === null ? null : Date.parse(iso))

export interface Chart {
  readonly bars: ReadonlyArray<Bar>
  readonly total: number
}

export const makeChart = (steps: ReadonlyArray<RunStep>, now: number): Chart => {
  const times = steps.flatMap(({ ended_at, started_at }) =>
    [readTime(started_at), readTime(ended_at)].filter((time) => time !== null)
  )
  const begin = Math.min(...times)
  const isUnderWay = steps.some(({ ended_at, started_at }) => started_at !== null && ended_at === null)
  const end = isUnderWay ? Math.max(now, ...times) : Math.max(...times)
  const total = times.length === 0 ? 0 : end - begin
  const scale = Math.max(total, 1)
  const bars = steps.map((step): Bar => {
    const from = readTime(step.started_at)
    if (from === null) return { step, start: null, length: null, left: 0, width: 0 }
    const to = readTime(step.ended_at)
    const length = (to ?? end) - from
    return {
      step,
      start: from - begin,
      length: to === null ? null : length,
      left: (from - begin) / scale,
      width: length / scale
    }
  })
  return { bars, total }
}
