/** Every way to typed answers against a server that speaks its wire: the same questions, the same answers, the same failures. */
import { Catalog, Kernel, Principal, type Provider, ProviderKeys, Providers } from "@colloquy/core"
import { ModelError, noUsage } from "@colloquy/core/adapters"
import { type AnswerPolicy, Answers, type AnswersRequest } from "@colloquy/core/answers"
import { assert, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { writtenByDifference } from "../../../../test/written.ts"
import { InMemory } from "../../src/in-memory/index.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as SystemOne from "../../src/providers/SystemOne.ts"
import { type AnswerVendor, answerVendors, type Shares } from "./AnswerVendors.ts"
import * as FakeVendor from "./FakeVendor.ts"
import { anthropic } from "./vendors/Anthropic.ts"

const questions: AnswersRequest["questions"] = {
  urgent: { type: "noul", instructions: "Is it urgent?", criteria: { true: "today", false: "can wait" } },
  topic: {
    type: "choice",
    instructions: { ask: "Pick the topic" },
    criteria: { refund: "money back", delivery: null }
  },
  anger: { type: "score", instructions: ["How angry?"], criteria: ["calm", "annoyed", "furious"] }
}

const shares: Shares = [
  { true: 0.8, false: 0.2 },
  { refund: 0.95, delivery: 0.05 },
  { "0": 0.15, "1": 0.5, "2": 0.35 }
]

interface Asked {
  readonly settings?: Partial<AnswerPolicy>
  readonly customerKey?: string
  readonly request?: Partial<AnswersRequest>
}

/** The lists of models are fetched behind everybody's back, and are no part of these scenarios. */
const withoutList = ({ listModels: _, ...provider }: Provider): Provider => provider

/** One ask. The questions go one after the other, so that replies find their questions; and once, unless told otherwise. */
const ask = (provider: Provider, { customerKey, request, settings }: Asked = {}) =>
  Effect.gen(function* () {
    const state = { text: "My parcel is broken, I want money back" }
    return yield* (yield* Answers).ask({ state, questions, model: "model-1", ...request })
  }).pipe(
    Principal.provide("ada"),
    Effect.provide(
      Answers.layer({ concurrency: 1, retries: 0, ...settings }).pipe(
        Layer.provide(Kernel.layer),
        Layer.provide([
          Providers.layer({
            providers: [withoutList(provider)],
            defaults: { provider: provider.id, model: "model-1" }
          }),
          InMemory.layer,
          Layer.succeed(ProviderKeys, {
            find: () => Effect.succeed(customerKey === undefined ? null : Redacted.make(customerKey))
          })
        ])
      )
    )
  )

const asking = (vendor: AnswerVendor, replies: ReadonlyArray<FakeVendor.Reply>, asked: Asked = {}) =>
  Effect.gen(function* () {
    const fake = yield* FakeVendor.make
    fake.script(vendor.path, ...replies)
    return yield* ask(vendor.provider(fake.baseUrl), asked)
  })

describe.each(answerVendors)("$name", (vendor) => {
  it.live("gives the answers of its distributions, the way it went, the model and what it cost", () =>
    Effect.gen(function* () {
      const given = yield* asking(vendor, vendor.say(shares))
      const { anger, topic, urgent } = given.answers
      assert.closeTo(urgent?.type === "noul" ? urgent.noul : -1, 0.8, 1e-6)
      if (topic?.type !== "choice" || anger?.type !== "score") return assert.fail("answers of other types")
      assert.strictEqual(topic.choice, "refund")
      assert.closeTo(topic.probabilities["refund"] ?? -1, 0.95, 1e-6)
      assert.closeTo(topic.confidence, 0.9, 1e-6)
      assert.closeTo(anger.score, 1.2, 1e-6)
      assert.closeTo(anger.confidence, 0.25, 1e-6)
      assert.deepStrictEqual(anger.legend, { 0: "calm", 1: "annoyed", 2: "furious" })
      assert.deepInclude(given, { method: vendor.method, estimated: vendor.estimated, model: vendor.model })
      assert.deepStrictEqual(
        [given.usage.inputTokens, given.usage.outputTokens],
        vendor.method === "native" ? [212, 3] : [213, 3]
      )
      assert.isFalse(given.usage.estimated)
    })
  )

  it.live("keeps the wire form of its requests, and prefers the customer's key to the host's", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script(vendor.path, ...vendor.say(shares), ...vendor.say(shares))
      yield* ask(vendor.provider(fake.baseUrl))
      const posted = fake.requests
      const bodies = posted.map(({ body }, index) => [`request ${index + 1}`, body] as const)
      expect(writtenByDifference(Object.fromEntries(bodies))).toMatchSnapshot()
      yield* ask(vendor.provider(fake.baseUrl), { customerKey: "sk-of-the-customer" })
      if (vendor.keyHeader === null) return
      const [name, value] = vendor.keyHeader
      const sent = fake.requests.map(({ headers }) => headers[name])
      assert.deepStrictEqual([...new Set(sent)], [value("sk-of-the-host"), value("sk-of-the-customer")])
    })
  )

  it.live.each([
    [401, {}, { reason: "auth" }],
    [402, {}, { reason: "quota" }],
    [422, {}, { reason: "invalid_request" }],
    [429, { "retry-after-ms": "90000" }, { reason: "rate_limited", retryAfterMillis: 90_000 }],
    [529, {}, { reason: "overloaded" }]
  ] as const)("status %i: a reason, and none of the vendor's sentences", ([status, headers, expected]) =>
    Effect.gen(function* () {
      const reply = FakeVendor.json(vendor.refuse(status, "the secret words of the state"), status, headers)
      const error = yield* Effect.flip(asking(vendor, [reply]))
      assert.instanceOf(error, ModelError)
      assert.deepInclude(error, expected)
      assert.notInclude(
        `${error.message} ${JSON.stringify(Object.assign({}, error, { forOperator: undefined }))}`,
        "secret"
      )
    })
  )

  it.live("tries again when the vendor says after how long", () =>
    Effect.gen(function* () {
      const busy = FakeVendor.json(vendor.refuse(429, "slow down"), 429, { "retry-after-ms": "1" })
      const given = yield* asking(vendor, [busy, busy, ...vendor.say(shares)], { settings: { retries: 2 } })
      assert.strictEqual(given.answers["topic"]?.type, "choice")
    })
  )

  it.live("nonsense is refused: nothing is made up", () =>
    Effect.gen(function* () {
      for (const reply of vendor.nonsense) {
        const error = yield* Effect.flip(asking(vendor, [reply, ...vendor.say(shares).slice(1)]))
        assert.include(["AnswersUnusable", "ModelError"], error._tag, JSON.stringify(reply.body))
        assert.isFalse(error._tag === "ModelError" && error.status === 599, JSON.stringify(reply.body))
      }
    })
  )

  it.live("a body that is no JSON, or is cut, is an error", () =>
    Effect.gen(function* () {
      const [whole] = vendor.say(shares)
      const text = whole?.body.map((piece) => (typeof piece === "string" ? piece : "")).join("") ?? ""
      const bodies: ReadonlyArray<FakeVendor.Reply["body"]> = [
        ["<html>"],
        [text.slice(0, text.length / 2), FakeVendor.closed]
      ]
      for (const body of bodies) {
        const error = yield* Effect.flip(asking(vendor, [{ ...whole, body }]))
        assert.strictEqual(error._tag, "ModelError")
      }
    })
  )
})

