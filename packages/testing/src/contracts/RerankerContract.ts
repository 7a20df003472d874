/**
 * The contract of `Reranker`, in the terms of the port. The suite calls a reranker only through the port, and controls what is behind it
 * (a server that speaks a vendor's wire, or a model) through `RerankVendor`.
 */
import type { RerankerPort } from "@colloquy/core/memory"
import { Principal } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { textForUsers } from "./TextForUsers.ts"
import type * as Scope from "effect/Scope"

/** A text and its score as a vendor tells them; a model that ranks by words tells only the index. */
export interface RankedText {
  readonly index: number
  readonly score: number
}

/** A reranker with a vendor that ranks as a test says. */
export interface RerankVendor {
  /** With the host's key `sk-of-the-host`, if the vendor uses keys. */
  readonly port: RerankerPort
  /** Answers one request with these texts, in this order. */
  readonly ranks: (texts: ReadonlyArray<RankedText>) => void
  /** Answers one request with a refused key, in words that contain `sk-of-the-host` and `boil`. */
  readonly refusesKey: () => void
  /** Answers one request with status 200, or in words, with this text. */
  readonly sends: (text: string) => void
  /** Accepts the request and does not answer; `left` completes when the connection is closed. */
  readonly hangs: () => { readonly asked: Effect.Effect<void>; readonly left: Effect.Effect<void> }
  readonly requests: () => number
}

const texts = ["cat", "dog", "kettle"]

/** `scores`: whether the reranker gives scores. */
export const rerankerSuite = (
  name: string,
  open: Effect.Effect<RerankVendor, never, Scope.Scope>,
  { scores }: { readonly scores: boolean }
): void => {
  describe(`the contract of Reranker: ${name}`, () => {
    const ask = ({ port }: RerankVendor) => port.rerank({ query: "boil water", texts }).pipe(Principal.provide("ada"))

    it.effect("MUST give the texts best first, after one request for all texts, with what it used", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        // By its score the last text is the best; one that gives no scores says so by its order.
        const best = { index: 2, score: 0.9 }
        const least = { index: 0, score: 0.1 }
        vendor.ranks(scores ? [least, best] : [best, least])
        const { charge, order } = yield* ask(vendor)
        const scored = scores ? [best, least] : [best, least].map(({ index }) => ({ index, score: null }))
        assert.deepStrictEqual(order, scored)
        assert.strictEqual(charge?.purpose, "rerank")
        assert.isAbove(charge?.usage.inputTokens ?? 0, 0)
        assert.strictEqual(vendor.requests(), 1)
      })
    )

    for (const [what, ranked] of [
      ["an unknown index", [{ index: 3, score: 0.5 }]],
      ["an index before the first", [{ index: -1, score: 0.5 }]],
      [
        "an index twice",
        [
          { index: 0, score: 0.5 },
          { index: 0, score: 0.5 }
        ]
      ],
      ["no texts", []]
    ] as const) {
      it.effect(`MUST give only indexes of the texts, each once, or fail, on ${what}`, () =>
        Effect.gen(function* () {
          const vendor = yield* open
          vendor.ranks(ranked)
          const result = yield* Effect.result(ask(vendor))
          if (Result.isFailure(result)) return assert.strictEqual(result.failure._tag, "ModelError")
          const indexes = result.success.order.map(({ index }) => index)
          assert.deepStrictEqual([...new Set(indexes)], indexes)
          assert.includeMembers([...texts.keys()], indexes)
        })
      )
    }

    for (const [what, text] of [
      ["a page of HTML", "<html>Busy</html>"],
      ["JSON of another kind", '{"results":7,"data":{"a":1}}'],
      ["nothing", ""]
    ] as const) {
      it.effect(`MUST fail, or keep the order, and not fail with a defect, on ${what}`, () =>
        Effect.gen(function* () {
          const vendor = yield* open
          vendor.sends(text)
          const result = yield* Effect.result(ask(vendor))
          if (Result.isFailure(result)) assert.strictEqual(result.failure._tag, "ModelError")
          else assert.deepStrictEqual(result.success.order, [])
        })
      )
    }

    it.effect("MUST fail on a refused key, without any text of the vendor", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.refusesKey()
        const error = yield* Effect.flip(ask(vendor))
        assert.deepInclude(error, { _tag: "ModelError", reason: "auth" })
        assert.notMatch(textForUsers(error), /sk-of-the-host|boil/u)
        assert.notInclude(JSON.stringify(error), "sk-of-the-host")
      })
    )

    it.effect("MUST close the connection when it is interrupted", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const { asked, left } = vendor.hangs()
        const fiber = yield* Effect.forkChild(ask(vendor))
        yield* asked
        yield* Fiber.interrupt(fiber)
        yield* left
      })
    )
  })
}
