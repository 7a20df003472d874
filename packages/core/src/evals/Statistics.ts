/**
 * Pure: how certain a result is. Shares have Wilson intervals; two variants on the same cases are compared by an exact test of the cases in
 * which they differ (McNemar), and by a bootstrap of the differences. Nothing here is random: the bootstrap draws from a seed.
 */
import type { Interval } from "../answers/Judgement.ts"

export {
  type Calibration,
  calibrate,
  type Interval,
  type Prediction,
  type ReliabilityBin,
  wilsonInterval
} from "../answers/Judgement.ts"

/**
 * McNemar's test of paired results, exact and two-sided: the probability that `better` and `worse` pairs are at least so unequal by chance,
 * if a pair that differs is as often better as worse. Pairs that do not differ do not count.
 */
export const mcNemar = (better: number, worse: number): number => {
  const pairs = better + worse
  const least = Math.min(better, worse)
  if (2 * least >= pairs - 1) return 1
  // Binomial terms by their logarithms: their products would leave the range of numbers at about 1,000 pairs.
  let term = -pairs * Math.LN2
  let tail = Math.exp(term)
  for (let count = 1; count <= least; count++) {
    term += Math.log((pairs - count + 1) / count)
    tail += Math.exp(term)
  }
  return Math.min(1, 2 * tail)
}

/** How often results are drawn again, and from which seed. */
export interface BootstrapOptions {
  /** Equal seeds give equal intervals. Default: 1. */
  readonly seed?: number
  /** Default: 2,000, and fewer for more than 2,000 pairs, whose interval needs fewer. */
  readonly resamples?: number
}

/** The difference of two means, with its confidence interval. */
export interface MeanDifference {
  readonly mean: number
  /** 95 percent, by percentiles of the resampled means. */
  readonly interval: Interval
}

/** Draws of one bootstrap, which holds up others while it works: some 25 ms. */
const mostDraws = 4_000_000

/** The mean of paired differences with its interval; null without pairs. */
export const pairedBootstrap = (
  differences: ReadonlyArray<number>,
  {
    resamples = Math.max(200, Math.min(2000, Math.floor(mostDraws / differences.length))),
    seed = 1
  }: BootstrapOptions = {}
): MeanDifference | null => {
  if (differences.length === 0) return null
  const random = generator(seed)
  const means = Float64Array.from({ length: resamples }, () => {
    let sum = 0
    for (let draw = 0; draw < differences.length; draw++) {
      sum += differences[Math.floor(random() * differences.length)] ?? 0
    }
    return sum / differences.length
  }).sort()
  return {
    mean: mean(differences),
    interval: { low: percentile(means, 0.025), high: percentile(means, 0.975) }
  }
}

export const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** The value below which a share of the sorted values lies, between two of them by proportion; NaN without values. */
export const percentile = (sorted: ArrayLike<number>, share: number): number => {
  const rank = share * (sorted.length - 1)
  const below = sorted[Math.floor(rank)] ?? Number.NaN
  const above = sorted[Math.ceil(rank)] ?? Number.NaN
  return below + (above - below) * (rank - Math.floor(rank))
}

/** Numbers from 0 to 1, without 1, from a seed: a counter whose bits are mixed (splitmix32). */
const generator = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    mixed ^= mixed >>> 15
    return (mixed >>> 0) / 4294967296
  }
}
