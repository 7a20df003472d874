/** Every embedding provider against a server that speaks its wire: the contract, the wire form of requests, batches, numbers. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Principal, type Provider, Providers } from "@colloquy/core"
import { type EmbeddingDriver, EmbeddingModel, type EmbeddingRequest } from "@colloquy/core/adapters"
import { embeddingDriverSuite, type EmbeddingVendor } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { writtenByDifference } from "../../../../test/written.ts"
import { base64 } from "../../src/protocols/Wire.ts"
import * as Cohere from "../../src/providers/Cohere.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import * as Voyage from "../../src/providers/Voyage.ts"
import * as FakeVendor from "./FakeVendor.ts"

interface Vendor {
  readonly name: string
  readonly provider: (server: string, limits?: { readonly maxTexts: number }) => Provider
  readonly path: string
  readonly keyHeader: string
  /** The answer with these vectors; the tokens are left out when they are null. */
  readonly answer: (vectors: ReadonlyArray<unknown>, tokens: number | null) => unknown
  readonly refusal: (sentence: string, status: number) => unknown
}

const apiKey = Redacted.make("sk-of-the-host")
const bearer = "authorization"
const models = { "model-1": { embeddingDimensions: 4 } }

/** Backwards, because only the index counts. */
const indexed = (vectors: ReadonlyArray<unknown>) =>
  vectors.map((embedding, index) => ({ object: "embedding", index, embedding })).toReversed()

const inBase64 = (vector: unknown): unknown =>
  Array.isArray(vector) && typeof vector[0] === "number"
    ? base64(new Uint8Array(Float32Array.from(vector).buffer))
    : vector

const googleWords: { readonly [status: number]: string } = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  404: "NOT_FOUND",
  422: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE"
}

const vendors: ReadonlyArray<Vendor> = [
  {
    name: "OpenAI",
    provider: (server, limits) =>
      OpenAi.provider({ baseUrl: `${server}/v1`, apiKey, models, ...(limits && { limits }) }),
    path: "/v1/embeddings",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      object: "list",
      data: indexed(vectors.map(inBase64)),
      model: "model-1",
      ...(tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } })
    }),
    refusal: (message) => ({ error: { message, type: "invalid_request_error", code: null, param: null } })
  },
  {
    name: "a local server",
    provider: (server, limits = { maxTexts: 10 }) =>
      OpenAiCompatible.provider({
        ...OpenAiCompatible.vLlm,
        baseUrl: `${server}/v1`,
        apiKey,
        embeddings: { limits: { ...limits, maxCharacters: 1000 } }
      }),
    path: "/v1/embeddings",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      data: indexed(vectors),
      ...(tokens === null ? {} : { usage: { prompt_tokens: tokens } })
    }),
    refusal: (message) => ({ object: "error", message, code: 400 })
  },
  {
    name: "the router",
    provider: (server, limits) =>
      OpenRouter.provider({ baseUrl: `${server}/v1`, apiKey, models, ...(limits && { limits }) }),
    path: "/v1/embeddings",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      data: indexed(vectors),
      ...(tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens, cost: 0.5 } })
    }),
    refusal: (message, code) => ({ error: { code, message } })
  },
  {
    name: "Voyage",
    provider: (server, limits) =>
      Voyage.provider({ baseUrl: `${server}/v1`, apiKey, models, ...(limits && { limits }) }),
    path: "/v1/embeddings",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      object: "list",
      data: indexed(vectors),
      model: "model-1",
      ...(tokens === null ? {} : { usage: { total_tokens: tokens } })
    }),
    refusal: (detail) => ({ detail })
  },
  {
    name: "Cohere",
    provider: (server, limits) => Cohere.provider({ baseUrl: server, apiKey, models, ...(limits && { limits }) }),
    path: "/v2/embed",
    keyHeader: bearer,
    answer: (vectors, tokens) => ({
      id: "e",
      embeddings: { float: vectors },
      texts: [],
      meta: { api_version: { version: "2" }, ...(tokens === null ? {} : { billed_units: { input_tokens: tokens } }) }
    }),
    refusal: (message) => ({ id: "e", message })
  },
  {
    name: "Gemini",
    provider: (server, limits) =>
      Gemini.provider({ baseUrl: `${server}/v1beta`, apiKey, models, ...(limits && { limits }) }),
    path: "/v1beta/models/model-1:batchEmbedContents",
    keyHeader: "x-goog-api-key",
    answer: (vectors, tokens) => ({
      embeddings: vectors.map((values) => ({ values })),
      ...(tokens === null ? {} : { usageMetadata: { promptTokenCount: tokens } })
    }),
    refusal: (message, code) => ({ error: { code, message, status: googleWords[code] } })
  }
]

const request = (given: Partial<EmbeddingRequest> = {}): EmbeddingRequest => ({
  provider: "p",
  model: "model-1",
  texts: ["one", "two"],
  dimensions: null,
  purpose: "document",
  apiKey: null,
  ...given
})

const two = [
  [1, 0, 0, 0],
  [0, 0.5, 0, 0]
]

