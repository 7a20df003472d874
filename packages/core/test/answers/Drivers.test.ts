/** Typed answers of chat models: by the probabilities of tokens, in the model's own words, by samples. Without a network. */
import { type Provider } from "@colloquy/core"
import {
  type AnswerRequest,
  type ChatDriver,
  type ChatRequest,
  describeModel,
  ModelError,
  type ModelErrorReason,
  type NextTokenDriver,
  type NextTokenRequest,
  noUsage,
  type TokenCandidate,
  type TypedQuestion
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { findDriver } from "../../src/answers/AnswerModel.ts"
import { type AnswerPolicy, defaultAnswerSettings } from "../../src/answers/index.ts"
import { readStated } from "../../src/answers/StatedAnswers.ts"

const noul: TypedQuestion = { type: "noul", instructions: "Is it urgent?", criteria: { true: "today", false: "later" } }
const choice: TypedQuestion = { type: "choice", instructions: "Topic?", criteria: { refund: "money", delivery: null } }
const score: TypedQuestion = { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious"] }

const requestFor = (questions: AnswerRequest["questions"]): AnswerRequest => ({
  provider: "p",
  model: "m",
  info: describeModel({ name: "m", provider: "p", modelType: "llm" }),
  state: { text: "My parcel is broken" },
  questions,
  apiKey: null,
  conversationId: "c"
})

const driverFor = (provider: Omit<Provider, "id">, settings: Partial<AnswerPolicy> = {}) =>
  findDriver({ id: "p", ...provider }, { ...defaultAnswerSettings, ...settings }) ?? assert.fail("no driver")

const candidates = (probabilities: Record<string, number>): ReadonlyArray<TokenCandidate> =>
  Object.entries(probabilities).map(([token, p]) => ({ token, logProbability: Math.log(p) }))

const usage = { ...noUsage, inputTokens: 10, outputTokens: 1 }

/** Answers each prompt with candidates; remembers what it was asked. */
const recordingNextToken = (answer: (prompt: string) => Record<string, number>) => {
  const requests: Array<NextTokenRequest> = []
  const nextToken: NextTokenDriver = (request) =>
    Effect.sync(() => {
      requests.push(request)
      const listed = candidates(answer(request.prompt))
      return { positions: [{ token: listed[0]?.token ?? "", candidates: listed }], model: "m-1", usage }
    })
  return { nextToken, requests }
}

/** The lines of a prompt that begin with a label: what stands behind it, by label. */
const labelsIn = (prompt: string): ReadonlyArray<readonly [string, string]> =>
  [...prompt.matchAll(/^(Yes|No|[A-Z]|\d+): (.*)$/gmu)].map(([, label = "", text = ""]) => [label, text])

const says = (answer: (request: ChatRequest, number: number) => string) => {
  const requests: Array<ChatRequest> = []
  const chat: ChatDriver = (request) =>
    Stream.suspend(() => {
      const number = requests.push(request) - 1
      return Stream.make(
        { _tag: "TextDelta" as const, text: answer(request, number) },
        { _tag: "Usage" as const, usage },
        { _tag: "Finished" as const, reason: "stop" as const, model: "m-chat", providerData: null }
      )
    })
  return { chat, requests }
}

const near = (actual: unknown, expected: number) =>
  assert.closeTo(typeof actual === "number" ? actual : Number.NaN, expected, 1e-9)

describe("by the probabilities of tokens", () => {
  it.effect("each question is asked by itself, its labels are single tokens, variants are added up", () =>
    Effect.gen(function* () {
      const { nextToken, requests } = recordingNextToken((prompt) =>
        prompt.includes("urgent")
          ? { Yes: 0.5, " yes": 0.25, "YES.": 0.05, No: 0.2 }
          : prompt.includes("Topic")
            ? { A: 0.6, Ġb: 0.2, Sorry: 0.2 }
            : { "1": 0.5, "▁2": 0.3, "0": 0.2 }
      )
      const reply = yield* driverFor({ nextToken })(requestFor({ urgent: noul, topic: choice, anger: score }))
      assert.deepInclude(reply, { method: "logprobs", estimated: false, model: "m-1" })
      assert.deepStrictEqual(reply.usage, { ...noUsage, inputTokens: 30, outputTokens: 3 })
      near(reply.distributions["urgent"]?.["true"], 0.8)
      near(reply.distributions["urgent"]?.["false"], 0.2)
      near(reply.distributions["topic"]?.["refund"], 0.75)
      near(reply.distributions["topic"]?.["delivery"], 0.25)
      near(reply.distributions["anger"]?.["1"], 0.5)
      assert.sameDeepMembers(
        requests.map(({ prompt }) => labelsIn(prompt)),
        [
          [
            ["0", "calm"],
            ["1", "annoyed"],
            ["2", "furious"]
          ],
          [
            ["A", "refund: money"],
            ["B", "delivery"]
          ],
          [
            ["Yes", "today"],
            ["No", "later"]
          ]
        ]
      )
      for (const { prompt } of requests) assert.isTrue(prompt.startsWith('State:\n{"text":"My parcel is broken"}'))
    })
  )

  it.effect("a label that is not among the candidates gets less than all of them", () =>
    Effect.gen(function* () {
      const { nextToken } = recordingNextToken(() => ({ "0": 0.9, "2": 0.05 }))
      const { distributions } = yield* driverFor({ nextToken })(requestFor({ anger: score }))
      const missing = Number(distributions["anger"]?.["1"])
      assert.isTrue(missing > 0 && missing < Number(distributions["anger"]?.["2"]) / 5)
    })
  )

  it.effect("a space before the label does not hide it", () =>
    Effect.gen(function* () {
      const nextToken: NextTokenDriver = () =>
        Effect.succeed({
          positions: [
            { token: "\n", candidates: candidates({ "\n": 0.9, Yes: 0.1 }) },
            { token: "No", candidates: candidates({ No: 0.7, Yes: 0.3 }) }
          ],
          model: null,
          usage: null
        })
      const { distributions, usage: counted } = yield* driverFor({ nextToken })(requestFor({ urgent: noul }))
      near(distributions["urgent"]?.["false"], 0.7)
      assert.isTrue(counted?.estimated === true && counted.inputTokens > 0)
    })
  )

  it.effect("both orders, when the host asks for them, cancel a model's love for the first place", () =>
    Effect.gen(function* () {
      const { nextToken, requests } = recordingNextToken((prompt) =>
        labelsIn(prompt)[0]?.[0] === "A"
          ? { A: 0.7, B: 0.3 }
          : labelsIn(prompt)[0]?.[0] === "Yes"
            ? { Yes: 0.8, No: 0.2 }
            : { Yes: 0.4, No: 0.6 }
      )
      const questions = { topic: choice, urgent: noul }
      const once = yield* driverFor({ nextToken })(requestFor(questions))
      near(once.distributions["topic"]?.["refund"], 0.7)
      assert.strictEqual(requests.length, 2)
      const twice = yield* driverFor({ nextToken }, { bothOrders: true })(requestFor(questions))
      near(twice.distributions["topic"]?.["refund"], 0.5)
      near(twice.distributions["urgent"]?.["true"], 0.6)
      assert.strictEqual(requests.length, 6)
      assert.strictEqual(twice.usage?.inputTokens, 40)
    })
  )

  it.effect.prop(
    "many options in rounds: never more than 20 at once, and the shares are those that one question would have given",
    [Schema.Int.check(Schema.isBetween({ minimum: 21, maximum: 255 })), Schema.Int, Schema.Boolean],
    ([count, seed, bothOrders]) =>
      Effect.gen(function* () {
        const optionWeight = (option: string) => 1 + ((Number(option.slice(1)) * 7919 + Math.abs(seed % 1000)) % 97)
        const options = Array.from({ length: count }, (_, index) => `o${index}`)
        const { nextToken, requests } = recordingNextToken((prompt) => {
          const labels = labelsIn(prompt)
          const sum = labels.reduce((total, [, option]) => total + optionWeight(option), 0)
          return Object.fromEntries(labels.map(([label, option]) => [label, optionWeight(option) / sum]))
        })
        const question: TypedQuestion = {
          type: "choice",
          instructions: "Which?",
          criteria: Object.fromEntries(options.map((option) => [option, null]))
        }
        const { distributions } = yield* driverFor({ nextToken }, { bothOrders })(requestFor({ q: question }))
        const sum = options.reduce((total, option) => total + optionWeight(option), 0)
        for (const option of options) near(distributions["q"]?.[option], optionWeight(option) / sum)
        for (const { prompt } of requests) assert.isAtMost(labelsIn(prompt).length, 20)
        assert.strictEqual(requests.length, (Math.ceil(count / 20) + 1) * (bothOrders ? 2 : 1))
      }),
    { arbitrary: { runs: 40, seed: 5 } }
  )

  it.effect("options named like numbers are asked in their order, after the instructions", () =>
    Effect.gen(function* () {
      const { nextToken, requests } = recordingNextToken(() => ({ A: 1 }))
      const criteria = { b: "bee", 9: null, 10: "ten" }
      const question: TypedQuestion = { type: "choice", instructions: "Which?", criteria, order: ["10", "9", "b"] }
      const { distributions } = yield* driverFor({ nextToken }, { bothOrders: false })(requestFor({ q: question }))
      const [{ prompt } = { prompt: "" }] = requests
      assert.match(prompt, /Which\?[^]*A: 10: ten\nB: 9\nC: b: bee/u)
      assert.isAbove(Number(distributions["q"]?.["10"]), 0.5)
    })
  )

  it.effect("a single option is answered without asking anybody", () =>
    Effect.gen(function* () {
      const { nextToken, requests } = recordingNextToken(() => ({}))
      const only: TypedQuestion = { type: "choice", instructions: "x", criteria: { only: null } }
      const reply = yield* driverFor({ nextToken })(requestFor({ q: only }))
      assert.deepStrictEqual(reply.distributions, { q: { only: 1 } })
      assert.isEmpty(requests)
    })
  )

  it.effect("an answer that is no label is an error", () =>
    Effect.gen(function* () {
      const { nextToken } = recordingNextToken(() => ({ Sorry: 0.9, I: 0.1 }))
      const error = yield* Effect.flip(driverFor({ nextToken })(requestFor({ urgent: noul })))
      assert.deepInclude(error, { reason: "malformed", code: "no_such_label" })
      assert.strictEqual(error.usage?.inputTokens, 10)
    })
  )

  it.effect("a failure of one question tells what the others have used", () =>
    Effect.gen(function* () {
      const { nextToken } = recordingNextToken((prompt) =>
        labelsIn(prompt)[0]?.[0] === "Yes" ? { Sorry: 1 } : { A: 0.6, B: 0.4, "0": 0.3, "1": 0.3, "2": 0.4 }
      )
      const questions = { topic: choice, anger: score, urgent: noul }
      const error = yield* Effect.flip(driverFor({ nextToken }, { concurrency: 1 })(requestFor(questions)))
      assert.strictEqual(error.code, "no_such_label")
      assert.strictEqual(error.usage?.inputTokens, 30)
    })
  )

  it.effect("a model without log-probabilities is asked for them again only after ten minutes", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const nextToken: NextTokenDriver = ({ model }) =>
        Effect.sync(() => {
          asked.push(model)
          return { positions: [], model, usage }
        })
      const { chat } = says(() => '{"Yes": 0.9, "No": 0.1}')
      const driver = driverFor({ nextToken, chat })
      const first = yield* driver(requestFor({ urgent: noul }))
      const second = yield* driver(requestFor({ urgent: noul }))
      assert.deepStrictEqual([first.usage?.inputTokens, second.usage?.inputTokens], [20, 10])
      yield* driver({ ...requestFor({ urgent: noul }), model: "other" })
      assert.deepStrictEqual(asked, ["m", "other"])
      yield* TestClock.adjust("10 minutes")
      yield* driver(requestFor({ urgent: noul }))
      assert.deepStrictEqual(asked, ["m", "other", "m"])
    })
  )

  it.effect(
    "without log-probabilities the model answers in words, the reply says so, and the vain request is paid",
    () =>
      Effect.gen(function* () {
        const nextToken: NextTokenDriver = () => Effect.succeed({ positions: [], model: "m", usage })
        const { chat } = says(() => '{"Yes": 0.9, "No": 0.1}')
        const reply = yield* driverFor({ nextToken, chat })(requestFor({ urgent: noul }))
        assert.deepInclude(reply, { method: "stated", estimated: true, model: "m-chat" })
        assert.strictEqual(reply.usage?.inputTokens, 20)
        const error = yield* Effect.flip(driverFor({ nextToken })(requestFor({ urgent: noul })))
        assert.strictEqual(error.code, "no_logprobs")
      })
  )

  it.effect("a refusal of log-probabilities leads to words, any other failure does not", () =>
    Effect.gen(function* () {
      const failing =
        (reason: "invalid_request" | "auth"): NextTokenDriver =>
        () =>
          Effect.fail(new ModelError({ reason, provider: "p", model: "m" }))
      const { chat, requests } = says(() => '{"Yes": 1, "No": 0}')
      const reply = yield* driverFor({ nextToken: failing("invalid_request"), chat })(requestFor({ urgent: noul }))
      assert.strictEqual(reply.method, "stated")
      const error = yield* Effect.flip(driverFor({ nextToken: failing("auth"), chat })(requestFor({ urgent: noul })))
      assert.strictEqual(error.reason, "auth")
      assert.strictEqual(requests.length, 1)
    })
  )
})

