/**
 * Pure: the mathematics of typed answers, the same for every provider. A distribution is an upstream's result for one question, checked and
 * scaled to a sum of 1. The chosen option, the score and the confidence are computed from it only.
 *
 * Formulas, with N options and probabilities p:
 * - choice: confidence = (max p - 1/N) / (1 - 1/N)
 * - score: score = sum(i * p_i); confidence = max(0, 1 - D/U), with D the mean distance to the most probable level and U that of a uniform
 *   distribution to the middle of the scale
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** One probability for each option, in the order of the options. */
export type Distribution = ReadonlyArray<readonly [option: string, probability: number]>

/** Why a provider's result is not a distribution over the options of its question. */
export const DistributionFault = Schema.Literals([
  "missing_answer",
  "unknown_question",
  "missing_option",
  "unknown_option",
  "not_a_number",
  "negative",
  "sum_far_from_1"
])
export type DistributionFault = typeof DistributionFault.Type

/** The largest difference from 1 that is accepted as rounding of a sum. */
const sumTolerance = 0.05

/** Checks a provider's result for the options of one question, and scales it to a sum of 1. */
export const readDistribution = (
  options: ReadonlyArray<string>,
  given: { readonly [option: string]: unknown } | undefined
): Result.Result<Distribution, DistributionFault> => {
  if (given === undefined) return Result.fail("missing_answer")
  const known = new Set(options)
  if (Object.keys(given).some((option) => !known.has(option))) return Result.fail("unknown_option")
  const weights: Array<number> = []
  for (const option of options) {
    if (!Object.hasOwn(given, option)) return Result.fail("missing_option")
    const weight = given[option]
    if (typeof weight !== "number" || !Number.isFinite(weight)) return Result.fail("not_a_number")
    if (weight < 0) return Result.fail("negative")
    weights.push(weight)
  }
  const sum = exactSum(weights)
  if (Math.abs(sum - 1) > sumTolerance) return Result.fail("sum_far_from_1")
  return Result.succeed(options.map((option, index) => [option, (weights[index] ?? 0) / sum]))
}

/** Sums in ascending order, so that the order of the options does not change the last digit. */
const exactSum = (weights: ReadonlyArray<number>): number =>
  weights.toSorted((a, b) => a - b).reduce((sum, weight) => sum + weight, 0)

/** The index of the most probable option; if there are several, the first. */
export const likeliestIndex = (distribution: Distribution): number => {
  let mode = 0
  distribution.forEach(([, probability], index) => {
    if (probability > (distribution[mode]?.[1] ?? 0)) mode = index
  })
  return mode
}

export const confidenceOfChoice = (distribution: Distribution): number => {
  const count = distribution.length
  if (count === 1) return 1
  const [, highest] = distribution[likeliestIndex(distribution)] ?? ["", 0]
  return within(0, 1, (highest - 1 / count) / (1 - 1 / count))
}

export const expectedScore = (distribution: Distribution): number =>
  within(
    0,
    distribution.length - 1,
    expectedValue(distribution, (level) => level)
  )

export const confidenceOfScore = (distribution: Distribution): number => {
  const count = distribution.length
  const mode = likeliestIndex(distribution)
  const middle = (count - 1) / 2
  const spread = distribution.reduce((sum, _, level) => sum + Math.abs(level - middle), 0) / count
  const distance = expectedValue(distribution, (level) => Math.abs(level - mode))
  return spread === 0 ? 1 : within(0, 1, 1 - distance / spread)
}

const expectedValue = (distribution: Distribution, value: (level: number) => number): number =>
  distribution.reduce((sum, [, probability], level) => sum + value(level) * probability, 0)

/** Limits a value to a range, because sums of fractions may leave it by their last digit. */
const within = (least: number, most: number, value: number): number => Math.min(most, Math.max(least, value))
