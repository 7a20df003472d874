/** Every embedding provider against a server that speaks its wire: the contract, the wire form of requests, batches, numbers. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Principal, Providers } from "@colloquy/core"
import { EmbeddingModel, type EmbeddingRequest } from "@colloquy/core/adapters"
import { embeddingDriverSuite } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { writtenByDifference } from "../../../../test/written.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import { embeddingDriver, embeddingVendor, type Vendor, vendors } from "./EmbeddingVendors.ts"
import * as FakeVendor from "./FakeVendor.ts"

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

const asking = (vendor: Vendor, reply: FakeVendor.Reply, given: Partial<EmbeddingRequest> = {}) =>
  Effect.gen(function* () {
    const fake = yield* FakeVendor.make
    fake.script(vendor.path, reply)
    return yield* embeddingDriver(vendor.provider(fake.baseUrl)).embed(request(given))
  })

/** Comparable without the length, which one vendor's vectors are given. */
const vectorDirections = (vectors: ReadonlyArray<Float32Array>) =>
  vectors.map((vector) => [...vector].findIndex((each) => each > 0))

for (const vendor of vendors)
  embeddingDriverSuite(
    vendor.name,
    embeddingVendor(vendor),
    vendor.cannot === undefined ? {} : { cannot: vendor.cannot }
  )

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
