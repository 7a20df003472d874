/** Who asks: the host's function, then the key; what is known is not looked up, and guessing from one address ends. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import {
  type AuthenticationSettings,
  defaultAuthentication,
  makeAuthentication
} from "../../src/access/Authentication.ts"
import type { HostCredentials } from "../../src/access/HostCredentials.ts"
import { Keys, KeyStore } from "../../src/access/Keys.ts"
import { Principal } from "../../src/access/Principal.ts"

const from = (address: string): HostCredentials => ({
  authorization: null,
  sessionToken: null,
  headers: { "x-address": address },
  source: null
})

/** Counts look-ups of the store. */
const setUp = Effect.fnUntraced(function* (settings: Partial<AuthenticationSettings> = {}) {
  let lookUps = 0
  const store = yield* KeyStore
  const counted = KeyStore.of({
    ...store,
    findByHashPrefix: (prefix) => {
      lookUps++
      return store.findByHashPrefix(prefix)
    }
  })
  const keys = Keys.layer.pipe(Layer.provide(Layer.succeed(KeyStore, counted)))
  const authenticate = yield* Effect.provide(makeAuthentication({ ...defaultAuthentication, ...settings }), keys)
  const { key, summary } = yield* Effect.provide(
    Keys.use((all) => all.make("k")),
    keys
  ).pipe(Principal.provide("ada"))
  const ask = (text: string, address = "a") =>
    Effect.map(Effect.result(authenticate(Redacted.make(text), from(address))), (result) =>
      result._tag === "Success" ? result.success.ownerId : result.failure._tag
    )
  const revoke = Effect.provide(
    Keys.use((all) => all.revoke(summary.id)),
    keys
  ).pipe(Principal.provide("ada"))
  return { ask, revoke, key: Redacted.value(key), lookUps: () => lookUps }
})

const byHeader: AuthenticationSettings["clientAddress"] = ({ headers }) => headers["x-address"]

describe("who asks", () => {
  it.layer(InMemory.layer)((test) => {
    test.effect("a key is looked up once while it is known, and a revoked one works no longer than that", () =>
      Effect.gen(function* () {
        const { ask, key, lookUps, revoke } = yield* setUp()
        assert.deepStrictEqual([yield* ask(key), yield* ask(key)], ["ada", "ada"])
        assert.strictEqual(lookUps(), 1)
        yield* revoke
        assert.strictEqual(yield* ask(key), "ada")
        yield* TestClock.adjust(Duration.seconds(5))
        assert.strictEqual(yield* ask(key), "InvalidKey")
      })
    )

    test.effect("no more keys are kept than the host allows, and an empty one is never looked up", () =>
      Effect.gen(function* () {
        const { ask, key, lookUps } = yield* setUp({ keyCacheSize: 0 })
        yield* ask(key)
        yield* ask(key)
        assert.strictEqual(lookUps(), 2)
        const before = lookUps()
        assert.strictEqual(yield* ask(""), "InvalidKey")
        assert.strictEqual(lookUps(), before)
      })
    )

    test.effect("an address over the rate is refused without a look-up; a known key works on from there", () =>
      Effect.gen(function* () {
        const failedKeys = { limit: 2, window: "1 minute" } as const
        const { ask, key, lookUps } = yield* setUp({ clientAddress: byHeader, failedKeys })
        assert.strictEqual(yield* ask(key), "ada")
        const guesses = yield* Effect.forEach(["x", "y", "z"], (each) => ask(each))
        assert.deepStrictEqual(guesses, ["InvalidKey", "InvalidKey", "TooManyFailedKeys"])
        const before = lookUps()
        assert.strictEqual(yield* ask("w"), "TooManyFailedKeys")
        assert.strictEqual(lookUps(), before)
        assert.deepStrictEqual([yield* ask(key), yield* ask("w", "b")], ["ada", "InvalidKey"])
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* ask("w"), "InvalidKey")
      })
    )

    test.effect("what the host answers that can name no owner is a defect that says so", () =>
      Effect.gen(function* () {
        const defectText = (answer: unknown) =>
          Effect.gen(function* () {
            const { ask } = yield* setUp({ authenticate: () => Promise.resolve(answer).then((any) => any as string) })
            return String(Cause.squash(yield* Effect.flip(Effect.sandbox(ask("")))))
          })
        const longest = "😀".repeat(255)
        const { ask } = yield* setUp({ authenticate: () => longest })
        assert.strictEqual(yield* ask(""), longest)
        for (const [answer, words] of [
          [`${longest}x`, "this was one of 511"],
          [7, "a value of the type number"],
          [{ id: "ada" }, "a value of the type object"]
        ] as const)
          assert.include(yield* defectText(answer), words)
        assert.throws(() => Principal.provide("n".repeat(256))(Effect.void), /1 to 255 characters/u)
      })
    )

    test.effect(
      "the host's own answer wins, nothing of it leaves the key to decide, and what it throws is a defect",
      () =>
        Effect.gen(function* () {
          const answers: Record<string, () => string | null | Promise<string> | Effect.Effect<string>> = {
            plain: () => "bob",
            promise: async () => "bob",
            effect: () => Effect.succeed("bob"),
            nobody: () => null,
            empty: () => ""
          }
          const { ask, key } = yield* setUp({ authenticate: ({ headers }) => answers[headers["x-address"] ?? ""]?.() })
          for (const way of ["plain", "promise", "effect"]) assert.strictEqual(yield* ask("wrong", way), "bob")
          for (const way of ["nobody", "empty", "else"]) {
            assert.deepStrictEqual([yield* ask("wrong", way), yield* ask(key, way)], ["InvalidKey", "ada"])
          }
          const broken = yield* setUp({ authenticate: () => Promise.reject(new Error("no sessions")) })
          const exit = yield* Effect.exit(broken.ask(key))
          assert.isTrue(Exit.isFailure(exit) && Option.isNone(Exit.findErrorOption(exit)))
        })
    )
  })
})
