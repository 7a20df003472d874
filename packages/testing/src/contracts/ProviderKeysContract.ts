/** The contract of `ProviderKeys`. The port only reads, so each adapter brings its own way to store a key. */
import { type Principal, ProviderKeys } from "@colloquy/core"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { asNewOwner } from "./Samples.ts"

/** Stores a key for the current owner. */
export type PutKey<R> = (
  provider: string,
  key: Redacted.Redacted<string>
) => Effect.Effect<void, unknown, Principal | R>

const find = (provider: string) =>
  Effect.gen(function* () {
    const key = yield* (yield* ProviderKeys).find(provider)
    return key === null ? null : Redacted.value(key)
  })

/** What everything that keeps keys of providers must do. */
export const providerKeysSuite = <R>(name: string, keys: Layer.Layer<R, unknown>, put: PutKey<R>): void =>
  layer(keys, { excludeTestServices: true, timeout: "2 minutes" })(name, (it) => {
    it.effect("MUST return the principal's own newest key for the provider, and null without one", () =>
      asNewOwner(
        Effect.gen(function* () {
          assert.isNull(yield* find("openai"))
          yield* put("openai", Redacted.make("first"))
          yield* put("openai", Redacted.make("second ☃"))
          assert.strictEqual(yield* find("openai"), "second ☃")
          assert.isNull(yield* find("anthropic"))
          assert.isNull(yield* find("OPENAI"))
        })
      )
    )

    it.effect("MUST NOT return another owner's key", () =>
      Effect.gen(function* () {
        yield* asNewOwner(put("openai", Redacted.make("theirs")))
        assert.isNull(yield* asNewOwner(find("openai")))
        yield* asNewOwner(
          Effect.gen(function* () {
            yield* put("openai", Redacted.make("mine"))
            yield* asNewOwner(put("openai", Redacted.make("theirs")))
            assert.strictEqual(yield* find("openai"), "mine")
          })
        )
      })
    )
  })