const embeddingDriver = (provider: Provider): EmbeddingDriver => provider.embedding ?? assert.fail("no embeddings")

const asking = (vendor: Vendor, reply: FakeVendor.Reply, given: Partial<EmbeddingRequest> = {}) =>
  Effect.gen(function* () {
    const fake = yield* FakeVendor.make
    fake.script(vendor.path, reply)
    return yield* embeddingDriver(vendor.provider(fake.baseUrl)).embed(request(given))
  })

/** Comparable without the length, which one vendor's vectors are given. */
const vectorDirections = (vectors: ReadonlyArray<Float32Array>) =>
  vectors.map((vector) => [...vector].findIndex((each) => each > 0))

const embeddingVendor = (vendor: Vendor) =>
  Effect.map(FakeVendor.make, (fake): EmbeddingVendor => {
    const script = (reply: FakeVendor.Reply) => fake.script(vendor.path, reply)
    return {
      driver: embeddingDriver(vendor.provider(fake.baseUrl)),
      model: "model-1",
      gives: (vectors, tokens) => script(FakeVendor.json(vendor.answer(vectors, tokens))),
      refuses: (status, headers, words) => script(FakeVendor.json(vendor.refusal(words, status), status, headers)),
      sends: (text) => script(FakeVendor.json(text)),
      hangs: () => {
        script({ body: [new FakeVendor.Gate()] })
        return {
          asked: Effect.asVoid(fake.request(0)),
          left: Effect.flatMap(fake.request(0), ({ aborted }) => Effect.promise(() => aborted))
        }
      },
      keys: () => fake.requests.map(({ headers }) => String(headers[vendor.keyHeader]))
    }
  })

for (const vendor of vendors) embeddingDriverSuite(vendor.name, embeddingVendor(vendor))

describe.each(vendors)("$name", (vendor) => {
  it.live("keeps the wire form of its requests", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const { embed } = embeddingDriver(vendor.provider(fake.baseUrl))
      const asked = {
        documents: request(),
        "a question, shorter": request({ purpose: "query", dimensions: 2 }),
        "the model's own length": request({ dimensions: 4 }),
        "an empty text": request({ texts: ["", "two"] })
      }
      const reply = FakeVendor.json(vendor.answer(two, 7))
      for (const each of Object.values(asked)) {
        fake.script(vendor.path, reply)
        yield* embed(each)
      }
      const bodies = Object.keys(asked).map((name, index) => [name, fake.requests[index]?.body] as const)
      expect(writtenByDifference(Object.fromEntries(bodies))).toMatchSnapshot()
    })
  )

  it.live("is asked in batches that it takes", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const reply = FakeVendor.json(vendor.answer(two, 7))
      fake.script(vendor.path, reply, reply)
      const provider = vendor.provider(fake.baseUrl, { maxTexts: 2 })
      const layer = EmbeddingModel.layer.pipe(
        Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: provider.id, model: "model-1" } }))
      )
      const target = { provider: provider.id, model: "model-1", dimensions: 4 }
      const answer = yield* EmbeddingModel.use((model) => model.embed(target, ["a", "b", "c", "d"], "document")).pipe(
        Effect.provide(layer),
        Principal.provide("owner")
      )
      assert.strictEqual(fake.requests.length, 2)
      assert.deepStrictEqual(vectorDirections(answer.vectors), [0, 1, 0, 1])
      assert.strictEqual(answer.usage.inputTokens, 14)
    })
  )
})

it.live("Gemini's shortened vectors get unit length", () =>
  Effect.gen(function* () {
    const gemini = vendors.find((each) => each.name === "Gemini") ?? assert.fail("no Gemini")
    const { vectors } = yield* asking(
      gemini,
      FakeVendor.json(
        gemini.answer(
          [
            [3, 4],
            [0, 0]
          ],
          7
        )
      )
    )
    assert.deepStrictEqual(
      vectors.map((vector) => [...vector].map((each) => Math.round(each * 10))),
      [
        [6, 8],
        [0, 0]
      ]
    )
  })
)

it.live("the router tells what an answer cost", () =>
  Effect.gen(function* () {
    const router = vendors.find((each) => each.name === "the router") ?? assert.fail("no router")
    const { usage } = yield* asking(router, FakeVendor.json(router.answer(two, 7)))
    assert.strictEqual(usage.costUsd, 0.5)
  })
)

it.live("numbers in base64 are exact", () =>
  Effect.gen(function* () {
    const [openAi] = vendors
    if (openAi === undefined) return assert.fail("no OpenAI")
    const exact = [0.1, -1e-7, 3.4e38, 0]
    const { vectors } = yield* asking(openAi, FakeVendor.json(openAi.answer([exact], 7)), { texts: ["one"] })
    assert.deepStrictEqual(vectors, [Float32Array.from(exact)])
  })
)

it("a server without embeddings has no driver for them", () => {
  assert.isUndefined(OpenAiCompatible.provider({ ...OpenAiCompatible.groq }).embedding)
})
