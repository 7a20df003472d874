/** Pure: what the scores of online scoring come to, by day and by version of the assistant. */
import type { AssistantId } from "../primitives/Ids.ts"
import type { OnlineScore } from "./OnlineScore.ts"
import { type Interval, percentile, wilsonInterval } from "./Statistics.ts"
import { groupResults, meanOrNull, type ScorerSummary, summarizeScorers } from "./Summary.ts"

/** The scored turns of one version of an assistant. */
export interface OnlineGroup {
  readonly assistantId: AssistantId
  readonly assistantVersion: number | null
  readonly turns: number
  /** Those of them that could not be scored. They do not count in the figures of scores. */
  readonly unscored: number
  readonly passed: number
  /** With its interval (95 percent, Wilson). Both are null if no turn could be scored. */
  readonly passRate: number | null
  readonly interval: Interval | null
  /** The mean value of all scores; null without scores. */
  readonly score: number | null
  /** One for each expectation. */
  readonly scorers: ReadonlyArray<ScorerSummary & { readonly expected: string }>
  /** As far as it is known; null if it is known of no turn. */
  readonly costUsd: number | null
  readonly judgesCostUsd: number | null
  readonly tokens: number
  readonly medianMillis: number
}

/** How the turns of one day (UTC) and one version of an assistant were scored: counts, pass rate, means and costs. */
export interface OnlineDay extends OnlineGroup {
  /** In UTC, such as 2026-11-24: when the turns ended. */
  readonly day: string
}

/** Days and, within them, versions: the last one first. */
export const summarizeDays = (scores: ReadonlyArray<OnlineScore>): ReadonlyArray<OnlineDay> =>
  [...groupResults(scores, ({ endedAt }) => endedAt.toISOString().slice(0, 10))]
    .toSorted(([a], [b]) => (a < b ? 1 : -1))
    .flatMap(([day, dayTurns]) => summarizeVersions(dayTurns).map((group) => ({ day, ...group })))

export const summarizeVersions = (scores: ReadonlyArray<OnlineScore>): ReadonlyArray<OnlineGroup> =>
  [...groupResults(scores, ({ assistantId, assistantVersion }) => `${assistantId} ${assistantVersion ?? ""}`).values()]
    .flatMap(summarizeGroup)
    .toSorted(
      (a, b) =>
        (a.assistantId < b.assistantId ? -1 : Number(a.assistantId > b.assistantId)) ||
        (b.assistantVersion ?? 0) - (a.assistantVersion ?? 0)
    )

const summarizeGroup = (turns: ReadonlyArray<OnlineScore>): ReadonlyArray<OnlineGroup> => {
  const [first] = turns
  if (first === undefined) return []
  const scored = turns.filter(({ error }) => error === null)
  const passed = scored.filter((turn) => turn.passed).length
  const scores = scored.flatMap((turn) => turn.scores)
  const times = turns.map(({ millis }) => millis).toSorted((a, b) => a - b)
  return [
    {
      assistantId: first.assistantId,
      assistantVersion: first.assistantVersion,
      turns: turns.length,
      unscored: turns.length - scored.length,
      passed,
      passRate: scored.length === 0 ? null : passed / scored.length,
      interval: scored.length === 0 ? null : wilsonInterval(passed, scored.length),
      score: meanOrNull(scores.map(({ value }) => value)),
      scorers: [...groupResults(scores, ({ expected }) => expected)].flatMap(([expected, alike]) =>
        summarizeScorers(alike).map((summary) => ({ ...summary, expected }))
      ),
      costUsd: sumOrNull(turns.map(({ costUsd }) => costUsd)),
      judgesCostUsd: sumOrNull(turns.map(({ judgesCostUsd }) => judgesCostUsd)),
      tokens: turns.reduce((sum, { tokens }) => sum + tokens, 0),
      medianMillis: percentile(times, 0.5)
    }
  ]
}

const sumOrNull = (values: ReadonlyArray<number | null>): number | null => {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
}
