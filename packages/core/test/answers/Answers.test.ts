/** Typed answers as a host asks for them: no thread, no assistant, no network. And what became of them. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Principal, type Provider, ProviderKeys, Providers } from "@colloquy/core"
import { type AnswerReply, type AnswerRequest, type ChatDriver, noUsage } from "@colloquy/core/adapters"
import { openThread } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import {
  type AnswerPolicy,
  Answers,
  type DistributionFault,
  type Questions,
  TypedAnswers
} from "../../src/answers/index.ts"

const questions: Questions = {
  urgent: { type: "noul", instructions: "Is it urgent?" },
  topic: { type: "choice", instructions: "Topic?", criteria: { refund: "money", delivery: null } },
  anger: { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious"] }
}

const sound: AnswerReply["distributions"] = {
  urgent: { true: 0.8, false: 0.2 },
  topic: { refund: 0.95, delivery: 0.05 },
  anger: { 0: 0.15, 1: 0.5, 2: 0.35 }
}

const typed = (reply: Partial<AnswerReply> = {}) => {
  const requests: Array<AnswerRequest> = []
  const provider: Provider = {
    id: "typed",
    answers: (request) =>
      Effect.sync(() => {
        requests.push(request)
        return {
          distributions: sound,
          method: "native",
          estimated: false,
          model: "typed-1.2",
          usage: { ...noUsage, inputTokens: 212, outputTokens: 3 },
          ...reply
        }
      })
  }
  return { provider, requests }
}

/** The use case over a state, with these providers. */
const over = (
  providers: ReadonlyArray<Provider>,
  state = InMemory.makeState(),
  settings: Partial<AnswerPolicy> = {}
) => {
  const registered = Providers.layer({ providers, defaults: { provider: providers[0]?.id ?? "", model: "m" } })
  return Answers.layer(settings).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(registered),
    Layer.provideMerge(InMemory.layerFrom(state))
  )
}

const asAda = Principal.provide("ada")

