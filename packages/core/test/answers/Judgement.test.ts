/** The figures by which answers are judged: known values, and what holds for all cases. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AnswerSetId } from "../../src/answers/Answer.ts"
import { judge, type QuestionReport, wilsonInterval } from "../../src/answers/Judgement.ts"
import type { Outcome } from "../../src/answers/Outcome.ts"

const base = {
  answerSetId: AnswerSetId.make("a"),
  questionSet: "set",
  question: "q",
  provider: "p",
  model: "m",
  method: "native",
  assistantId: null,
  threadId: null,
  recordedAt: new Date(0)
} as const

const yesOrNo = (probability: number, cameTrue: boolean, fields: Partial<Outcome> = {}): Outcome => ({
  ...base,
  type: "noul",
  distribution: [
    ["true", probability],
    ["false", 1 - probability]
  ],
  outcome: String(cameTrue),
  ...fields
})

const choice = (shares: ReadonlyArray<number>, right: number): Outcome => ({
  ...base,
  type: "choice",
  distribution: shares.map((share, index) => [`o${index}`, share]),
  outcome: `o${right}`
})

const only = (outcomes: ReadonlyArray<Outcome>): QuestionReport =>
  judge(outcomes)[0]?.questions[0] ?? assert.fail("no report")

const near = (actual: number | null | undefined, expected: number) =>
  assert.closeTo(actual ?? Number.NaN, expected, 1e-9)

describe("a report", () => {
  it("of a yes or no", () => {
    const report = only([yesOrNo(0.9, true), yesOrNo(0.9, true), yesOrNo(0.9, false), yesOrNo(0.2, false)])
    assert.strictEqual(report.cases, 4)
    near(report.accuracy, 3 / 4)
    near(report.brierScore, (0.01 + 0.01 + 0.81 + 0.04) / 4)
    near(report.logLoss, -(2 * Math.log(0.9) + Math.log(0.1) + Math.log(0.8)) / 4)
    near(report.calibrationError, (3 / 4) * (0.9 - 2 / 3) + (1 / 4) * 0.2)
    const bin = report.reliability[9]
    assert.deepInclude(bin, { from: 0.9, to: 1, cases: 3 })
    near(bin?.predicted, 0.9)
    near(bin?.observed, 2 / 3)
    assert.deepStrictEqual(report.reliability[5], {
      from: 0.5,
      to: 0.6,
      cases: 0,
      predicted: null,
      observed: null,
      interval: null
    })
  })

  it("of a choice judges all of the distribution, and how sure it was of the chosen option", () => {
    const report = only([choice([0.7, 0.2, 0.1], 0), choice([0.7, 0.2, 0.1], 1)])
    near(report.accuracy, 0.5)
    near(report.brierScore, (0.09 + 0.04 + 0.01 + (0.49 + 0.64 + 0.01)) / 2)
    near(report.logLoss, -(Math.log(0.7) + Math.log(0.2)) / 2)
    near(report.calibrationError, 0.2)
    assert.strictEqual(report.reliability[7]?.cases, 2)
  })

  it("is finite for an outcome that was held impossible", () => {
    near(only([choice([1, 0], 1)]).logLoss, -Math.log(1e-15))
    near(only([choice([1, 0], 1)]).brierScore, 2)
  })

  it("has one part for each set of questions and each question, in the order in which they come", () => {
    const reports = judge([
      yesOrNo(1, true, { questionSet: "new", question: "b" }),
      yesOrNo(1, true, { questionSet: "old", question: "b" }),
      yesOrNo(1, true, { questionSet: "new", question: "a" }),
      yesOrNo(1, false, { questionSet: "new", question: "b" })
    ])
    assert.deepStrictEqual(
      reports.map(({ questionSet, cases, questions }) => [questionSet, cases, questions.map((each) => each.question)]),
      [
        ["new", 3, ["b", "a"]],
        ["old", 1, ["b"]]
      ]
    )
    assert.deepStrictEqual(judge([]), [])
  })

  it("says how much ten cases are worth, and how much a thousand", () => {
    const ten = wilsonInterval(8, 10)
    near(Math.round(ten.low * 1e4), 4902)
    near(Math.round(ten.high * 1e4), 9433)
    const thousand = wilsonInterval(800, 1000)
    near(Math.round(thousand.low * 1e4), 7741)
    near(Math.round(thousand.high * 1e4), 8236)
    assert.deepStrictEqual(wilsonInterval(0, 0), { low: 0, high: 1 })
  })
})

const Cases = Schema.Array(
  Schema.Tuple([Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 })), Schema.Boolean])
).check(Schema.isMinLength(1))
const runs = { arbitrary: { runs: 300, seed: 3 } }
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5000 }))

describe("for all cases", () => {
  it.effect.prop(
    "the figures lie in their ranges, every case is in one bin, and a bin's mean prediction lies in the bin",
    [Cases],
    ([cases]) =>
      Effect.sync(() => {
        const report = only(cases.map(([percent, came]) => yesOrNo(percent / 100, came)))
        for (const figure of [report.accuracy, report.brierScore, report.calibrationError]) {
          assert.isTrue(figure >= 0 && figure <= 1)
        }
        assert.isTrue(report.logLoss >= 0 && Number.isFinite(report.logLoss))
        assert.strictEqual(
          report.reliability.reduce((sum, bin) => sum + bin.cases, 0),
          cases.length
        )
        for (const { from, predicted, to } of report.reliability) {
          if (predicted !== null) assert.isTrue(predicted >= from - 1e-9 && predicted <= to + 1e-9)
        }
      }),
    runs
  )

  it.effect.prop(
    "who is always sure and always right has no loss and no error",
    [Cases],
    ([cases]) =>
      Effect.sync(() => {
        const report = only(cases.map(([, came]) => yesOrNo(came ? 1 : 0, came)))
        assert.deepInclude(report, { accuracy: 1, brierScore: 0, calibrationError: 0 })
        near(report.logLoss, 0)
      }),
    runs
  )

  it.effect.prop(
    "an interval holds its share, within 0 and 1, narrows with more cases, and mirrors",
    [Count, Count],
    ([first, second]) =>
      Effect.sync(() => {
        const [hits, cases] = [Math.min(first, second), Math.max(first, second, 1)]
        const { high, low } = wilsonInterval(hits, cases)
        assert.isTrue(low >= 0 && low <= hits / cases && hits / cases <= high && high <= 1)
        const more = wilsonInterval(hits * 4, cases * 4)
        assert.isBelow(more.high - more.low, high - low)
        const mirror = wilsonInterval(cases - hits, cases)
        assert.closeTo(mirror.low, 1 - high, 1e-9)
        assert.closeTo(mirror.high, 1 - low, 1e-9)
      }),
    runs
  )
})
