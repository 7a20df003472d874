import { Keys, KeyId, Principal } from "@colloquy/core"
import { KeyStore, newId } from "@colloquy/core/adapters"
import { InMemory } from "@colloquy/adapters/in-memory"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { failureFrom } from "../support/Story.ts"

const keys = Layer.provideMerge(Keys.layer, InMemory.layer)
const test = <A, E>(title: string, body: Effect.Effect<A, E, Keys | KeyStore | Principal>) =>
  it.effect(title, () => body.pipe(Principal.provide("ada"), Effect.provide(keys)))

describe("an API key", () => {
  test(
    "is shown once, when it is made, and stands for its owner",
    Effect.gen(function* () {
      const service = yield* Keys
      const { key, summary } = yield* service.make("server")
      const secret = Redacted.value(key)
      assert.match(secret, /^cq_[0-9a-f]{32}_[0-9a-f]{48}$/u)
      assert.strictEqual((yield* service.authenticate(key)).ownerId, "ada")
      const listed = JSON.stringify(yield* service.list)
      assert.notInclude(listed, secret.slice(-48))
      assert.notInclude(listed, "hash")
      assert.deepStrictEqual(yield* service.list, [summary])
      assert.notInclude(JSON.stringify({ key }), secret)
    })
  )

  test(
    "is stored as a hash that does not contain it",
    Effect.gen(function* () {
      const { key } = yield* (yield* Keys).make("server")
      const secret = Redacted.value(key).slice(-48)
      const [record] = yield* (yield* KeyStore).list
      assert.match(record?.hash ?? "", /^[0-9a-f]{64}$/u)
      assert.notInclude(JSON.stringify(record), secret)
    })
  )

  test(
    "that is revoked is refused like one that never was, and stays in the list with its time",
    Effect.gen(function* () {
      const service = yield* Keys
      const { key, summary } = yield* service.make("server")
      yield* service.revoke(summary.id)
      yield* service.revoke(summary.id)
      const revoked = yield* failureFrom(service.authenticate(key))
      const unknown = yield* failureFrom(service.authenticate(Redacted.make("cq_nobody")))
      assert.deepStrictEqual([revoked._tag, revoked.message], [unknown._tag, unknown.message])
      assert.isNotNull((yield* service.list)[0]?.revokedAt)
    })
  )

  test(
    "is refused when any part of it differs, also where the stored hash begins alike",
    Effect.gen(function* () {
      const service = yield* Keys
      const store = yield* KeyStore
      const { key } = yield* service.make("server")
      const secret = Redacted.value(key)
      const other = secret.slice(0, -1) + (secret.endsWith("0") ? "1" : "0")
      for (const wrong of ["", "cq_", other, ` ${secret}`, `${secret} `, secret.toUpperCase()]) {
        assert.strictEqual((yield* failureFrom(service.authenticate(Redacted.make(wrong))))._tag, "InvalidKey")
      }
      // A row found by the first half of the hash is still compared to its end.
      const [record] = yield* store.list
      const twin = { ...record!, hash: record!.hash.slice(0, 63) + (record!.hash.endsWith("0") ? "1" : "0") }
      yield* store.insert(twin)
      assert.strictEqual((yield* failureFrom(service.authenticate(key)))._tag, "InvalidKey")
    })
  )

  test(
    "of somebody else is neither listed nor revoked, and is not told from an unknown one",
    Effect.gen(function* () {
      const service = yield* Keys
      const { key, summary } = yield* service.make("server")
      const bob = Principal.provide("bob")
      assert.deepStrictEqual(yield* bob(service.list), [])
      const foreign = yield* bob(failureFrom(service.revoke(summary.id)))
      const unknown = yield* bob(failureFrom(service.revoke(yield* newId(KeyId))))
      assert.deepStrictEqual([foreign._tag, unknown._tag], ["KeyNotFound", "KeyNotFound"])
      assert.strictEqual((yield* bob(service.authenticate(key))).ownerId, "ada")
    })
  )

  test(
    "may be one that the host chose himself",
    Effect.gen(function* () {
      const service = yield* Keys
      const key = Redacted.make("from the configuration")
      const summary = yield* service.register("host", key)
      assert.strictEqual((yield* service.authenticate(key)).ownerId, "ada")
      yield* service.revoke(summary.id)
      assert.strictEqual((yield* failureFrom(service.authenticate(key)))._tag, "InvalidKey")
    })
  )
})