describe("Answers.ask", () => {
  it.effect("gives every answer from its distribution, with the resolved model and the usage", () => {
    const { provider, requests } = typed()
    return Effect.gen(function* () {
      const answers = yield* Answers
      const given = yield* answers.ask({ state: { order: 7 }, questions, provider: "typed", model: "typed-latest" })
      assert.deepInclude(given, { provider: "typed", model: "typed-1.2", method: "native", estimated: false })
      assert.deepInclude(given.usage, { inputTokens: 212, outputTokens: 3 })
      assert.deepStrictEqual(Object.keys(given.answers), ["urgent", "topic", "anger"])
      assert.deepInclude(given.answers["topic"], { type: "choice", choice: "refund" })
      assert.deepStrictEqual(requests[0]?.state, { order: 7 })
      assert.strictEqual(requests[0]?.model, "typed-latest")
      assert.deepStrictEqual(
        yield* Schema.decodeEffect(TypedAnswers)(yield* Schema.encodeEffect(TypedAnswers)(given)),
        given
      )
    }).pipe(asAda, Effect.provide(over([provider])))
  })

  it.effect("shows the model the conversation, the system prompt, summaries of documents and the state", () => {
    const { provider, requests } = typed()
    return Effect.gen(function* () {
      const answers = yield* Answers
      yield* answers.ask({
        questions,
        model: "m",
        state: "a state",
        messages: [
          { role: "user", content: "Hello" },
          { role: "assistant", content: "Hi" }
        ],
        systemPrompt: "Be strict.",
        documentSummaries: [{ filename: "a.pdf", summary: "About a" }]
      })
      yield* answers.ask({ questions, model: "m", messages: [{ role: "user", content: "Hello" }], systemPrompt: null })
      assert.deepStrictEqual(
        requests.map(({ state }) => state),
        [
          {
            messages: [
              { role: "user", content: "Hello" },
              { role: "assistant", content: "Hi" }
            ],
            system_prompt: "Be strict.",
            document_summaries: [{ filename: "a.pdf", summary: "About a" }],
            state: "a state"
          },
          { messages: [{ role: "user", content: "Hello" }] }
        ]
      )
    }).pipe(asAda, Effect.provide(over([provider])))
  })

  it.effect("keeps the asked name and counts for itself when the provider tells neither", () => {
    const { provider } = typed({ model: null, usage: null })
    return Effect.gen(function* () {
      const given = yield* (yield* Answers).ask({ state: "a long state", questions, model: "typed-latest" })
      assert.strictEqual(given.model, "typed-latest")
      assert.isTrue(given.usage.estimated && given.usage.inputTokens > 10 && given.usage.outputTokens === 3)
    }).pipe(asAda, Effect.provide(over([provider])))
  })

  it.effect.each<[string, AnswerReply["distributions"], string | null, DistributionFault]>([
    [
      "no answer to a question",
      { urgent: sound["urgent"] ?? {}, topic: sound["topic"] ?? {} },
      "anger",
      "missing_answer"
    ],
    ["an answer that nobody asked for", { ...sound, other: { a: 1 } }, null, "unknown_question"],
    ["an unknown option", { ...sound, topic: { refund: 0.5, complaint: 0.5 } }, "topic", "unknown_option"],
    ["an option left out", { ...sound, topic: { refund: 1 } }, "topic", "missing_option"],
    ["NaN", { ...sound, urgent: { true: Number.NaN, false: 0.2 } }, "urgent", "not_a_number"],
    ["a negative number", { ...sound, anger: { 0: -0.5, 1: 1, 2: 0.5 } }, "anger", "negative"],
    ["a sum far from 1", { ...sound, anger: { 0: 0.5, 1: 0.5, 2: 0.5 } }, "anger", "sum_far_from_1"],
    ["a level too many", { ...sound, anger: { 0: 0.2, 1: 0.2, 2: 0.2, 3: 0.4 } }, "anger", "unknown_option"]
  ])(
    "a provider that gives %s: refused with the reason, and nothing is made up",
    ([, distributions, question, problem]) => {
      const { provider } = typed({ distributions })
      return Effect.gen(function* () {
        const error = yield* Effect.flip((yield* Answers).ask({ state: "secret words", questions, model: "m" }))
        assert.deepInclude(error, { _tag: "AnswersUnusable", question, problem })
        assert.strictEqual(error._tag === "AnswersUnusable" && error.usage.inputTokens, 212)
        assert.notInclude(error.message, "secret words")
      }).pipe(asAda, Effect.provide(over([provider])))
    }
  )

  it.effect("refuses malformed questions before anybody is asked, with every problem", () => {
    const { provider, requests } = typed()
    return Effect.gen(function* () {
      const malformed: Questions = {
        a: { type: "score", instructions: "", criteria: ["one"] },
        b: { type: "choice", instructions: "x", criteria: {} }
      }
      const error = yield* Effect.flip((yield* Answers).ask({ questions: malformed, model: "m" }))
      assert.strictEqual(error._tag, "QuestionsMalformed")
      assert.deepStrictEqual(error._tag === "QuestionsMalformed" && error.problems.map(({ path }) => path.join(".")), [
        "a.instructions",
        "a.criteria",
        "b.criteria"
      ])
      assert.isEmpty(requests)
    }).pipe(asAda, Effect.provide(over([provider])))
  })

  it.effect("names the providers that could answer when the one asked for cannot", () => {
    const { provider } = typed()
    const chat: ChatDriver = () => Stream.empty
    return Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Answers).ask({ questions, provider: "vectors", model: "m" }))
      assert.deepInclude(error, { _tag: "NoAnswersFrom", provider: "vectors", registered: ["typed", "words"] })
    }).pipe(asAda, Effect.provide(over([provider, { id: "vectors" }, { id: "words", chat }])))
  })

  it.effect("takes the customer's own key", () => {
    const { provider, requests } = typed()
    const keys = Layer.succeed(ProviderKeys, {
      find: (id: string) => Principal.use(({ ownerId }) => Effect.succeed(Redacted.make(`${ownerId} at ${id}`)))
    })
    return Effect.gen(function* () {
      yield* (yield* Answers).ask({ questions, model: "m" })
      const key = requests[0]?.apiKey
      assert.strictEqual(key && Redacted.value(key), "ada at typed")
    }).pipe(asAda, Effect.provide(Layer.provide(over([provider]), keys)))
  })

  it.effect("reads the settings at each ask, so that a host may change them for one", () => {
    const requests: Array<unknown> = []
    const chat: ChatDriver = (request) => {
      requests.push(request)
      return Stream.make(
        { _tag: "TextDelta" as const, text: "Yes" },
        { _tag: "Finished" as const, reason: "stop" as const, model: null, providerData: null }
      )
    }
    return Effect.gen(function* () {
      const ask = (yield* Answers).ask({ questions: { urgent: { type: "noul", instructions: "x" } }, model: "m" })
      const given = yield* ask
      assert.deepInclude(given, { method: "sampled", estimated: true, model: "m" })
      assert.deepStrictEqual(given.answers, { urgent: { type: "noul", noul: 1 } })
      assert.strictEqual(requests.length, 4)
    }).pipe(
      asAda,
      Effect.provide(over([{ id: "words", chat }], undefined, { withoutLogProbabilities: "sampled", samples: 4 }))
    )
  })
})

