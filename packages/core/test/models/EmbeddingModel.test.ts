import { type Charge, Principal, ProviderKeys, Providers } from "@colloquy/core"
import {
  type EmbeddingDriver,
  EmbeddingModel,
  type EmbeddingRequest,
  ModelError,
  noUsage
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import { embedPaid } from "../../src/models/EmbeddingModel.ts"

/** A driver that remembers its requests; a text's vector is its length, `dimensions` times. */
const recording = (
  answer: (request: EmbeddingRequest, attempt: number) => ReturnType<EmbeddingDriver["embed"]>,
  limits = { maxTexts: 3, maxCharacters: 10 }
) => {
  const requests: Array<EmbeddingRequest> = []
  const driver: EmbeddingDriver = {
    ...limits,
    embed: (request) => Effect.suspend(() => answer(request, requests.push(request)))
  }
  return { driver, requests }
}

const lengths = (request: EmbeddingRequest): ReturnType<EmbeddingDriver["embed"]> =>
  Effect.succeed({
    vectors: request.texts.map((text) => new Float32Array(request.dimensions ?? 2).fill(text.length)),
    usage: { ...noUsage, inputTokens: request.texts.length }
  })

const embedding = (driver: EmbeddingDriver) =>
  EmbeddingModel.layer.pipe(
    Layer.provide(
      Providers.layer({ providers: [{ id: "p", embedding: driver }], defaults: { provider: "p", model: "m" } })
    )
  )

const target = { provider: "p", model: "m", dimensions: 2 }

describe("the embedding model", () => {
  it.effect("tells with an error what the requests before it have used", () => {
    const { driver } = recording((request, attempt) =>
      attempt === 2
        ? Effect.delay(Effect.fail(new ModelError({ reason: "auth", provider: "p", model: "m" })), "1 second")
        : lengths(request)
    )
    return Effect.gen(function* () {
      const texts = ["a", "b", "c", "d"]
      const failed = yield* Effect.forkChild(
        Effect.flip(EmbeddingModel.use((model) => model.embed(target, texts, "document")))
      )
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(failed)
      assert.deepInclude(error, { reason: "auth", usage: { ...noUsage, inputTokens: 3 } })
    }).pipe(Principal.provide("ada"), Effect.provide(embedding(driver)))
  })

  it.effect("tells spans and metrics of each call of the model, and no text", () => {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const { driver } = recording((request, attempt) =>
      attempt === 3
        ? Effect.fail(new ModelError({ reason: "auth", provider: "p", model: "m" }))
        : Effect.delay(lengths(request), "2 seconds")
    )
    const of = { "gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "p", "gen_ai.request.model": "m" }
    return Effect.gen(function* () {
      const model = yield* EmbeddingModel
      const embedded = yield* Effect.forkChild(model.embed(target, ["secret", "text", "of", "mine"], "document"))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(embedded)
      yield* Effect.flip(model.embed(target, ["secret"], "query"))
      const calls = spans.filter(({ name }) => name === "embeddings m")
      assert.deepStrictEqual(
        calls.map(({ attributes, kind }) => [kind, Object.fromEntries(attributes)]),
        [
          ["client", { ...of, "gen_ai.usage.input_tokens": 2 }],
          ["client", { ...of, "gen_ai.usage.input_tokens": 2 }],
          ["client", { ...of, "error.type": "auth" }]
        ]
      )
      const told = (yield* Metric.snapshot).flatMap((metric) =>
        metric.type === "Histogram" ? [[metric.id, metric.attributes, metric.state.count, metric.state.sum]] : []
      )
      assert.sameDeepMembers(told, [
        ["gen_ai.client.operation.duration", { ...of, unit: "s" }, 2, 4],
        ["gen_ai.client.operation.duration", { ...of, unit: "s", "error.type": "auth" }, 1, 0],
        ["gen_ai.client.token.usage", { ...of, unit: "{token}", "gen_ai.token.type": "input" }, 2, 4]
      ])
      assert.notInclude(JSON.stringify(spans.map(({ attributes, name }) => [name, [...attributes]])), "secret")
    }).pipe(
      Effect.withTracer(tracer),
      Principal.provide("ada"),
      Effect.provide(embedding(driver)),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
  })

  it.effect("attempts that failed are charged with what they have used", () => {
    const spent = { ...noUsage, inputTokens: 10 }
    const { driver } = recording((request, attempt) =>
      attempt === 1
        ? Effect.fail(new ModelError({ reason: "overloaded", provider: "p", model: "m", usage: spent }))
        : lengths(request)
    )
    return Effect.gen(function* () {
      const embedded = yield* Effect.forkChild((yield* EmbeddingModel).embed(target, ["a"], "document"))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(embedded)).usage.inputTokens, 11)
    }).pipe(Principal.provide("ada"), Effect.provide(embedding(driver)))
  })

  it.effect("a failure tells what the requests used that were answered, and that is charged", () => {
    const fails = (attempt: number) =>
      attempt === 3
        ? Effect.fail(
            new ModelError({ reason: "auth", provider: "p", model: "m", usage: { ...noUsage, inputTokens: 10 } })
          )
        : null
    const { driver } = recording((request, attempt) => fails(attempt) ?? lengths(request))
    const short = recording((request) => Effect.map(lengths(request), (reply) => ({ ...reply, vectors: [] })))
    const texts = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]
    const charged: Array<ReadonlyArray<Charge>> = []
    const begin = () =>
      Effect.succeed((charges: ReadonlyArray<Charge>) => Effect.sync(() => void charged.push(charges)))
    const embed = (over: EmbeddingDriver) =>
      EmbeddingModel.pipe(
        Effect.flatMap((model) => Effect.flip(embedPaid(model, begin, target, texts, "document"))),
        Effect.provide(embedding(over))
      )
    return Effect.gen(function* () {
      const refused = yield* embed(driver)
      assert.deepInclude(refused, { _tag: "ModelError", reason: "auth", usage: { ...noUsage, inputTokens: 15 } })
      const unusable = yield* embed(short.driver)
      assert.deepInclude(unusable, { _tag: "EmbeddingFailed", usage: { ...noUsage, inputTokens: 3 } })
      assert.deepStrictEqual(
        charged.map((charges) => charges.map(({ purpose, usage }) => [purpose, usage.inputTokens])),
        [[["embedding", 15]], [["embedding", 3]]]
      )
    }).pipe(Principal.provide("ada"))
  })

  it.effect("splits texts to the driver's limits and keeps their order", () => {
    const { driver, requests } = recording(lengths)
    return Effect.gen(function* () {
      const model = yield* EmbeddingModel
      const texts = ["a", "bb", "ccc", "dddd", "eeeee", "ffffffffffffffff", "g"]
      const { usage, vectors } = yield* model.embed(target, texts, "document")
      assert.deepStrictEqual(
        vectors.map((vector) => vector[0]),
        texts.map((text) => text.length)
      )
      assert.deepStrictEqual(
        requests.map((request) => request.texts),
        [["a", "bb", "ccc"], ["dddd", "eeeee"], ["ffffffffffffffff"], ["g"]]
      )
      assert.strictEqual(usage.inputTokens, 7)
    }).pipe(Principal.provide("ada"), Effect.provide(embedding(driver)))
  })

  it.effect("asks nobody for nothing", () => {
    const { driver, requests } = recording(lengths)
    return Effect.gen(function* () {
      const { vectors } = yield* (yield* EmbeddingModel).embed(target, [], "query")
      assert.deepStrictEqual([vectors.length, requests.length], [0, 0])
    }).pipe(Principal.provide("ada"), Effect.provide(embedding(driver)))
  })

  it.effect("tries a passing failure again after the pause that the provider asks for, and a lasting one not", () => {
    const failing = (reason: "rate_limited" | "auth") =>
      recording((request, attempt) =>
        attempt === 1
          ? Effect.fail(new ModelError({ reason, provider: "p", model: "m", retryAfterMillis: 5000 }))
          : lengths(request)
      )
    const passing = failing("rate_limited")
    const lasting = failing("auth")
    const embed = EmbeddingModel.use((model) => model.embed(target, ["a"], "query")).pipe(Principal.provide("ada"))
    return Effect.gen(function* () {
      const patient = yield* Effect.forkChild(embed.pipe(Effect.provide(embedding(passing.driver))))
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(passing.requests.length, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(patient)).vectors.length, 1)
      const error = yield* Effect.flip(embed.pipe(Effect.provide(embedding(lasting.driver))))
      assert.strictEqual(error._tag === "ModelError" && error.reason, "auth")
      assert.strictEqual(lasting.requests.length, 1)
    })
  })

  it.effect("does not wait for a provider that asks for a very long pause", () => {
    const retryAfterMillis = 86_400_000
    const { driver, requests } = recording(() =>
      Effect.fail(new ModelError({ reason: "rate_limited", provider: "p", model: "m", retryAfterMillis }))
    )
    return Effect.gen(function* () {
      const embedded = yield* Effect.forkChild(
        Effect.flip((yield* EmbeddingModel).embed(target, ["a"], "query")).pipe(Principal.provide("ada"))
      )
      yield* TestClock.adjust("1 second")
      const ended = embedded.pollUnsafe()
      const error = ended === undefined ? assert.fail("It waits.") : yield* ended
      assert.deepInclude(error, { _tag: "ModelError", reason: "rate_limited", retryAfterMillis })
      assert.strictEqual(requests.length, 1)
    }).pipe(Effect.provide(embedding(driver)))
  })

  it.effect("refuses vectors of a wrong number, length or value", () => {
    const answering = (...vectors: ReadonlyArray<ReadonlyArray<number>>) =>
      recording(() => Effect.succeed({ vectors: vectors.map((vector) => Float32Array.from(vector)), usage: noUsage }))
        .driver
    const embeddingProblem = (driver: EmbeddingDriver) =>
      EmbeddingModel.use((model) => Effect.flip(model.embed(target, ["a", "b"], "document"))).pipe(
        Effect.map((error) => (error._tag === "EmbeddingFailed" ? error.problem : error._tag)),
        Principal.provide("ada"),
        Effect.provide(embedding(driver))
      )
    return Effect.gen(function* () {
      assert.strictEqual(yield* embeddingProblem(answering([1, 2])), "wrong_number_of_vectors")
      assert.strictEqual(yield* embeddingProblem(answering([1, 2], [1, 2, 3])), "wrong_dimensions")
      assert.strictEqual(yield* embeddingProblem(answering([1, 2], [Number.NaN, 1])), "not_a_number")
    })
  })

  it.effect("uses the customer's own key, and says when there is no such provider", () => {
    const { driver, requests } = recording(lengths)
    const keys = { find: () => Effect.succeed(Redacted.make("own")) }
    return Effect.gen(function* () {
      const model = yield* EmbeddingModel
      yield* model.embed(target, ["a"], "query")
      assert.strictEqual(requests[0]?.apiKey && Redacted.value(requests[0].apiKey), "own")
      const error = yield* Effect.flip(model.embed({ ...target, provider: "nobody" }, ["a"], "query"))
      assert.strictEqual(error._tag === "EmbeddingFailed" && error.problem, "no_such_provider")
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(embedding(driver).pipe(Layer.provide(Layer.succeed(ProviderKeys, keys))))
    )
  })

  it.effect("one owner's documents leave room for another's, and a question waits for none", () => {
    const isBusy = ({ texts }: EmbeddingRequest) => texts[0] === "busy"
    const { driver, requests } = recording((request) => (isBusy(request) ? Effect.never : lengths(request)))
    return Effect.gen(function* () {
      const model = yield* EmbeddingModel
      const embed = (owner: string, text: string, purpose: EmbeddingRequest["purpose"] = "document") =>
        Principal.provide(owner)(model.embed(target, [text], purpose))
      const begin = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.forkChild(work, { startImmediately: true })
      const startCrowd = (owner: string) => Effect.replicateEffect(begin(embed(owner, "busy")), 100)
      const first = yield* startCrowd("a")
      assert.strictEqual(requests.filter(isBusy).length, 8)
      assert.strictEqual((yield* embed("b", "tea")).vectors.length, 1)
      const crowds = [...first, ...(yield* startCrowd("b"))]
      assert.strictEqual(requests.filter(isBusy).length, 16)
      assert.strictEqual((yield* embed("c", "tea", "query")).vectors.length, 1)
      const late = yield* begin(embed("c", "tea"))
      // The next place that is free is for who has none, and not for the many who came before.
      for (const done of first.slice(0, 1)) yield* Fiber.interrupt(done)
      assert.strictEqual((yield* Fiber.join(late)).vectors.length, 1)
      yield* Fiber.interruptAll(crowds)
    }).pipe(Effect.provide(embedding(driver)))
  })
})
