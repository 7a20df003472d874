/** Every reranker against a server that speaks its wire: the contract, and what it asks and charges. */
import { Principal } from "@colloquy/core"
import type { RerankerPort } from "@colloquy/core/memory"
import { assert, describe, it } from "@effect/vitest"
import { type RankedText, rerankerSuite, type RerankVendor } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import { cohere, jina, type RerankSettings, voyage } from "../../src/providers/Rerankers.ts"
import * as FakeVendor from "./FakeVendor.ts"

interface Vendor {
  readonly make: (settings: RerankSettings) => RerankerPort
  readonly path: string
  readonly answer: (ranked: ReadonlyArray<unknown>) => unknown
  /** As the vendor tells them; null: estimated. */
  readonly tokens: number | null
}

const vendors: { readonly [name: string]: Vendor } = {
  cohere: {
    make: cohere,
    path: "/v2/rerank",
    answer: (results) => ({ id: "r", results, meta: { billed_units: { search_units: 1 } } }),
    tokens: null
  },
  voyage: {
    make: voyage,
    path: "/rerank",
    answer: (data) => ({ object: "list", data, model: "rerank-1", usage: { total_tokens: 26 } }),
    tokens: 26
  },
  jina: {
    make: jina,
    path: "/rerank",
    answer: (results) => ({ model: "rerank-1", usage: { total_tokens: 26, prompt_tokens: 26 }, results }),
    tokens: 26
  }
}

const texts = ["cat", "dog", "kettle"]

const setUp = (vendor: Vendor) =>
  Effect.map(FakeVendor.make, (fake) => {
    const port = vendor.make({ model: "rerank-1", apiKey: "sk-of-the-host", baseUrl: fake.baseUrl })
    return { fake, port }
  })

const toWire = (ranked: ReadonlyArray<RankedText>) =>
  ranked.map(({ index, score }) => ({ index, relevance_score: score }))

const rerankVendor = (vendor: Vendor) =>
  Effect.map(setUp(vendor), ({ fake, port }): RerankVendor => {
    const script = (reply: FakeVendor.Reply) => fake.script(vendor.path, reply)
    return {
      port,
      ranks: (ranked) => script(FakeVendor.json(vendor.answer(toWire(ranked)))),
      refusesKey: () => script(FakeVendor.json({ message: "bad sk-of-the-host boil water" }, 401)),
      sends: (text) => script(FakeVendor.json(text)),
      hangs: () => {
        script({ body: [new FakeVendor.Gate()] })
        return {
          asked: Effect.asVoid(fake.request(0)),
          left: Effect.flatMap(fake.request(0), ({ aborted }) => Effect.promise(() => aborted))
        }
      },
      requests: () => fake.requests.length
    }
  })

describe.each(Object.entries(vendors))("%s", (name, vendor) => {
  rerankerSuite(name, rerankVendor(vendor), { scores: true })

  it.effect("is asked on its wire, and its usage is estimated if it does not tell tokens", () =>
    Effect.gen(function* () {
      const { fake, port } = yield* setUp(vendor)
      fake.script(vendor.path, FakeVendor.json(vendor.answer([{ index: 0, relevance_score: 0.1 }])))
      const { charge } = yield* port.rerank({ query: "boil water", texts }).pipe(Principal.provide("ada"))
      assert.strictEqual(fake.requests[0]?.headers.authorization, "Bearer sk-of-the-host")
      assert.deepStrictEqual(fake.requests[0]?.body, { model: "rerank-1", query: "boil water", documents: texts })
      assert.deepInclude(charge, { provider: name, model: "rerank-1", purpose: "rerank" })
      assert.strictEqual(charge?.usage.estimated, vendor.tokens === null)
      if (vendor.tokens !== null) assert.strictEqual(charge?.usage.inputTokens, vendor.tokens)
    })
  )

  it.effect("fails on a place without a score", () =>
    Effect.gen(function* () {
      const { fake, port } = yield* setUp(vendor)
      fake.script(vendor.path, FakeVendor.json(vendor.answer([{ index: 0 }])))
      const asked = port.rerank({ query: "boil water", texts }).pipe(Principal.provide("ada"))
      assert.deepInclude(yield* Effect.flip(asked), { code: "malformed_answer" })
    })
  )
})
