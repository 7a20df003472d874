/** A share of turns is scored after it has ended: which ones, by whom, what it costs, and how far the judges can be believed. */
import { InMemory } from "@colloquy/adapters/in-memory"
import {
  Assistants,
  InsufficientCredit,
  Kernel,
  type MeteringPort,
  Metering,
  noQuota,
  Principal,
  type Provider,
  Providers,
  type Quota,
  Quotas,
  RunId,
  Threads,
  Turns
} from "@colloquy/core"
import { ModelError, noUsage } from "@colloquy/core/adapters"
import { Evals, type OnlineSettings } from "@colloquy/core/evals"
import { fail, say, ScriptedModel, type ScriptStep, uses } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { isSampled } from "../../src/evals/OnlineScore.ts"
import { passSeconds } from "../support/PassTime.ts"

const polite = { kind: "judge", question: "Is it polite?" } as const
const brief = { kind: "judge", question: "Is it brief?", expected: "no" } as const
const always = { share: 1, expectations: [polite, brief, { kind: "contains", text: "you" }] } as const

/** Judges with this probability of yes; a text is answered by the next failure first. */
const judging = (yes: number, failures: Array<ModelError> = []): Provider => ({
  id: "judge",
  answers: () =>
    Effect.suspend(() => {
      const failure = failures.shift()
      if (failure !== undefined) return Effect.fail(failure)
      return Effect.succeed({
        distributions: { judge: { true: yes, false: 1 - yes } },
        method: "native" as const,
        estimated: false,
        model: "judge-1",
        usage: { ...noUsage, inputTokens: 50, costUsd: 0.001 }
      })
    })
})

interface World {
  readonly steps: ReadonlyArray<ScriptStep>
  readonly online: OnlineSettings
  readonly judge?: Provider
  readonly metering?: Partial<MeteringPort>
  readonly quota?: Partial<Quota>
}

const inWorld = <A, E>(
  { judge = judging(0.9), metering, online, quota, steps }: World,
  story: Effect.Effect<A, E, Evals | Kernel.Kernel | Principal>
) =>
  story.pipe(
    Principal.provide("ada"),
    Effect.provide(
      Evals.layer({ online, scoring: { judge: { provider: "judge", model: "judge" } } }).pipe(
        Layer.provideMerge(Kernel.layer),
        Layer.provideMerge(
          Layer.unwrap(
            Effect.map(ScriptedModel, ({ provider }) =>
              Providers.layer({ providers: [provider, judge], defaults: { provider: provider.id, model: "m" } })
            )
          ).pipe(Layer.provide(ScriptedModel.layer(steps)))
        ),
        Layer.provide(InMemory.layer),
        Layer.provide(
          Layer.succeed(Metering, { ensureCredit: () => Effect.void, record: () => Effect.void, ...metering })
        ),
        Layer.provide(Layer.succeed(Quotas, () => ({ ...noQuota, ...quota }))),
        Layer.fresh
      )
    ),
    (told) => Effect.andThen(TestClock.adjust("1439 minutes"), told),
    Effect.provide(TestClock.layer())
  )

const pass = passSeconds(30)

const ask = (content: string) => Turns.use((turns) => turns.send({ content }))
const all = Evals.use((evals) => Effect.map(evals.listOnlineScores({ limit: 100 }), ({ scores }) => scores))

it("the choice follows from the id of the run, and its share is the one that was asked for", () => {
  const ids = Array.from({ length: 20_000 }, (_, place) =>
    RunId.make(`019a${place.toString(16).padStart(4, "0")}-ebec-77e4-a127-24805fbfb768`)
  )
  for (const share of [0, 0.01, 0.25, 1]) {
    const chosen = ids.filter((id) => isSampled(id, share))
    assert.approximately(chosen.length / ids.length, share, 0.005)
    assert.deepStrictEqual(
      chosen,
      ids.filter((id) => isSampled(id, share))
    )
  }
})