describe("in the model's own words", () => {
  it.effect("a distribution for each question, as one JSON object", () =>
    Effect.gen(function* () {
      const { chat, requests } = says(({ messages }) => {
        const prompt = JSON.stringify(messages)
        if (prompt.includes("urgent")) return '{"Yes": 0.8, "No": 0.2}'
        return prompt.includes("Topic") ? 'Sure:\n```json\n{"A": 30, "B": 70}\n```' : '{"0": 0.2, "2": 0.6}'
      })
      const reply = yield* driverFor({ chat })(requestFor({ urgent: noul, topic: choice, anger: score }))
      assert.deepInclude(reply, { method: "stated", estimated: true, model: "m-chat" })
      assert.deepStrictEqual(reply.distributions["urgent"], { true: 0.8, false: 0.2 })
      near(reply.distributions["topic"]?.["delivery"], 0.7)
      near(reply.distributions["anger"]?.["2"], 0.75)
      near(reply.distributions["anger"]?.["1"], 0)
      assert.isTrue(
        requests.every(({ jsonOutput, tools, thinking }) => jsonOutput && tools.length === 0 && thinking === null)
      )
    })
  )

  it.effect("numbers are the labels when there are more options than letters", () =>
    Effect.gen(function* () {
      const options = Object.fromEntries(Array.from({ length: 255 }, (_, index) => [`o${index}`, null]))
      const { chat } = says(() => '{"255": 0.75, "10": 0.25}')
      const question: TypedQuestion = { type: "choice", instructions: "x", criteria: options }
      const { distributions } = yield* driverFor({ chat })(requestFor({ q: question }))
      near(distributions["q"]?.["o254"], 0.75)
      near(distributions["q"]?.["o9"], 0.25)
    })
  )

  it.each([
    "no JSON at all",
    "{}",
    '{"Yes": 0.9',
    '{"Yes": "0.9", "No": 0.1}',
    '{"Yes": 0.9, "Perhaps": 0.1}',
    '{"Yes": -1, "No": 2}',
    '{"Yes": 7, "No": 3}',
    '{"Yes": 0.2, "yes": 0.8}',
    "[0.9, 0.1]",
    '{"Yes": 1e999, "No": 0}'
  ])("%s is no distribution", (text) => {
    const labels = [
      { option: "true", label: "Yes", text: "" },
      { option: "false", label: "No", text: "" }
    ]
    assert.isUndefined(readStated(text, labels))
  })

  it.effect("nonsense is asked again, a bounded number of times, and everything is paid", () =>
    Effect.gen(function* () {
      const healed = says((_, number) => (number === 0 ? "I would say yes." : '{"Yes": 0.9, "No": 0.1}'))
      const reply = yield* driverFor({ chat: healed.chat })(requestFor({ urgent: noul }))
      assert.strictEqual(reply.usage?.inputTokens, 20)
      const { chat, requests } = says(() => "I would say yes.")
      const error = yield* Effect.flip(driverFor({ chat })(requestFor({ urgent: noul })))
      assert.deepInclude(error, { reason: "malformed", code: "no_such_label" })
      assert.strictEqual(error.usage?.inputTokens, 30)
      assert.strictEqual(requests.length, 3)
    })
  )
})

