/**
 * The contract of `EmbeddingDriver`, in the terms of the port. The suite calls a driver only through the port, and controls the provider
 * behind it (a server that speaks the provider's wire) through `EmbeddingVendor`.
 */
import type { EmbeddingDriver, EmbeddingRequest } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { textForUsers } from "./TextForUsers.ts"

/** A driver with a vendor that gives the vectors of a test. */
export interface EmbeddingVendor {
  /** With the host's key `sk-of-the-host`. Vectors of its model have four numbers. */
  readonly driver: EmbeddingDriver
  readonly model: string
  /** Answers one request with these vectors, on the wire of the vendor; no tokens are told if they are null. */
  readonly gives: (vectors: ReadonlyArray<unknown>, tokens: number | null) => void
  /** Answers one request with an error that contains these words. */
  readonly refuses: (status: number, headers: { readonly [name: string]: string }, words: string) => void
  /** Answers one request with status 200 and this JSON. */
  readonly sends: (json: string) => void
  /** Accepts the request and does not answer; `left` completes when the connection is closed. */
  readonly hangs: () => { readonly asked: Effect.Effect<void>; readonly left: Effect.Effect<void> }
  /** The headers with the keys of all requests. */
  readonly keys: () => ReadonlyArray<string>
}

const east = [1, 0, 0, 0]
const north = [0, 0.5, 0, 0]

/** The place of the first number above 0: a driver may give its vectors unit length. */
const firstPositive = (vector: Float32Array): number => [...vector].findIndex((each) => each > 0)

/** What every driver of embedding models must do. */
export const embeddingDriverSuite = (name: string, open: Effect.Effect<EmbeddingVendor, never, Scope.Scope>): void => {
  describe(`the contract of EmbeddingDriver: ${name}`, () => {
    const ask = ({ driver, model }: EmbeddingVendor, fields: Partial<EmbeddingRequest> = {}) =>
      driver.embed({
        provider: "vendor",
        model,
        texts: ["one", "two"],
        dimensions: null,
        purpose: "document",
        apiKey: null,
        ...fields
      })

    it.effect("MUST give one vector for each text, in the order of the texts, after one request", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.gives([east, north], 7)
        const { usage, vectors } = yield* ask(vendor)
        assert.deepStrictEqual(vectors.map(firstPositive), [0, 1])
        assert.isTrue(vectors.every((vector) => vector instanceof Float32Array && vector.length === 4))
        assert.deepInclude(usage, { inputTokens: 7, outputTokens: 0, estimated: false })
        assert.strictEqual(vendor.keys().length, 1)
      })
    )

    it.effect("MUST estimate the usage that the provider does not tell", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.gives([east, north], null)
        const { usage } = yield* ask(vendor)
        assert.isTrue(usage.estimated && usage.inputTokens > 0)
      })
    )

    it.effect("MUST ask with the customer's own key if there is one", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        for (const apiKey of [null, Redacted.make("sk-of-the-customer")]) {
          vendor.gives([east, north], 7)
          yield* ask(vendor, { apiKey })
        }
        const [first, second] = vendor.keys()
        assert.include(first, "sk-of-the-host")
        assert.include(second, "sk-of-the-customer")
        assert.notInclude(second, "sk-of-the-host")
      })
    )

    for (const [status, reason, words] of [
      [401, "auth", "no"],
      [404, "model_not_found", "no"],
      [429, "rate_limited", "no"],
      [503, "overloaded", "no"],
      [400, "context_too_long", "too many tokens: 9000"],
      [422, "invalid_request", "a secret"]
    ] as const) {
      it.effect(
        `MUST fail with ${reason} on status ${status}, after one request, without any text of the provider`,
        () =>
          Effect.gen(function* () {
            const vendor = yield* open
            vendor.refuses(status, { "retry-after": "7" }, `${words}, said sk-of-the-host`)
            const error = yield* Effect.flip(ask(vendor))
            assert.deepInclude(error, { _tag: "ModelError", reason, status, retryAfterMillis: 7000 })
            assert.notMatch(textForUsers(error), /sk-of-the-host|9000|secret/u)
            assert.notInclude(JSON.stringify(error), "sk-of-the-host")
            assert.strictEqual(vendor.keys().length, 1)
          })
      )
    }

    for (const [what, answer] of [
      ["too few vectors", (vendor: EmbeddingVendor) => vendor.gives([north], 7)],
      ["too many vectors", (vendor: EmbeddingVendor) => vendor.gives([east, north, east], 7)],
      ["vectors without numbers", (vendor: EmbeddingVendor) => vendor.gives([["a"], ["b"]], 7)],
      ["half a number", (vendor: EmbeddingVendor) => vendor.gives(["AAA=", "AAA="], 7)],
      ["no vectors", (vendor: EmbeddingVendor) => vendor.gives([null, []], 7)],
      ["another shape", (vendor: EmbeddingVendor) => vendor.sends("[1,2,3]")],
      ["an empty object", (vendor: EmbeddingVendor) => vendor.sends("{}")],
      ["text that is no JSON", (vendor: EmbeddingVendor) => vendor.sends("<html>")]
    ] as const) {
      it.effect(`MUST fail, and not with a defect, on an answer with ${what}`, () =>
        Effect.gen(function* () {
          const vendor = yield* open
          answer(vendor)
          assert.deepInclude(yield* Effect.flip(ask(vendor)), { _tag: "ModelError", provider: "vendor" })
        })
      )
    }

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
