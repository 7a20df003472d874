/** The built-in model of typed answers: it says what it is, it answers the questions, and words decide. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Catalog, Kernel, Principal, Providers } from "@colloquy/core"
import { Answers, type AnswersRequest } from "@colloquy/core/answers"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { demoTypedModelName, demoTypedProvider } from "../src/demo/DemoTypedModel.ts"

const registered = Providers.layer({
  providers: [demoTypedProvider()],
  defaults: { provider: "typedprovider", model: "typed-latest" }
})

const layer = Answers.layer().pipe(Layer.provideMerge(Kernel.layer), Layer.provide([registered, InMemory.layer]))

const ask = (request: Pick<AnswersRequest, "questions"> & Partial<AnswersRequest>) =>
  Effect.flatMap(Answers, (answers) => answers.ask({ model: "typed-latest", ...request })).pipe(
    Principal.provide("ada"),
    Effect.provide(layer)
  )

const topic = {
  type: "choice",
  instructions: "Which topic?",
  criteria: { refund: "wants money back", delivery: "asks where the parcel is", other: null }
} as const

describe("the demo of typed answers", () => {
  it.effect("says in the catalogue and in every answer what it is", () =>
    Effect.gen(function* () {
      const { models } = yield* Effect.flatMap(Catalog, (catalog) =>
        catalog.list({ provider: "typedprovider", modelType: "system_one" }, { skip: 0, limit: 10 })
      )
      assert.deepStrictEqual(
        models.map(({ name }) => name),
        ["typed-0.1-word-statistics", "typed-latest", "typed-preview"]
      )
      for (const { details, displayName } of models) {
        assert.include(displayName, "word statistics")
        assert.include(JSON.stringify(details), "understands nothing")
      }
      const given = yield* ask({ questions: { topic }, state: "hello" })
      assert.deepInclude(given, { model: demoTypedModelName, method: "native", estimated: true })
      assert.isAbove(given.usage.inputTokens, 5)
      assert.strictEqual(given.usage.outputTokens, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("finds the option whose words are in the state, and does not look at names of fields", () =>
    Effect.gen(function* () {
      const topicChoice = (state: AnswersRequest["state"]) =>
        Effect.map(ask({ questions: { topic }, state: state ?? null }), ({ answers }) => {
          const answer = answers["topic"]
          return answer?.type === "choice" ? answer : assert.fail("no choice")
        })
      assert.strictEqual((yield* topicChoice("I want to be REFUNDED, give me my money")).choice, "refund")
      assert.strictEqual((yield* topicChoice({ mail: ["Where are my parcels?"] })).choice, "delivery")
      const nothing = yield* topicChoice({ refund: "", parcel: 1 })
      assert.closeTo(nothing.confidence, 0, 1e-9)
    })
  )

  it.effect("reads the conversation as well", () =>
    Effect.gen(function* () {
      const { answers } = yield* ask({
        questions: {
          urgent: {
            type: "noul",
            instructions: "Is it urgent?",
            criteria: { true: "today, at once", false: "some day" }
          },
          late: { type: "noul", instructions: "Is the parcel late?" },
          anger: { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious"] }
        },
        messages: [{ role: "user", content: "I am furious, my parcel is late. I need it today!" }]
      })
      const { anger, late, urgent } = answers
      assert.isAbove(urgent?.type === "noul" ? urgent.noul : 0, 0.5)
      assert.isAbove(late?.type === "noul" ? late.noul : 0, 0.5)
      assert.isAbove(anger?.type === "score" ? anger.score : 0, 1.2)
    })
  )

  it.effect("knows no other model", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(ask({ questions: { topic }, model: "typed-9.9.9" }))
      assert.deepInclude(error, { _tag: "ModelError", reason: "model_not_found" })
    })
  )

  it.effect.prop(
    "answers every question about every state",
    [
      Schema.Json,
      Schema.Array(Schema.String).check(Schema.isMinLength(2), Schema.isMaxLength(10)),
      Schema.Record(Schema.String, Schema.NullOr(Schema.String)).check(
        Schema.isMinProperties(1),
        Schema.isMaxProperties(255)
      )
    ],
    ([state, levels, options]) =>
      Effect.gen(function* () {
        const { answers } = yield* ask({
          questions: {
            yes: { type: "noul", instructions: { any: [state] } },
            score: { type: "score", instructions: "x", criteria: levels },
            choice: { type: "choice", instructions: "x", criteria: options }
          },
          state
        })
        assert.deepStrictEqual(Object.keys(answers), ["yes", "score", "choice"])
      }),
    { arbitrary: { runs: 60, seed: 4 } }
  )
})