it.live("turns are scored by day and version, a failed one is not judged, and the judges are charged", () => {
  const charged: Array<string> = []
  const recordCharges: MeteringPort["recordCharges"] = ({ charges }) =>
    Effect.sync(() => void charged.push(...charges.map(({ purpose }) => purpose)))
  return inWorld(
    { steps: [say("Thank you."), say("No."), fail("invalid_request")], online: always, metering: { recordCharges } },
    Effect.gen(function* () {
      const assistant = yield* (yield* Assistants).create({ name: "A", systemPrompt: "Be kind." })
      const turns = yield* Turns
      const first = yield* turns.send({ content: "Hi", assistantId: assistant.id })
      assert.deepStrictEqual(yield* all, [])
      yield* pass
      yield* TestClock.adjust("1 minute")
      yield* (yield* Assistants).update(assistant.id, { systemPrompt: "Be rude." })
      yield* turns.send({ content: "Hi", threadId: first.threadId })
      yield* pass
      yield* turns.send({ content: "Hi", threadId: first.threadId })
      yield* pass
      const scores = yield* all
      assert.deepStrictEqual(
        scores.map(({ score: { assistantVersion, judgesCostUsd, passed, scores: given } }) => [
          assistantVersion,
          passed,
          judgesCostUsd,
          given.map(({ value }) => Number(value.toFixed(3)))
        ]),
        [
          [2, false, 0, [0, 0, 0]],
          [2, false, 0.002, [0.9, 0.1, 0]],
          [1, false, 0.002, [0.9, 0.1, 1]]
        ]
      )
      assert.notStrictEqual(scores[0]?.score.promptHash, scores[2]?.score.promptHash)
      assert.deepStrictEqual(charged, ["judge", "judge", "judge", "judge"])
      const { onlineReport } = yield* Evals
      const report = yield* onlineReport({})
      assert.deepStrictEqual(
        report.days.map(({ assistantVersion, day, passed, turns: count, unscored }) => [
          day,
          assistantVersion,
          count,
          passed,
          unscored
        ]),
        [
          ["1970-01-02", 2, 2, 0, 0],
          ["1970-01-01", 1, 1, 0, 0]
        ]
      )
      assert.deepStrictEqual(
        report.versions.map(({ scorers }) => scorers.map(({ expected, mean }) => [expected, Number(mean.toFixed(3))])),
        [
          [
            ["Is it polite? yes", 0.45],
            ["Is it brief? no", 0.05],
            ['contains "you"', 0]
          ],
          [
            ["Is it polite? yes", 0.9],
            ["Is it brief? no", 0.1],
            ['contains "you"', 1]
          ]
        ]
      )
      const today = yield* onlineReport({ from: new Date("1970-01-02"), assistantId: assistant.id })
      assert.strictEqual(today.days.length, 1)
      assert.deepStrictEqual((yield* onlineReport({ to: new Date("1970-01-01") })).versions.length, 1)
    })
  )
})

it.live("the thumbs of users calibrate the judges, also those of an experiment, until the thread goes", () =>
  inWorld(
    { steps: [say("Thank you."), say("No."), say("So.")], online: always },
    Effect.gen(function* () {
      const { calibrateExperiment, createCase, createExperiment, giveFeedback, listOnlineScores, onlineReport } =
        yield* Evals
      const [good, bad] = [yield* ask("Hi"), yield* ask("Hi")]
      yield* giveFeedback(good, { score: 1 })
      yield* pass
      yield* giveFeedback(bad, { score: 1 })
      yield* giveFeedback(bad, { score: -1 })
      const { judges } = yield* onlineReport({})
      assert.deepStrictEqual(
        judges.map(({ expected, feedback, outcomes }) => [
          expected,
          feedback?.cases,
          Number(feedback?.brierScore.toFixed(4)),
          outcomes
        ]),
        // Polite: 0.9 for a thumb up and for one down; not brief: 0.1 for both.
        [
          ["Is it polite? yes", 2, 0.41, null],
          ["Is it brief? no", 2, 0.41, null]
        ]
      )
      const rated = (yield* listOnlineScores({ limit: 10, rated: true })).scores
      assert.deepStrictEqual(
        rated.map(({ feedback, score }) => [score.threadId, feedback]),
        [
          [bad.threadId, -1],
          [good.threadId, 1]
        ]
      )
      const { id } = yield* createCase({ question: "Hi", assistantId: good.assistantId, expectations: [polite] })
      const { experiment } = yield* createExperiment({ caseIds: [id], variants: [{ name: "now" }] })
      yield* pass
      const ofExperiment = yield* calibrateExperiment(experiment.id)
      assert.deepStrictEqual(ofExperiment, judges.slice(0, 1))
      // The turn of the experiment is not scored a second time.
      assert.strictEqual((yield* all).length, 2)
      yield* (yield* Threads).remove(bad.threadId)
      assert.strictEqual((yield* onlineReport({})).judges[0]?.feedback?.cases, 1)
    })
  )
)

