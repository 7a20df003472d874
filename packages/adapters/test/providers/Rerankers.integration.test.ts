/** Every reranker against a server that speaks its wire: request, order, usage, errors, senseless answers. */
import { Principal } from "@colloquy/core"
import type { RerankerPort } from "@colloquy/core/memory"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { cohere, jina, type RerankSettings, voyage } from "../../src/providers/Rerankers.ts"
import * as FakeVendor from "./FakeVendor.ts"

interface Vendor {
  readonly make: (settings: RerankSettings) => RerankerPort
  readonly path: string
  readonly answer: (places: ReadonlyArray<unknown>) => unknown
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

const ask = (vendor: Vendor, reply: FakeVendor.Reply) =>
  Effect.gen(function* () {
    const fake = yield* FakeVendor.make
    fake.script(vendor.path, reply)
    const port = vendor.make({ model: "rerank-1", apiKey: "sk-of-the-host", baseUrl: fake.baseUrl })
    const outcome = yield* Effect.result(port.rerank({ query: "boil water", texts }))
    return { outcome, requests: fake.requests }
  }).pipe(Principal.provide("ada"))

describe.each(Object.entries(vendors))("%s", (name, vendor) => {
  it.effect("is asked once for all texts, and puts them in order by their scores", () =>
    Effect.gen(function* () {
      const places = [
        { index: 0, relevance_score: 0.1 },
        { index: 2, relevance_score: 0.9 }
      ]
      const { outcome, requests } = yield* ask(vendor, FakeVendor.json(vendor.answer(places)))
      assert.strictEqual(requests.length, 1)
      assert.strictEqual(requests[0]?.headers.authorization, "Bearer sk-of-the-host")
      assert.deepStrictEqual(requests[0]?.body, { model: "rerank-1", query: "boil water", documents: texts })
      if (outcome._tag === "Failure") throw outcome.failure
      const { charge, order } = outcome.success
      assert.deepStrictEqual(order, [
        { index: 2, score: 0.9 },
        { index: 0, score: 0.1 }
      ])
      assert.deepInclude(charge, { provider: name, model: "rerank-1", purpose: "rerank" })
      assert.strictEqual(charge?.usage.estimated, vendor.tokens === null)
      if (vendor.tokens !== null) assert.strictEqual(charge?.usage.inputTokens, vendor.tokens)
    })
  )

  for (const [title, places] of [
    ["an unknown place", [{ index: 3, relevance_score: 0.5 }]],
    ["a place twice", [0, 0].map((index) => ({ index, relevance_score: 0.5 }))],
    ["no score", [{ index: 0 }]],
    ["no places", []]
  ] as const) {
    it.effect(`fails on an answer with ${title}`, () =>
      Effect.gen(function* () {
        const { outcome } = yield* ask(vendor, FakeVendor.json(vendor.answer(places)))
        assert.strictEqual(outcome._tag, "Failure")
        if (outcome._tag === "Failure") assert.deepInclude(outcome.failure, { code: "malformed_answer" })
      })
    )
  }

  it.effect("tells a wrong key, without it and without what the vendor wrote", () =>
    Effect.gen(function* () {
      const { outcome } = yield* ask(vendor, FakeVendor.json({ message: "bad sk-of-the-host boil water" }, 401))
      if (outcome._tag === "Success") throw new Error("It did not fail.")
      assert.deepInclude(outcome.failure, { _tag: "ModelError", reason: "auth" })
      assert.notMatch(outcome.failure.message, /sk-of|boil/u)
    })
  )
})
