/** Scores that need a model or the host: judges, vectors, scorers of the host. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Principal, type Provider, Providers } from "@colloquy/core"
import { type AnswerRequest, ModelError, noUsage } from "@colloquy/core/adapters"
import { Answers } from "@colloquy/core/answers"
import {
  type Expectation,
  type ExpectationOf,
  type HostScorer,
  judgeCalibration,
  judgeOutcome,
  type JudgedTurn,
  scorer,
  Scoring
} from "@colloquy/core/evals"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

const turn: JudgedTurn = {
  question: "Where is my parcel?",
  content: "It arrives on Tuesday.",
  output: null,
  status: "COMPLETED",
  fault: null,
  stopReason: "stop",
  toolCalls: [{ name: "track", arguments: "{}", result: "Tuesday" }],
  retrieved: [],
  cited: null,
  usage: noUsage,
  costUsd: null,
  millis: 1,
  provider: "p",
  model: "m",
  assistantVersion: 1,
  promptHash: null
}

const spent = { ...noUsage, inputTokens: 50, costUsd: 0.001 }

/** A provider that judges with this probability of yes, and embeds texts as the counts of two letters. */
const judging = (yes: number, requests: Array<AnswerRequest> = []): Provider => ({
  id: "judge",
  answers: (request) =>
    Effect.suspend(() => {
      requests.push(request)
      const { type } = request.questions["judge"] ?? {}
      if (yes < 0) return Effect.fail(new ModelError({ reason: "auth", provider: "judge", model: request.model }))
      return Effect.succeed({
        distributions: { judge: type === "choice" ? { warm: yes, cold: 1 - yes } : { true: yes, false: 1 - yes } },
        method: "native" as const,
        estimated: false,
        model: "judge-1",
        usage: spent
      })
    }),
  embedding: {
    embed: ({ texts }) =>
      Effect.succeed({
        vectors: texts.map((text) => Float32Array.of(text.split("a").length - 1, text.split("b").length - 1)),
        usage: spent
      }),
    maxTexts: 10,
    maxCharacters: 1000
  },
  defaultEmbedding: { model: "letters", dimensions: 2 }
})

const over = (provider: Provider, scorers: ReadonlyArray<HostScorer> = []) =>
  Layer.mergeAll(Scoring.layer({ scorers }), Answers.layer()).pipe(
    Layer.provide(Kernel.layer),
    Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: "judge", model: "judge" } })),
    Layer.provide(InMemory.layer)
  )

const score = (expectations: ReadonlyArray<Expectation>, fields: Partial<JudgedTurn> = {}) =>
  Scoring.use((scoring) => scoring.score(expectations, { ...turn, ...fields })).pipe(Principal.provide("ada"))

describe("a judge", () => {
  const polite = { kind: "judge", question: "Is it polite?" } as const

  it.effect("gives the probability of yes as the score, and tells its model and its cost", () => {
    const requests: Array<AnswerRequest> = []
    return Effect.gen(function* () {
      const { charges, scores } = yield* score([polite, { ...polite, at_least: 0.95 }])
      assert.deepStrictEqual(
        scores.map(({ passed, reason, value }) => [passed, value, reason]),
        [
          [true, 0.9, 'judge-1 gives "yes" the probability 0.9, and 0.8 is needed.'],
          [false, 0.9, 'judge-1 gives "yes" the probability 0.9, and 0.95 is needed.']
        ]
      )
      assert.deepStrictEqual(charges[0], { provider: "judge", model: "judge", purpose: "judge", usage: spent })
      assert.deepStrictEqual(requests[0]?.state, {
        question: turn.question,
        answer: turn.content,
        tool_calls: [{ name: "track", arguments: "{}", result: "Tuesday" }]
      })
    }).pipe(Effect.provide(over(judging(0.9, requests))))
  })

  it.effect("is asked for no, and for one of several options", () =>
    Effect.gen(function* () {
      const tone = { kind: "judge", question: "Its tone?", options: ["warm", "cold"], expected: "cold" } as const
      const { scores } = yield* score([{ ...polite, expected: "no" }, tone])
      assert.deepStrictEqual(
        scores.map(({ passed, value }) => [passed, Number(value.toFixed(6))]),
        [
          [true, 0.9],
          [true, 0.9]
        ]
      )
    }).pipe(Effect.provide(over(judging(0.1))))
  )

  it.effect("is measured by what people say is true: its calibration is a report of typed answers", () =>
    Effect.gen(function* () {
      const answers = yield* Answers
      const { scores } = yield* score([polite, polite, { kind: "calls_none", tool: "pay" }])
      for (const [place, each] of scores.entries()) {
        const outcome = judgeOutcome(each, place === 0)
        if (outcome !== null) yield* answers.record(outcome)
      }
      const report = yield* answers.report(null)
      const found = yield* judgeCalibration(report, polite)
      assert.deepInclude(found, { cases: 2, accuracy: 0.5 })
      assert.closeTo(found?.brierScore ?? 0, (0.01 + 0.81) / 2, 1e-9)
      const other: ExpectationOf<"judge"> = { kind: "judge", question: "Is it true?" }
      assert.isNull(yield* judgeCalibration(report, other))
    }).pipe(Principal.provide("ada"), Effect.provide(over(judging(0.9))))
  )

  it.effect("that fails says nothing about the answer", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(score([{ kind: "calls_none", tool: "pay" }, polite]))
      assert.deepInclude(error, { scorer: "judge", retryable: false })
    }).pipe(Effect.provide(over(judging(-1))))
  )

  it.effect("is not asked about an answer that failed", () => {
    const requests: Array<AnswerRequest> = []
    return Effect.gen(function* () {
      const { charges, scores } = yield* score([polite], { status: "FAILED" })
      assert.deepStrictEqual([scores[0]?.passed, charges.length, requests.length], [false, 0, 0])
    }).pipe(Effect.provide(over(judging(0.9, requests))))
  })
})