it.live(
  "a judge that is busy is asked again, one that stays away leaves a turn without scores, and no turn waits",
  () => {
    const busy = () => new ModelError({ reason: "rate_limited", provider: "judge", model: "judge" })
    const failures = [busy(), busy()]
    const away = () => new ModelError({ reason: "auth", provider: "judge", model: "judge" })
    return inWorld(
      {
        steps: [say("Yes."), say("No.")],
        online: { share: 1, expectations: [polite] },
        judge: judging(0.9, failures)
      },
      Effect.gen(function* () {
        yield* ask("One")
        yield* pass
        assert.deepStrictEqual(
          (yield* all).map(({ score }) => score.passed),
          [true]
        )
        failures.push(away())
        yield* ask("Two")
        yield* pass
        const { days } = yield* (yield* Evals).onlineReport({})
        assert.deepStrictEqual(
          days.map(({ passed, passRate, turns, unscored }) => [turns, unscored, passed, passRate].join(" ")).toSorted(),
          ["1 0 1 1", "1 1 0 "]
        )
      })
    )
  }
)

it.live("without credit no judge is asked, and a budget that is used up makes the scores wait for the next day", () => {
  const refused: Partial<MeteringPort> = {
    ensureCredit: ({ purpose }) =>
      purpose === "judge" ? Effect.fail(new InsufficientCredit({ reason: "No." })) : Effect.void
  }
  const online = { share: 1, expectations: [polite] }
  const asked: Array<string> = []
  const judge: Provider = {
    id: "judge",
    answers: (request) =>
      Effect.andThen(
        Effect.sync(() => asked.push(request.model)),
        judging(0.9).answers!(request)
      )
  }
  const one = Effect.gen(function* () {
    yield* ask("Hi")
    yield* pass
    return (yield* all).length
  })
  return Effect.gen(function* () {
    assert.strictEqual(yield* inWorld({ steps: [say("Hi.")], online, judge, metering: refused }, one), 0)
    assert.deepStrictEqual(asked, [])
    const nextDay = Effect.gen(function* () {
      const before = yield* one
      yield* TestClock.adjust("1 minute")
      yield* pass
      return [before, (yield* all).length]
    })
    const quota = { tokensPerDay: 730 }
    assert.deepStrictEqual(
      yield* inWorld(
        { steps: [[say("Hi."), uses({ inputTokens: 700, outputTokens: 10 })]], online, judge, quota },
        nextDay
      ),
      [0, 1]
    )
  })
})

it.live("settings that cannot score end the start with what is wrong", () =>
  Effect.gen(function* () {
    for (const [online, words] of [
      [{ share: 2, expectations: [polite] }, "from 0 to 1"],
      [{ share: 0.1, expectations: [] }, "Nothing is expected"],
      [{ share: 0.1, expectations: [{ kind: "custom", name: "mine" }] }, "mine"]
    ] as const) {
      const exit = yield* Effect.exit(inWorld({ steps: [], online }, Effect.void))
      assert.include(String(Exit.isFailure(exit) && Cause.squash(exit.cause)), words)
    }
  })
)
