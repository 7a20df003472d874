/** The mathematics of typed answers: the figures of the published example, and what holds for every distribution. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Answer, answerFromDistribution, distributionFromAnswer } from "../../src/answers/Answer.ts"
import { type Distribution, readDistribution } from "../../src/answers/Distribution.ts"
import { questionsFingerprint, type Question } from "../../src/answers/Question.ts"

const distribution = (given: { readonly [option: string]: number }): Distribution =>
  Result.getOrThrow(readDistribution(Object.keys(given), given))

const choiceQuestion = (options: ReadonlyArray<string>): Question => ({
  type: "choice",
  instructions: "x",
  criteria: Object.fromEntries(options.map((option) => [option, null]))
})

const scoreQuestion = (levels: number): Question => ({
  type: "score",
  instructions: "x",
  criteria: Array.from({ length: levels }, (_, level) => `level ${level}`)
})

const near = (actual: number, expected: number) => assert.closeTo(actual, expected, 1e-12)

describe("answers", () => {
  it("of the published example", () => {
    const topic = answerFromDistribution(
      choiceQuestion(["refund", "delivery"]),
      distribution({ refund: 0.95, delivery: 0.05 })
    )
    if (topic.type !== "choice") return assert.fail("not a choice")
    assert.strictEqual(topic.choice, "refund")
    near(topic.confidence, 0.9)
    const anger = answerFromDistribution(scoreQuestion(3), distribution({ 0: 0.15, 1: 0.5, 2: 0.35 }))
    if (anger.type !== "score") return assert.fail("not a score")
    near(anger.score, 1.2)
    near(anger.confidence, 0.25)
    assert.deepStrictEqual(anger.legend, { 0: "level 0", 1: "level 1", 2: "level 2" })
  })

  it("a yes or no is the share of yes", () => {
    const answer = answerFromDistribution(
      { type: "noul", instructions: "x" },
      distribution({ true: 0.83, false: 0.17 })
    )
    assert.deepStrictEqual(answer, { type: "noul", noul: 0.83 })
  })

  it("a tie goes to the first option, wherever its name stands in the alphabet", () => {
    const answer = answerFromDistribution(choiceQuestion(["z", "a", "m"]), distribution({ z: 0.4, a: 0.4, m: 0.2 }))
    assert.strictEqual(answer.type === "choice" && answer.choice, "z")
  })

  it("of a single option is certain", () => {
    const answer = answerFromDistribution(choiceQuestion(["only"]), distribution({ only: 1 }))
    assert.deepStrictEqual(answer, { type: "choice", choice: "only", probabilities: { only: 1 }, confidence: 1 })
  })

  it.each<[string, Record<string, unknown> | undefined, string]>([
    ["nothing", undefined, "missing_answer"],
    ["an option too few", { a: 1 }, "missing_option"],
    ["an option too many", { a: 0.5, b: 0.5, c: 0 }, "unknown_option"],
    ["NaN", { a: Number.NaN, b: 1 }, "not_a_number"],
    ["Infinity", { a: Number.POSITIVE_INFINITY, b: 1 }, "not_a_number"],
    ["a text", { a: "0.5", b: 0.5 }, "not_a_number"],
    ["null", { a: null, b: 1 }, "not_a_number"],
    ["less than nothing", { a: -0.1, b: 1.1 }, "negative"],
    ["nothing for all", { a: 0, b: 0 }, "sum_far_from_1"],
    ["percentages", { a: 30, b: 70 }, "sum_far_from_1"],
    ["half of it", { a: 0.25, b: 0.25 }, "sum_far_from_1"]
  ])("%s is refused", (_, given, fault) => {
    assert.deepStrictEqual(readDistribution(["a", "b"], given), Result.fail(fault) as never)
  })

  it("rounded figures are brought to a sum of 1", () => {
    const rounded = distribution({ a: 0.33, b: 0.33, c: 0.33 })
    for (const [, probability] of rounded) near(probability, 1 / 3)
  })
})

/** Weights of any size and with ties; the first is never nothing, so that they have a sum. */
const Weights = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))).check(
  Schema.isMaxLength(60)
)

const toShares = (weights: ReadonlyArray<number>): ReadonlyArray<number> => {
  const all = [3, ...weights]
  const sum = all.reduce((total, weight) => total + weight, 0)
  return all.map((weight) => weight / sum)
}

const named = (shares: ReadonlyArray<number>) => shares.map((share, index) => [`o${index}`, share] as const)

const answerFor = (question: Question, pairs: ReadonlyArray<readonly [string, number]>): Answer =>
  answerFromDistribution(question, distribution(Object.fromEntries(pairs)))

const runs = { arbitrary: { runs: 300, seed: 7 } }