describe("System One", () => {
  const answers = (model: string) =>
    FakeVendor.json({
      model,
      answers: { urgent: { type: "noul", noul: 0.5 } },
      usage: { input_tokens: 1, output_tokens: 0 }
    })
  const one = { questions: { urgent: questions["urgent"] ?? assert.fail() } }

  it.live("is asked at any address, and names of models are mapped by their beginning, there and back", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const provider = SystemOne.provider({
        baseUrl: `${fake.baseUrl}/api`,
        path: "/alpha/decisions",
        prefix: { ours: "typed-", theirs: "vendor-" }
      })
      fake.script("/api/alpha/decisions", answers("vendor-1.14.0"), answers("another"))
      const given = yield* ask(provider, { request: { ...one, model: "typed-latest" } })
      assert.strictEqual(given.model, "typed-1.14.0")
      assert.strictEqual((yield* ask(provider, { request: { ...one, model: "own" } })).model, "another")
      assert.deepStrictEqual(
        fake.requests.map(({ body }) => Object(body).model),
        ["vendor-latest", "own"]
      )
      assert.isUndefined(fake.requests[0]?.headers["authorization"])
    })
  )

  it.live("writes instructions before criteria, and options named like numbers in their order", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const probabilities = { 10: 0.5, 9: 0.25, ["__proto__"]: 0.25 }
      fake.script("/v1/systemone", FakeVendor.json({ answers: { q: { type: "choice", probabilities } } }))
      const criteria = JSON.parse('{"__proto__": null, "9": "nine", "10": "ten"}')
      const order = ["10", "9", "__proto__"]
      const q = { type: "choice", instructions: "Which?", criteria, order } as const
      const given = yield* ask(SystemOne.provider({ baseUrl: fake.baseUrl }), { request: { questions: { q } } })
      assert.deepInclude(given.answers["q"], { choice: "10" })
      const sent = new TextDecoder().decode(fake.requests[0]?.bytes)
      const written = '{"type":"choice","instructions":"Which?","criteria":{"10":"ten","9":"nine","__proto__":null}}'
      assert.isTrue(sent.endsWith(`"questions":{"q":${written}}}`), sent)
    })
  )

  it.live.each<[ReadonlyArray<unknown>, string]>([
    [["body", "questions", "topic", "criteria"], "questions.2.criteria"],
    [["body", "questions", "anger", "criteria", 1], "questions.3.criteria.1"],
    [["body", "questions", "topic", "criteria", "an option of the client's"], "questions.2.criteria"],
    [["body", "questions", "nobody's secret", "criteria"], "questions"],
    [["body", "state"], "state"]
  ])("a refused field is named by its place, without the client's words: %j", ([loc, code]) =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const detail = [{ loc, msg: "secret", type: "missing" }]
      fake.script("/v1/systemone", FakeVendor.json({ detail }, 422, { "x-typesafe-request-id": "req-7" }))
      const error = yield* Effect.flip(ask(SystemOne.provider({ baseUrl: fake.baseUrl })))
      assert.deepInclude(error, { reason: "invalid_request", code, requestId: "req-7" })
    })
  )

  it.live("lists its models for the catalogue, aliases of the host's among them", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const models = [
        { name: "vendor-1.14.0", description: "The newest", release_date: "2026-10-01" },
        { name: "vendor-1.13.0" },
        { description: "no name" }
      ]
      fake.script("/v1/models", FakeVendor.json({ models }))
      const provider = SystemOne.provider({
        baseUrl: fake.baseUrl,
        prefix: { ours: "typed-", theirs: "vendor-" },
        models: { "typed-latest": { displayName: "Latest" }, "typed-1.13.0": { inputCostPerMillionTokens: 2 } }
      })
      const { models: listed } = yield* Effect.flatMap(Catalog, (catalog) =>
        catalog.list({ provider: "typedprovider", modelType: "system_one" }, { skip: 0, limit: 10 })
      ).pipe(
        Effect.provide(
          Catalog.layer.pipe(
            Layer.provide(
              Providers.layer({ providers: [provider], defaults: { provider: "typedprovider", model: "m" } })
            )
          )
        )
      )
      assert.deepStrictEqual(
        listed.map(({ details, displayName, inputCostPerMillionTokens, name }) => [
          name,
          displayName,
          inputCostPerMillionTokens,
          details
        ]),
        [
          ["typed-1.13.0", null, 2, {}],
          ["typed-1.14.0", null, null, { description: "The newest", release_date: "2026-10-01" }],
          ["typed-latest", "Latest", null, null]
        ]
      )
    })
  )
})