describe("by samples", () => {
  const settings = { withoutLogProbabilities: "sampled", samples: 10 } as const

  it.effect("shares of what was said", () =>
    Effect.gen(function* () {
      const { chat, requests } = says((_, number) => (number < 6 ? "Yes." : number < 9 ? " **no**" : "Who knows?"))
      const reply = yield* driverFor({ chat }, settings)(requestFor({ urgent: noul }))
      assert.deepInclude(reply, { method: "sampled", estimated: true })
      near(reply.distributions["urgent"]?.["true"], 6 / 9)
      assert.strictEqual(requests.length, 10)
      assert.strictEqual(reply.usage?.inputTokens, 100)
    })
  )

  for (const [how, last] of [
    ["fails", Stream.fail(new ModelError({ reason: "auth", provider: "p", model: "m" }))],
    [
      "is withheld by the provider",
      Stream.make(
        { _tag: "Usage" as const, usage },
        { _tag: "Finished" as const, reason: "filtered" as const, model: null, providerData: null }
      )
    ]
  ] as const) {
    it.effect(`an error tells what all samples have used, when one of them ${how}`, () =>
      Effect.gen(function* () {
        const { chat, requests } = says(() => "Yes.")
        const failing: ChatDriver = (request) => Stream.suspend(() => (requests.length === 9 ? last : chat(request)))
        const asked = driverFor({ chat: failing }, { ...settings, concurrency: 1 })(requestFor({ urgent: noul }))
        const error = yield* Effect.flip(asked)
        assert.strictEqual(error.usage?.inputTokens, how === "fails" ? 90 : 100)
      })
    )
  }

  it.effect("nothing but other words is an error", () =>
    Effect.gen(function* () {
      const { chat } = says(() => "Who knows?")
      const error = yield* Effect.flip(driverFor({ chat }, settings)(requestFor({ urgent: noul })))
      assert.strictEqual(error.code, "no_such_label")
      assert.strictEqual(error.usage?.inputTokens, 100)
    })
  )
})