describe("similarity", () => {
  it.effect("is the cosine of both vectors", () =>
    Effect.gen(function* () {
      const similar = (text: string): Expectation => ({ kind: "similar", text })
      const { charges, scores } = yield* score([similar("ab"), similar("aabb"), similar("b"), similar("c")], {
        content: "aab"
      })
      assert.deepStrictEqual(
        scores.map(({ passed, value }) => [passed, Number(value.toFixed(4))]),
        [
          [true, 0.9487],
          [true, 0.9487],
          [false, 0.4472],
          [false, 0]
        ]
      )
      assert.deepStrictEqual(charges[0], { provider: "judge", model: "letters", purpose: "embedding", usage: spent })
    }).pipe(Effect.provide(over(judging(1))))
  )

  it.effect("of an answer without text is 0, and nothing is asked", () =>
    Effect.gen(function* () {
      const { charges, scores } = yield* score([{ kind: "similar", text: "a" }], { content: " " })
      assert.deepStrictEqual([scores[0]?.value, charges], [0, []])
    }).pipe(Effect.provide(over(judging(1))))
  )
})

describe("vectors that are refused", () => {
  const short: Provider = {
    ...judging(1),
    embedding: {
      embed: () => Effect.succeed({ vectors: [Float32Array.of(1)], usage: spent }),
      maxTexts: 10,
      maxCharacters: 1000
    }
  }

  it.effect("are charged all the same", () =>
    Effect.gen(function* () {
      const failed = yield* Effect.flip(score([{ kind: "similar", text: "a" }]))
      assert.deepStrictEqual(failed.charges, [
        { provider: "judge", model: "letters", purpose: "embedding", usage: spent }
      ])
    }).pipe(Effect.provide(over(short)))
  )
})

describe("a scorer of the host", () => {
  const own = [
    scorer({ name: "short", score: ({ content, settings }) => content.length <= Number(settings ?? 10) }),
    scorer({ name: "share", score: async () => 0.6 }),
    scorer({ name: "strict", score: () => ({ value: 0.9, passed: false, reason: "It has no greeting." }) }),
    scorer({ name: "broken", score: () => Promise.reject(new Error("no dictionary")) }),
    scorer({ name: "nonsense", score: () => Number.NaN }),
    scorer({ name: "nothing", score: () => null as unknown as number }),
    scorer({
      name: "matching",
      score: ({ content }) => ({ value: 1, passed: content.match(/x/u) as unknown as boolean })
    }),
    scorer({ name: "reasons", score: () => ({ value: 1, reason: ["a"] as unknown as string }) }),
    scorer({ name: "silent", score: () => new Promise(() => {}) }),
    scorer({ name: "owner", score: ({ owner, signal }) => owner === "ada" && !signal.aborted })
  ]
  const custom = (name: string, fields: object = {}): Expectation => ({ kind: "custom", name, ...fields })

  it.effect("gives yes or no, a number, or a finding of its own", () =>
    Effect.gen(function* () {
      const { scores } = yield* score([
        custom("short"),
        custom("short", { settings: 40 }),
        custom("share"),
        custom("share", { at_least: 0.7 }),
        custom("strict"),
        custom("owner")
      ])
      assert.deepStrictEqual(
        scores.map(({ passed, scorer: name, value }) => [name, passed, value]),
        [
          ["short", false, 0],
          ["short", true, 1],
          ["share", true, 0.6],
          ["share", false, 0.6],
          ["strict", false, 0.9],
          ["owner", true, 1]
        ]
      )
      assert.strictEqual(scores[4]?.reason, "It has no greeting.")
    }).pipe(Effect.provide(over(judging(1), own)))
  )

  it.effect("that throws, gives no number, is late or is not there says so", () =>
    Effect.gen(function* () {
      const failureReason = (name: string) => Effect.map(Effect.flip(score([custom(name)])), ({ reason }) => reason)
      assert.strictEqual(yield* failureReason("broken"), "It threw: no dictionary")
      for (const name of ["nonsense", "nothing", "matching", "reasons"])
        assert.include(yield* failureReason(name), "It gave no number from 0 to 1")
      assert.include(yield* failureReason("absent"), "Registered: short, share")
      const late = yield* Effect.forkChild(failureReason("silent"))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Fiber.join(late), "It did not answer within 1 minute.")
      const scoring = yield* Scoring
      assert.deepStrictEqual(scoring.unknown([custom("short"), custom("absent"), custom("absent")]), ["absent"])
    }).pipe(Effect.provide(over(judging(1), own)))
  )
})

describe("patterns", () => {
  it.effect("let others run after each of a hundred", () =>
    Effect.gen(function* () {
      let turns = 0
      const others = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => turns++)
          )
        )
      )
      const { scores } = yield* score(
        Array.from({ length: 100 }, (_, at) => ({ kind: "matches", pattern: `(Tuesday|${at})` }))
      )
      yield* Fiber.interrupt(others)
      assert.isTrue(scores.every(({ passed }) => passed))
      assert.isAtLeast(turns, 40)
    }).pipe(Effect.provide(over(judging(1))))
  )
})
