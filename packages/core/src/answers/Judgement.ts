/**
 * Pure: measures how good distributions were, once the outcomes are known. A report has one section for each set of questions, with one
 * entry for each question. Shares have Wilson intervals (95 percent), so that the report shows how certain they are.
 *
 * - Brier score: the mean of (p - y)^2 for `noul`, and of its sum over all options for the other types (0 is perfect; 1 and 2 the worst).
 * - Log loss: the mean of -ln p(outcome), with p no less than 1e-15.
 * - Expected calibration error: over 10 bins of predictions, the mean distance between prediction and truth, weighted by cases. For `noul`
 *   the prediction is p(true) and the truth is whether it was true; for the others it is the highest p, and whether that option was right.
 */
import type { Distribution } from "./Distribution.ts"
import { likeliestIndex } from "./Distribution.ts"
import type { Outcome } from "./Outcome.ts"

/** The two ends of a confidence interval. */
export interface Interval {
  readonly low: number
  readonly high: number
}

/** Cases whose prediction was at least `from` and below `to`; the last bin includes 1. Figures are null if a bin has no case. */
export interface ReliabilityBin {
  readonly from: number
  readonly to: number
  readonly cases: number
  readonly predicted: number | null
  readonly observed: number | null
  readonly interval: Interval | null
}

/** How right the answers to one question were, and how well their probabilities fit. */
export interface QuestionReport {
  readonly question: string
  readonly type: Outcome["type"]
  readonly cases: number
  /** Share of cases in which the most probable option was right. */
  readonly accuracy: number
  readonly accuracyInterval: Interval
  readonly brierScore: number
  readonly logLoss: number
  readonly calibrationError: number
  readonly reliability: ReadonlyArray<ReliabilityBin>
}

/** The reports of all questions that were asked together. */
export interface QuestionSetReport {
  readonly questionSet: string
  readonly cases: number
  readonly questions: ReadonlyArray<QuestionReport>
}

/** The reports, in the order in which sets and their questions occur first among the outcomes. */
export const judge = (outcomes: ReadonlyArray<Outcome>): ReadonlyArray<QuestionSetReport> =>
  groupOutcomes(outcomes, ({ questionSet }) => questionSet).map(([questionSet, ofSet]) => ({
    questionSet,
    cases: ofSet.length,
    questions: groupOutcomes(ofSet, ({ question }) => question).flatMap(([, cases]) => judgeQuestion(cases))
  }))

const groupOutcomes = (outcomes: ReadonlyArray<Outcome>, readName: (outcome: Outcome) => string) => {
  const groups = new Map<string, Array<Outcome>>()
  for (const outcome of outcomes) {
    const name = readName(outcome)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [outcome])
    else group.push(outcome)
  }
  return [...groups]
}

/** Returns one report, or none without cases. */
const judgeQuestion = (cases: ReadonlyArray<Outcome>): ReadonlyArray<QuestionReport> => {
  const [first] = cases
  if (first === undefined) return []
  const right = cases.filter(isRight).length
  const { calibrationError, reliability } = calibrate(cases.map(readPrediction))
  return [
    {
      question: first.question,
      type: first.type,
      cases: cases.length,
      accuracy: right / cases.length,
      accuracyInterval: wilsonInterval(right, cases.length),
      brierScore: average(cases.map(outcomeBrier)),
      logLoss: average(cases.map(outcomeLogLoss)),
      calibrationError,
      reliability
    }
  ]
}

/** How well probabilities of one event each fit what came true. */
export interface Calibration {
  readonly cases: number
  /** The mean of (p - y)^2. */
  readonly brierScore: number
  readonly calibrationError: number
  readonly reliability: ReadonlyArray<ReliabilityBin>
}

/** Of at least one prediction. */
export const calibrate = (predictions: ReadonlyArray<Prediction>): Calibration => {
  const reliability = tabulate(predictions)
  return {
    cases: predictions.length,
    brierScore: average(predictions.map(({ cameTrue, probability }) => (probability - Number(cameTrue)) ** 2)),
    calibrationError: expectedError(reliability),
    reliability
  }
}

const average = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const isRight = ({ distribution, outcome }: Outcome): boolean => mostProbable(distribution)[0] === outcome

const mostProbable = (distribution: Distribution): readonly [string, number] =>
  distribution[likeliestIndex(distribution)] ?? ["", 0]

const outcomeBrier = ({ type, distribution, outcome }: Outcome): number => {
  const sum = distribution.reduce((total, [option, p]) => total + (p - (option === outcome ? 1 : 0)) ** 2, 0)
  // Both options of a yes or no have the same error.
  return type === "noul" ? sum / 2 : sum
}

const outcomeLogLoss = ({ distribution, outcome }: Outcome): number => {
  const probability = distribution.find(([option]) => option === outcome)?.[1] ?? 0
  return -Math.log(Math.min(1, Math.max(1e-15, probability)))
}

/** The probability of an event, and whether it happened. */
export interface Prediction {
  readonly probability: number
  readonly cameTrue: boolean
}

const readPrediction = (outcome: Outcome): Prediction => {
  if (outcome.type === "noul") {
    return { probability: outcome.distribution[0]?.[1] ?? 0, cameTrue: outcome.outcome === "true" }
  }
  return { probability: mostProbable(outcome.distribution)[1], cameTrue: isRight(outcome) }
}

const binCount = 10

const tabulate = (predictions: ReadonlyArray<Prediction>): ReadonlyArray<ReliabilityBin> =>
  Array.from({ length: binCount }, (_, bin) => {
    const cases = predictions.filter(({ probability }) => binIndex(probability) === bin)
    const came = cases.filter(({ cameTrue }) => cameTrue).length
    const bounds = { from: bin / binCount, to: (bin + 1) / binCount, cases: cases.length }
    return cases.length === 0
      ? { ...bounds, predicted: null, observed: null, interval: null }
      : {
          ...bounds,
          predicted: average(cases.map(({ probability }) => probability)),
          observed: came / cases.length,
          interval: wilsonInterval(came, cases.length)
        }
  })

const binIndex = (probability: number): number =>
  Math.min(binCount - 1, Math.max(0, Math.floor(probability * binCount)))

const expectedError = (bins: ReadonlyArray<ReliabilityBin>): number => {
  const all = bins.reduce((sum, { cases }) => sum + cases, 0)
  return bins.reduce(
    (sum, { cases, predicted, observed }) => sum + (cases / all) * Math.abs((predicted ?? 0) - (observed ?? 0)),
    0
  )
}

/** Quantile of the standard normal distribution for 95 percent. */
const z = 1.959963984540054

/** The interval of the true share when `hits` of `cases` were observed. */
export const wilsonInterval = (hits: number, cases: number): Interval => {
  if (cases === 0) return { low: 0, high: 1 }
  const share = hits / cases
  const scale = 1 + z ** 2 / cases
  const middle = (share + z ** 2 / (2 * cases)) / scale
  const reach = (z / scale) * Math.sqrt((share * (1 - share)) / cases + z ** 2 / (4 * cases ** 2))
  return { low: Math.max(0, Math.min(share, middle - reach)), high: Math.min(1, Math.max(share, middle + reach)) }
}
