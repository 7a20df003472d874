/** Every reranker with a server of ours behind it, as the contract of rerankers wants it. */
import type { RerankerPort } from "@colloquy/core/memory"
import type { RankedText, RerankVendor } from "@colloquy/testing/contracts"
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

export const vendors: { readonly [name: string]: Vendor } = {
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

export const setUp = (vendor: Vendor) =>
  Effect.map(FakeVendor.make, (fake) => {
    const port = vendor.make({ model: "rerank-1", apiKey: "sk-of-the-host", baseUrl: fake.baseUrl })
    return { fake, port }
  })

const toWire = (ranked: ReadonlyArray<RankedText>) =>
  ranked.map(({ index, score }) => ({ index, relevance_score: score }))

export const rerankVendor = (vendor: Vendor) =>
  Effect.map(setUp(vendor), ({ fake, port }): RerankVendor => {
    const script = (reply: FakeVendor.Reply) => fake.script(vendor.path, reply)
    return {
      port,
      ranks: (ranked) => script(FakeVendor.json(vendor.answer(toWire(ranked)))),
      refusesKey: () => script(FakeVendor.json({ message: "bad sk-of-the-host boil water" }, 401)),
      sends: (text) => script(FakeVendor.json(text)),
      hangs: () => {
        script({ body: [new FakeVendor.Gate()] })
        return FakeVendor.firstRequest(fake)
      },
      requests: () => fake.requests.length,
      seen: () => fake.requests.map(({ body }) => body)
    }
  })
