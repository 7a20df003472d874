/** Every reranker against a server that speaks its wire: the contract, and what it asks and charges. */
import { Principal } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import { rerankerSuite } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import * as FakeVendor from "./FakeVendor.ts"
import { rerankVendor, setUp, vendors } from "./RerankVendors.ts"

const texts = ["cat", "dog", "kettle"]

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
