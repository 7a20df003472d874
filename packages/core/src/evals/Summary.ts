/** Pure: what the results of one variant come to, with its worst cases first. */
import type { CaseResult } from "./CaseResult.ts"
import type { Score } from "./Score.ts"
import { type Interval, mean, percentile, wilsonInterval } from "./Statistics.ts"

/** How the attempts at one case went. */
export interface CaseSummary {
  readonly caseId: string
  readonly caseName: string
  readonly attempts: number
  readonly passed: number
  /** The mean value of all scores; null without scores. */
  readonly score: number | null
  /** Why attempts failed, each reason once. */
  readonly reasons: ReadonlyArray<string>
}

/** How often one scorer passed, and its mean. */
export interface ScorerSummary {
  readonly scorer: string
  readonly scores: number
  readonly passed: number
  readonly mean: number
}

/** Passed share, score and cost of one variant. */
export interface VariantSummary {
  readonly variant: string
  readonly cases: number
  readonly attempts: number
  readonly passed: number
  /** Of all attempts. */
  readonly passRate: number
  /** 95 percent (Wilson). It counts cases: to try a case again makes nothing more certain about other cases. */
  readonly interval: Interval
  /** The mean value of all scores; null without scores. */
  readonly score: number | null
  readonly scorers: ReadonlyArray<ScorerSummary>
  /** Of the attempts whose cost is known; null if none is. */
  readonly costUsd: number | null
  readonly attemptsWithoutCost: number
  readonly tokens: number
  readonly medianMillis: number
  /** The time within which 95 percent of the attempts ended. */
  readonly slowMillis: number
  /** Cases that were not always passed, the worst first. */
  readonly worst: ReadonlyArray<CaseSummary>
}

/** One for each variant, in the order in which they occur. */
export const summarize = (results: ReadonlyArray<CaseResult>): ReadonlyArray<VariantSummary> =>
  [...groupResults(results, ({ variant }) => variant)].map(([variant, ofVariant]) =>
    summarizeVariant(variant, ofVariant)
  )

export const groupResults = <Item>(
  items: ReadonlyArray<Item>,
  key: (item: Item) => string
): ReadonlyMap<string, ReadonlyArray<Item>> => {
  const groups = new Map<string, Array<Item>>()
  for (const item of items) {
    const group = groups.get(key(item))
    if (group === undefined) groups.set(key(item), [item])
    else group.push(item)
  }
  return groups
}

const summarizeVariant = (variant: string, results: ReadonlyArray<CaseResult>): VariantSummary => {
  const cases = summarizeCases(results)
  const passed = results.filter((result) => result.passed).length
  const passRate = passed / results.length
  const scores = results.flatMap((result) => result.scores)
  const costs = knownCosts(results)
  // Attempts that could not be made took no time.
  const times = results
    .filter(({ error }) => error === null)
    .map(({ millis }) => millis)
    .toSorted((a, b) => a - b)
  return {
    variant,
    cases: cases.length,
    attempts: results.length,
    passed,
    passRate,
    interval: wilsonInterval(passRate * cases.length, cases.length),
    score: meanOrNull(scores.map(({ value }) => value)),
    scorers: summarizeScorers(scores),
    costUsd: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
    attemptsWithoutCost: results.length - costs.length,
    tokens: results.reduce((sum, { tokens }) => sum + tokens, 0),
    medianMillis: times.length === 0 ? 0 : percentile(times, 0.5),
    slowMillis: times.length === 0 ? 0 : percentile(times, 0.95),
    worst: cases.filter((each) => each.passed < each.attempts).toSorted(worstFirst)
  }
}

export const summarizeScorers = (scores: ReadonlyArray<Score>): ReadonlyArray<ScorerSummary> =>
  [...groupResults(scores, ({ scorer }) => scorer)].map(([scorer, scorerScores]) => ({
    scorer,
    scores: scorerScores.length,
    passed: scorerScores.filter((score) => score.passed).length,
    mean: mean(scorerScores.map(({ value }) => value))
  }))

export const knownCosts = (results: ReadonlyArray<CaseResult>): ReadonlyArray<number> =>
  results.flatMap(({ costUsd }) => (costUsd === null ? [] : [costUsd]))

export const meanOrNull = (values: ReadonlyArray<number>): number | null => (values.length === 0 ? null : mean(values))

/** One for each case, in the order in which they occur. */
export const summarizeCases = (results: ReadonlyArray<CaseResult>): ReadonlyArray<CaseSummary> =>
  [...groupResults(results, ({ caseId }) => caseId)].map(([caseId, caseResults]) => ({
    caseId,
    caseName: caseResults[0]?.caseName ?? caseId,
    attempts: caseResults.length,
    passed: caseResults.filter(({ passed }) => passed).length,
    score: meanOrNull(caseResults.flatMap(({ scores }) => scores.map(({ value }) => value))),
    reasons: [...new Set(caseResults.flatMap(failureReasons))]
  }))

export const failureReasons = ({ error, passed, scores }: CaseResult): ReadonlyArray<string> => {
  if (passed) return []
  if (error !== null) return [error]
  const missed = scores.filter((score) => !score.passed).map(({ expected, reason }) => `${expected}: ${reason}`)
  return missed.length === 0 ? ["The turn has no answer."] : missed
}

const worstFirst = (a: CaseSummary, b: CaseSummary): number =>
  a.passed / a.attempts - b.passed / b.attempts ||
  (a.score ?? 0) - (b.score ?? 0) ||
  (a.caseName < b.caseName ? -1 : Number(a.caseName > b.caseName))
