/** Pure: whether the results of an evaluation are good enough to go on, and why not. */
import type { CaseResult } from "./CaseResult.ts"
import { compare, type Comparison } from "./Comparison.ts"
import { summarize, type VariantSummary } from "./Summary.ts"

/** The least share of passed cases, and the variant to compare with. */
export interface GateOptions {
  /** The share of attempts that every variant must pass, from 0 to 1. Absent: at least one. */
  readonly min?: number | undefined
  /** The variant that all others are compared with. One that is likely worse does not pass. Absent: the first one. */
  readonly baseline?: string | undefined
}

export interface Gate {
  readonly passed: boolean
  /** One sentence for each reason why not. */
  readonly reasons: ReadonlyArray<string>
  readonly variants: ReadonlyArray<VariantSummary>
  /** Every other variant with the baseline. */
  readonly comparisons: ReadonlyArray<Comparison>
  readonly results: ReadonlyArray<CaseResult>
}

export const gate = (results: ReadonlyArray<CaseResult>, { baseline, min }: GateOptions = {}): Gate => {
  const variants = summarize(results)
  const before = baseline ?? variants[0]?.variant
  const isKnown = variants.some(({ variant }) => variant === before)
  const comparisons = variants.flatMap(({ variant }) =>
    before === undefined || variant === before || !isKnown ? [] : [compare(results, { before, after: variant })]
  )
  const reasons = [
    ...(variants.length === 0 ? ["No case was answered."] : []),
    ...(variants.length > 0 && !isKnown ? [`No case was answered by "${before}", the baseline.`] : []),
    ...variants.flatMap((each) => reasonsAgainst(each, results, min)),
    ...comparisons.filter(({ judgement }) => judgement === "worse").map(({ words }) => words)
  ]
  return { passed: reasons.length === 0, reasons, variants, comparisons, results }
}

/** Figures of JSON and of command lines: 0.9 is reached by 27 of 30. */
const tolerance = 1e-9

const reasonsAgainst = (
  summary: VariantSummary,
  results: ReadonlyArray<CaseResult>,
  min: number | undefined
): ReadonlyArray<string> => {
  const { passRate, passed, variant } = summary
  const ofVariant = results.filter((result) => result.variant === variant)
  const isUnjudged = ofVariant.every(({ error }) => error !== null)
  const isEnough = min === undefined ? passed > 0 || isUnjudged : passRate >= min - tolerance
  const needed = min === undefined ? "more than none" : inPercent(min)
  return [
    ...(isUnjudged ? [`"${variant}" could not be judged: ${ofVariant[0]?.error ?? ""}`] : []),
    ...(isEnough ? [] : [`"${variant}" passes ${passedInWords(summary)}; ${needed} is needed.`])
  ]
}

export const passedInWords = ({ attempts, passed, passRate }: VariantSummary): string =>
  `${passed} of ${attempts} (${inPercent(passRate)})`

/** Rounded down, so that nothing that is missing looks like all. */
export const inPercent = (share: number): string => `${Math.floor(share * 1000 + 1e-6) / 10} %`