describe("for every distribution", () => {
  it.effect.prop(
    "a choice: the sum is 1, the confidence within 0 and 1, the chosen option the first of the most probable",
    [Weights],
    ([weights]) =>
      Effect.sync(() => {
        const pairs = named(toShares(weights))
        const answer = answerFor(choiceQuestion(pairs.map(([name]) => name)), pairs)
        if (answer.type !== "choice") return assert.fail("not a choice")
        const found = Object.entries(answer.probabilities)
        assert.closeTo(
          found.reduce((sum, [, p]) => sum + p, 0),
          1,
          1e-6
        )
        assert.isTrue(found.every(([, p]) => p >= 0 && p <= 1))
        assert.isTrue(answer.confidence >= 0 && answer.confidence <= 1)
        const highest = Math.max(...found.map(([, p]) => p))
        assert.strictEqual(answer.choice, found.find(([, p]) => p === highest)?.[0])
        assert.deepStrictEqual(distributionFromAnswer(answer), found)
      }),
    runs
  )

  it.effect.prop(
    "a score lies on its scale, with a confidence within 0 and 1",
    [Weights],
    ([weights]) =>
      Effect.sync(() => {
        const shares = toShares([...weights, 1].slice(0, 9))
        const answer = answerFor(
          scoreQuestion(shares.length),
          shares.map((share, level) => [String(level), share])
        )
        if (answer.type !== "score") return assert.fail("not a score")
        assert.isTrue(answer.score >= 0 && answer.score <= shares.length - 1)
        assert.isTrue(answer.confidence >= 0 && answer.confidence <= 1)
        assert.deepStrictEqual(Object.keys(answer.legend), Object.keys(answer.probabilities))
      }),
    runs
  )

  it.effect.prop(
    "options in another order: the same probabilities and confidence to the last digit, and the choice follows the ties",
    [Weights, Schema.Array(Schema.Int)],
    ([weights, keys]) =>
      Effect.sync(() => {
        const pairs = named(toShares(weights))
        const shuffled = pairs
          .map((pair, index) => ({ pair, key: keys[index] ?? index }))
          .sort((a, b) => a.key - b.key)
          .map(({ pair }) => pair)
        const before = answerFor(choiceQuestion(pairs.map(([name]) => name)), pairs)
        const after = answerFor(choiceQuestion(shuffled.map(([name]) => name)), shuffled)
        if (before.type !== "choice" || after.type !== "choice") return assert.fail("not a choice")
        assert.deepStrictEqual(
          new Map(Object.entries(before.probabilities)),
          new Map(Object.entries(after.probabilities))
        )
        assert.strictEqual(before.confidence, after.confidence)
        const highest = before.probabilities[before.choice]
        assert.strictEqual(after.choice, shuffled.find(([name]) => before.probabilities[name] === highest)?.[0])
      }),
    runs
  )

  it.effect.prop(
    "a scale turned round turns the score",
    [Weights],
    ([weights]) =>
      Effect.sync(() => {
        const shares = toShares([...weights, 1].slice(0, 9))
        const numbered = (list: ReadonlyArray<number>) => list.map((share, level) => [String(level), share] as const)
        const there = answerFor(scoreQuestion(shares.length), numbered(shares))
        const back = answerFor(scoreQuestion(shares.length), numbered(shares.toReversed()))
        if (there.type !== "score" || back.type !== "score") return assert.fail("not a score")
        assert.closeTo(there.score + back.score, shares.length - 1, 1e-9)
      }),
    runs
  )

  it.effect.prop(
    "any numbers at all: a sum of 1, or a refusal",
    [Schema.Array(Schema.Number)],
    ([numbers]) =>
      Effect.sync(() => {
        const given = Object.fromEntries(numbers.map((number, index) => [`o${index}`, number]))
        const read = readDistribution(Object.keys(given), given)
        if (Result.isFailure(read)) return
        assert.closeTo(
          read.success.reduce((sum, [, p]) => sum + p, 0),
          1,
          1e-6
        )
      }),
    runs
  )
})

describe("the fingerprint of a set of questions", () => {
  const a: Question = { type: "noul", instructions: "a" }
  const b: Question = choiceQuestion(["x", "y"])

  it.effect("does not depend on the order of the questions, and on everything else", () =>
    Effect.gen(function* () {
      const first = yield* questionsFingerprint({ a, b })
      assert.match(first, /^[0-9a-f]{32}$/)
      assert.strictEqual(yield* questionsFingerprint({ b, a }), first)
      const others = [
        { a },
        { a, c: b },
        { a: b, b: a },
        { a: { ...a, instructions: "b" }, b },
        { a: { ...a, criteria: { true: "t", false: "f" } }, b },
        { a, b: choiceQuestion(["y", "x"]) },
        { a, b: scoreQuestion(2) }
      ]
      const prints = yield* Effect.forEach(others, questionsFingerprint)
      assert.strictEqual(new Set([first, ...prints]).size, others.length + 1)
    })
  )
})
