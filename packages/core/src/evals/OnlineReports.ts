/** The use cases that read what online scoring has found: by day and version, turn by turn, and how far its judges can be believed. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { judge } from "../answers/Judgement.ts"
import { OutcomeStore } from "../answers/OutcomeStore.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { calibrateJudges } from "./Calibrations.ts"
import type { OnlineCalls, OnlineRange } from "./Evals.ts"
import { EvalSettings } from "./EvalSettings.ts"
import { EvalStore, type OnlinePage } from "./EvalStore.ts"
import type { RatedScore } from "./OnlineScore.ts"
import { summarizeDays, summarizeVersions } from "./OnlineSummary.ts"
import type { Score } from "./Score.ts"

const scoresAtOnce = 200
/** A report reads so many scores, the newest ones. */
const mostScores = 10_000
/** Scores with feedback that judges are held against. */
const mostRated = 1000
const usualDays = 30
const dayMillis = 86_400_000

/** The first moment of a day in UTC. */
const startOfDay = (millis: number) => new Date(Math.floor(millis / dayMillis) * dayMillis)

/** The calibration of judges reads so many outcomes of typed answers, the newest ones. */
const mostOutcomes = 10_000

/** The calibration of the judges that gave these scores. */
export const makeCalibration = Effect.gen(function* () {
  const store = yield* EvalStore
  const outcomes = yield* OutcomeStore
  return Effect.fnUntraced(function* (scores: ReadonlyArray<Score>) {
    const rated = yield* readScores(store, { rated: true }, mostRated)
    const questionSets = judge(yield* outcomes.newest(null, mostOutcomes))
    return calibrateJudges(scores, rated, { questionSets })
  })
})

export const makeOnlineCalls = Effect.gen(function* () {
  const store = yield* EvalStore
  const { online } = yield* EvalSettings
  const calibrate = yield* makeCalibration

  const calls: OnlineCalls = {
    onlineReport: tracedFn("Evals.onlineReport")(function* ({ assistantId, from, to }: OnlineRange) {
      const now = yield* Clock.currentTimeMillis
      const last = startOfDay((to ?? new Date(now)).getTime())
      const first = startOfDay(from?.getTime() ?? last.getTime() - (usualDays - 1) * dayMillis)
      const range = { from: first, before: new Date(last.getTime() + dayMillis) }
      const page = { ...range, ...(assistantId === undefined ? {} : { assistantId }) }
      const read = yield* readScores(store, page, mostScores + 1)
      const scores = read.slice(0, mostScores).map(({ score }) => score)
      return {
        ...online,
        from: first,
        to: last,
        days: summarizeDays(scores),
        versions: summarizeVersions(scores),
        judges: yield* calibrate(scores.flatMap((each) => each.scores)),
        isPartial: read.length > scores.length
      }
    }),
    listOnlineScores: tracedFn("Evals.listOnlineScores")(function* (page: OnlinePage) {
      const found = yield* store.listOnlineScores({ ...page, limit: page.limit + 1 })
      const scores = found.slice(0, page.limit)
      return { scores, next: found.length > scores.length ? (scores.at(-1)?.score.runId ?? null) : null }
    })
  }
  return calls
})

/** The newest scores, at most so many; page by page, so that others have their turn. */
const readScores = Effect.fnUntraced(function* (
  store: Pick<typeof EvalStore.Service, "listOnlineScores">,
  page: Omit<OnlinePage, "limit" | "after">,
  most: number
) {
  const read: Array<RatedScore> = []
  while (read.length < most) {
    const after = read.at(-1)?.score.runId
    const limit = Math.min(scoresAtOnce, most - read.length)
    const found = yield* store.listOnlineScores({ ...page, limit, ...(after === undefined ? {} : { after }) })
    read.push(...found)
    if (found.length < limit) break
    yield* Effect.yieldNow
  }
  return read
})
