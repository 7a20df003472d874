/** Pure: two variants on the same cases, in figures and in words. */
import type { CaseResult } from "./CaseResult.ts"
import { mcNemar, type MeanDifference, pairedBootstrap } from "./Statistics.ts"
import { type CaseSummary, groupResults, knownCosts, meanOrNull, summarizeCases } from "./Summary.ts"

/** A case in which the variants differ. */
export interface ComparedCase {
  readonly caseId: string
  readonly caseName: string
  /** Share of the attempts that passed. */
  readonly before: number
  readonly after: number
  /** Why the attempts of the worse side failed. */
  readonly reasons: ReadonlyArray<string>
}

/** What a comparison says of the second variant. */
export type Judgement = "better" | "worse" | "maybe chance" | "same" | "not comparable"

export interface Comparison {
  readonly before: string
  readonly after: string
  /** Cases that both variants answered. Only these count. */
  readonly cases: number
  /** Cases that only one of them answered, by name. */
  readonly unpaired: ReadonlyArray<string>
  /** The greatest differences first. */
  readonly better: ReadonlyArray<ComparedCase>
  readonly worse: ReadonlyArray<ComparedCase>
  /** The probability of so unequal numbers of better and worse cases by chance (McNemar, exact, two-sided). */
  readonly probability: number
  /** After minus before, of each case; null without common cases. */
  readonly passRate: MeanDifference | null
  readonly score: MeanDifference | null
  /** Of the cases whose cost is known on both sides. */
  readonly costUsd: MeanDifference | null
  readonly millis: MeanDifference | null
  readonly judgement: Judgement
  /** The result in one sentence or two. */
  readonly words: string
}

/** Below this, a difference is called likely not chance. */
const significant = 0.05

/** Compares two variants on the cases that both answered. */
export const compare = (
  results: ReadonlyArray<CaseResult>,
  { after, before }: { readonly before: string; readonly after: string }
): Comparison => {
  const [old, young] = [before, after].map((variant) => byCase(results.filter((each) => each.variant === variant)))
  const ids = [...new Set([...(old?.keys() ?? []), ...(young?.keys() ?? [])])]
  const pairs = ids.flatMap((id) => {
    const [one, other] = [old?.get(id), young?.get(id)]
    return one === undefined || other === undefined ? [] : [{ before: one, after: other }]
  })
  const paired = new Set(pairs.map((pair) => pair.before.summary.caseId))
  const differing = pairs.map(comparedCase).toSorted(greatestFirst)
  const better = differing.filter((each) => each.after > each.before)
  const worse = differing.filter((each) => each.after < each.before)
  const probability = mcNemar(better.length, worse.length)
  const differences = (figure: (side: Side) => number | null) =>
    pairedBootstrap(
      pairs.flatMap((pair) => {
        const [one, other] = [figure(pair.before), figure(pair.after)]
        return one === null || other === null ? [] : [other - one]
      })
    )
  const counts = { cases: pairs.length, better: better.length, worse: worse.length }
  const judgement = toJudgement(counts, probability)
  return {
    before,
    after,
    cases: pairs.length,
    unpaired: ids.filter((id) => !paired.has(id)).map((id) => (old?.get(id) ?? young?.get(id))?.summary.caseName ?? id),
    better,
    worse,
    probability,
    passRate: differences(({ summary }) => share(summary)),
    score: differences(({ summary }) => summary.score),
    costUsd: differences(({ costUsd }) => costUsd),
    millis: differences(({ millis }) => millis),
    judgement,
    words: inWords({ before, after }, counts, judgement, probability)
  }
}

/** What one variant made of one case. */
interface Side {
  readonly summary: CaseSummary
  readonly costUsd: number | null
  readonly millis: number | null
}

const byCase = (results: ReadonlyArray<CaseResult>): ReadonlyMap<string, Side> => {
  const summaries = new Map(summarizeCases(results).map((summary) => [summary.caseId, summary]))
  const sides = [...groupResults(results, ({ caseId }) => caseId)].flatMap(([caseId, caseResults]) => {
    const summary = summaries.get(caseId)
    if (summary === undefined) return []
    const made = caseResults.filter(({ error }) => error === null)
    const side = {
      summary,
      costUsd: meanOrNull(knownCosts(caseResults)),
      millis: meanOrNull(made.map(({ millis }) => millis))
    }
    return [[caseId, side] as const]
  })
  return new Map(sides)
}

const share = ({ attempts, passed }: CaseSummary): number => passed / attempts

const comparedCase = ({ after, before }: { readonly before: Side; readonly after: Side }): ComparedCase => {
  const [one, other] = [share(before.summary), share(after.summary)]
  return {
    caseId: before.summary.caseId,
    caseName: after.summary.caseName,
    before: one,
    after: other,
    reasons: (other < one ? after : before).summary.reasons
  }
}

const greatestFirst = (a: ComparedCase, b: ComparedCase): number =>
  Math.abs(b.after - b.before) - Math.abs(a.after - a.before)

interface Counts {
  readonly cases: number
  readonly better: number
  readonly worse: number
}

const toJudgement = ({ better, cases, worse }: Counts, probability: number): Judgement => {
  if (cases === 0) return "not comparable"
  if (better + worse === 0) return "same"
  if (probability >= significant) return "maybe chance"
  return better > worse ? "better" : "worse"
}

const inWords = (
  { after, before }: { readonly before: string; readonly after: string },
  { better, cases, worse }: Counts,
  judgement: Judgement,
  probability: number
): string => {
  const counted = `"${after}" is better than "${before}" in ${better}, worse in ${worse} of ${cases} cases`
  switch (judgement) {
    case "not comparable":
      return `"${after}" and "${before}" have no case in common.`
    case "same":
      return `"${after}" and "${before}" pass the same of ${cases} cases.`
    case "maybe chance":
      return `${counted}, which may be chance (p = ${inDigits(probability)}).`
    case "better":
    case "worse":
      return `${counted}, likely not chance (p = ${inDigits(probability)}).`
  }
}

const inDigits = (probability: number): string =>
  probability < 0.001 ? probability.toExponential(0) : probability.toFixed(probability < 0.1 ? 3 : 2)

/** The mean difference with its interval in words: `+0.02 USD (-0.01 to +0.05)`. */
export const differenceInWords = (difference: MeanDifference | null, digits: number, unit = ""): string => {
  if (difference === null) return "not known"
  const { interval, mean: middle } = difference
  return `${signed(middle, digits)}${unit} (${signed(interval.low, digits)} to ${signed(interval.high, digits)})`
}

const signed = (value: number, digits: number): string => `${value > 0 ? "+" : ""}${value.toFixed(digits)}`