describe("a provider without log-probabilities", () => {
  it.effect("is asked for them once, and not at every ask", () => {
    let asked = 0
    const provider: Provider = {
      id: "words",
      nextToken: () =>
        Effect.sync(() => {
          asked += 1
          return { positions: [], model: null, usage: null }
        }),
      chat: () =>
        Stream.make(
          { _tag: "TextDelta" as const, text: '{"Yes": 1, "No": 0}' },
          { _tag: "Finished" as const, reason: "stop" as const, model: null, providerData: null }
        )
    }
    return Effect.gen(function* () {
      const answers = yield* Answers
      const ask = answers.ask({ questions: { urgent: { type: "noul", instructions: "x" } }, model: "m" })
      assert.deepStrictEqual([(yield* ask).method, (yield* ask).method, asked], ["stated", "stated", 1])
    }).pipe(asAda, Effect.provide(over([provider])))
  })
})

describe("Answers.record and Answers.report", () => {
  it.effect("judges what was recorded, by set of questions, newest first", () => {
    const { provider } = typed()
    return Effect.gen(function* () {
      const answers = yield* Answers
      const first = yield* answers.ask({ questions, model: "m" })
      const second = yield* answers.ask({ questions, model: "m" })
      const other = yield* answers.ask({
        questions: { ...questions, urgent: { type: "noul", instructions: "Now?" } },
        model: "m"
      })
      yield* answers.record({ answer: first, question: "urgent", outcome: true })
      yield* answers.record({ answer: first, question: "topic", outcome: "delivery" })
      yield* answers.record({ answer: first, question: "anger", outcome: 1 })
      yield* answers.record({ answer: second, question: "urgent", outcome: true })
      yield* answers.record({ answer: second, question: "urgent", outcome: "false" })
      yield* TestClock.adjust("1 second")
      yield* answers.record({ answer: other, question: "urgent", outcome: true })
      const report = yield* answers.report(null)
      assert.deepInclude(report, { cases: 5, isPartial: false })
      assert.deepStrictEqual(
        report.questionSets.map(({ cases, questionSet }) => [questionSet, cases]),
        [
          [other.questionSet, 1],
          [first.questionSet, 4]
        ]
      )
      const urgent = report.questionSets[1]?.questions.find(({ question }) => question === "urgent")
      assert.strictEqual(urgent?.cases, 2)
      assert.closeTo(urgent?.brierScore ?? 0, (0.04 + 0.64) / 2, 1e-9)
      const topic = report.questionSets[1]?.questions.find(({ question }) => question === "topic")
      assert.strictEqual(topic?.accuracy, 0)
      assert.deepStrictEqual(yield* Principal.provide("bob")(answers.report(null)), {
        questionSets: [],
        cases: 0,
        isPartial: false
      })
    }).pipe(asAda, Effect.provide(over([provider])))
  })

  it.effect("refuses an outcome that is none of the options", () => {
    const { provider } = typed()
    return Effect.gen(function* () {
      const answers = yield* Answers
      const answer = yield* answers.ask({ questions, model: "m" })
      for (const [question, outcome, problem] of [
        ["urgent", "perhaps", "not_an_option"],
        ["urgent", 1, "not_an_option"],
        ["topic", "complaint", "not_an_option"],
        ["topic", true, "not_an_option"],
        ["anger", 3, "not_an_option"],
        ["anger", 1.5, "not_an_option"],
        ["anger", "annoyed", "not_an_option"],
        ["constructor", true, "no_such_question"]
      ] as const) {
        const error = yield* Effect.flip(answers.record({ answer, question, outcome }))
        assert.deepInclude(error, { _tag: "OutcomeRefused", question, problem })
      }
      assert.strictEqual((yield* answers.report(null)).cases, 0)
    }).pipe(asAda, Effect.provide(over([provider])))
  })

  it.effect("keeps the outcomes of an assistant apart, and knows no assistant of others", () => {
    const { provider } = typed()
    return Effect.gen(function* () {
      const answers = yield* Answers
      const { assistantId, id: threadId } = yield* openThread
      const theirs = yield* Principal.provide("bob")(openThread)
      const answer = yield* answers.ask({ questions, model: "m" })
      yield* answers.record({ answer, question: "urgent", outcome: true, assistantId, threadId })
      const error = yield* Effect.flip(
        answers.record({ answer, question: "topic", outcome: "refund", assistantId: theirs.assistantId })
      )
      assert.strictEqual(error._tag, "OutcomeScopeNotFound")
      assert.strictEqual((yield* answers.report(assistantId)).cases, 1)
      assert.strictEqual((yield* answers.report(null)).cases, 0)
    }).pipe(asAda, Effect.provide(over([provider])))
  })
})