describe("a chat model that tells no log-probabilities", () => {
  const responses = (text: string) =>
    FakeVendor.sse([
      `data: ${JSON.stringify({ id: "c", model: "model-1-2026", choices: [{ index: 0, delta: { content: text }, finish_reason: "stop" }] })}\n\n`,
      `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 50, completion_tokens: 9 } })}\n\n`,
      "data: [DONE]\n\n"
    ])
  const one = { questions: { urgent: questions["urgent"] ?? assert.fail() } }
  const path = "/v1/chat/completions"
  const chatProvider = (server: string) =>
    OpenAi.provider({ baseUrl: `${server}/v1`, apiKey: Redacted.make("k"), wire: "chat" })

  it.live.each<[string, FakeVendor.Reply, number]>([
    [
      "refuses to",
      FakeVendor.json({ error: { message: "logprobs are not supported", code: "unsupported_parameter" } }, 400),
      50
    ],
    [
      "leaves them out",
      FakeVendor.json({
        choices: [{ message: { content: "Yes" }, logprobs: null }],
        usage: { prompt_tokens: 7, completion_tokens: 1 }
      }),
      57
    ]
  ])("answers in its own words when it %s, and the answer says so", ([, first, inputTokens]) =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script(path, first, responses('{"Yes": 0.7, "No": 0.3}'))
      const given = yield* ask(chatProvider(fake.baseUrl), { request: one })
      assert.deepInclude(given, { method: "stated", estimated: true, model: "model-1-2026" })
      assert.deepStrictEqual(given.answers, { urgent: { type: "noul", noul: 0.7 } })
      assert.strictEqual(given.usage.inputTokens, inputTokens)
    })
  )

  it.live("is sampled when the host asks for that", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const render = (text: string) => FakeVendor.sse(anthropic.render([{ text }, { finish: "stop", usage: noUsage }]))
      const { provider } = answerVendors.find(({ method }) => method === "stated") ?? assert.fail()
      fake.script("/v1/messages", ...["Yes", "No.", "yes", "Yes"].map(render))
      const given = yield* ask(provider(fake.baseUrl), {
        request: one,
        settings: { withoutLogProbabilities: "sampled", samples: 4 }
      })
      assert.deepInclude(given, { method: "sampled", estimated: true })
      assert.deepStrictEqual(given.answers, { urgent: { type: "noul", noul: 0.75 } })
    })
  )
})