describe("a request to a provider", () => {
  const failing = (
    failures: number,
    error: { readonly reason?: ModelErrorReason; readonly retryAfterMillis?: number } = {}
  ) => {
    let calls = 0
    const answers: Provider["answers"] = () =>
      Effect.suspend(() =>
        ++calls <= failures
          ? Effect.fail(new ModelError({ reason: "overloaded", provider: "p", model: "m", ...error }))
          : Effect.succeed({ distributions: {}, method: "native", estimated: false, model: null, usage: null })
      )
    return { answers, calls: () => calls }
  }

  it.effect("is made again while that may help, with the pause that the provider wants", () =>
    Effect.gen(function* () {
      const { answers, calls } = failing(2, { retryAfterMillis: 5000 })
      const asking = yield* Effect.forkChild(driverFor({ answers })(requestFor({ urgent: noul })))
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(calls(), 1)
      yield* TestClock.adjust("5001 millis")
      assert.strictEqual((yield* Fiber.join(asking)).method, "native")
      assert.strictEqual(calls(), 3)
    })
  )

  it.effect("is given up after that, or at once when it cannot help or the pause is too long", () =>
    Effect.gen(function* () {
      for (const [error, expected] of [
        [{}, 3],
        [{ retryAfterMillis: 61_000 }, 1],
        [{ reason: "auth" }, 1]
      ] as const) {
        const { answers, calls } = failing(9, error)
        const asking = yield* Effect.forkChild(Effect.flip(driverFor({ answers })(requestFor({ urgent: noul }))))
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(asking)
        assert.strictEqual(calls(), expected)
      }
    })
  )

  it.effect("that is never answered ends", () =>
    Effect.gen(function* () {
      const asking = yield* Effect.forkChild(
        Effect.flip(driverFor({ answers: () => Effect.never }, { retries: 0 })(requestFor({ urgent: noul })))
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(asking)).reason, "timeout")
    })
  )
})
