/** A turn's steps as bars on one time scale. Pure; `Waterfall` draws it. */
import type { RunInspection, RunStep } from "../wire.ts"

/** A step of a run, or a stage of a spoken turn: the words are written down, or the first sound is made. */
export type FilmStep = Omit<RunStep, "kind"> & { readonly kind: RunStep["kind"] | "hear" | "speak" }

export interface Bar {
  readonly step: FilmStep
  /** Milliseconds from the beginning of the turn. Null: not known. */
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

export const makeChart = (steps: ReadonlyArray<FilmStep>, now: number): Chart => {
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

export type Lane = "wait" | "recall" | "hear" | "model" | "speak" | "tool" | "client" | "settle"

const kindLanes: Readonly<Record<FilmStep["kind"], Lane>> = {
  queue: "wait",
  listen: "recall",
  recall: "recall",
  hear: "hear",
  model: "model",
  speak: "speak",
  tool: "tool",
  client: "client",
  settle: "settle"
}

const laneNames: ReadonlyArray<Lane> = ["wait", "recall", "hear", "model", "speak", "tool", "client", "settle"]

export interface LaneBars {
  readonly lane: Lane
  /** The bars with their numbers among all steps. */
  readonly bars: ReadonlyArray<readonly [number: number, bar: Bar]>
}

/** The bars by lane, without lanes that have none. */
export const makeLanes = (bars: ReadonlyArray<Bar>): ReadonlyArray<LaneBars> =>
  laneNames.flatMap((lane) => {
    const own = bars.flatMap((bar, number) => (kindLanes[bar.step.kind] === lane ? [[number, bar] as const] : []))
    return own.length === 0 ? [] : [{ lane, bars: own }]
  })

/** The position of a time on the scale of the bars, 0 to 1. Null: outside of it. */
export const shareAt = (steps: ReadonlyArray<FilmStep>, total: number, time: string | null): number | null => {
  const times = steps.flatMap(({ started_at }) => (started_at === null ? [] : [Date.parse(started_at)]))
  if (time === null || times.length === 0) return null
  const share = (Date.parse(time) - Math.min(...times)) / Math.max(total, 1)
  return share < 0 || share > 1 ? null : share
}

/**
 * The provider's refusals in this call of the model. A failure is noted a moment after its call has ended, and belongs to the last call
 * that had begun.
 */
export const stepFailures = (
  { failures, steps }: Pick<RunInspection, "failures" | "steps">,
  number: number
): RunInspection["failures"] =>
  failures.filter(({ at }) => {
    const last = steps.findLastIndex(
      ({ kind, started_at }) => kind === "model" && at !== null && started_at !== null && started_at <= at
    )
    return last === number
  })
