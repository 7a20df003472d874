/** The contract of `KeyStore`. Finding a key needs no owner, because the key determines the owner. */
import { KeyId, Principal } from "@colloquy/core"
import { type KeyRecord, KeyStore, lookupLength, newId } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ContractTest } from "./ContractTest.ts"
import { asNewOwner, moment, newOwner, sampleKey } from "./Samples.ts"

export const keyStoreContract = (test: ContractTest): void => {
  test("MUST find a record by the first half of its hash, equal in every field", function* () {
    const key = yield* insertKey({
      name: "Ключ 🔑",
      scope: "read",
      createdAt: new Date("2026-01-31T23:59:59.999Z"),
      expiresAt: new Date("2026-03-01T00:00:00.001Z")
    })
    assert.deepStrictEqual(Option.getOrThrow(yield* find(key.hash)), key)
  })

  test("MUST find a record for every owner", function* () {
    const key = yield* asNewOwner(insertKey())
    assert.deepStrictEqual(Option.getOrThrow(yield* find(key.hash)), key)
  })

  test("MUST find nothing by a hash that was never inserted", function* () {
    const { hash } = yield* insertKey()
    const last = hash[lookupLength - 1] === "0" ? "1" : "0"
    const similar = hash.slice(0, lookupLength - 1) + last
    const unknown = yield* sampleKey(yield* newOwner)
    for (const each of [unknown.hash, similar]) assert.isTrue(Option.isNone(yield* find(each)), each)
  })

  test("MUST find a revoked record too", function* () {
    const key = yield* insertKey()
    assert.isTrue(yield* (yield* KeyStore).revoke(key.id, moment(5)))
    assert.deepStrictEqual(Option.getOrThrow(yield* find(key.hash)), { ...key, revokedAt: moment(5) })
  })

  test("MUST let a second record with the same hash replace the first, and revive it", function* () {
    const store = yield* KeyStore
    const first = yield* insertKey()
    yield* store.revoke(first.id, moment(5))
    const changes = { name: "Again", scope: "write", createdAt: moment(6), expiresAt: moment(7) } as const
    const second = yield* insertKey({ hash: first.hash, ...changes })
    assert.deepStrictEqual(Option.getOrThrow(yield* find(first.hash)), second)
    assert.deepStrictEqual(yield* store.list, [second])
  })

  test("MUST take a key from its owner when another owner registers the same hash", function* () {
    const store = yield* KeyStore
    const mine = yield* insertKey()
    const theirs = yield* asNewOwner(insertKey({ hash: mine.hash }))
    assert.deepStrictEqual(Option.getOrThrow(yield* find(mine.hash)), theirs)
    assert.deepStrictEqual(yield* store.list, [])
    assert.isFalse(yield* store.revoke(theirs.id, moment(5)))
  })

  test("MUST list the principal's keys, oldest first, revoked ones too", function* () {
    const store = yield* KeyStore
    const middle = yield* insertKey({ createdAt: moment(2) })
    const oldest = yield* insertKey({ createdAt: moment(1) })
    const newest = yield* insertKey({ createdAt: moment(3) })
    yield* store.revoke(middle.id, moment(9))
    assert.deepStrictEqual(yield* store.list, [oldest, { ...middle, revokedAt: moment(9) }, newest])
  })

  test("MUST NOT list another owner's keys", function* () {
    yield* asNewOwner(insertKey())
    assert.deepStrictEqual(yield* (yield* KeyStore).list, [])
  })

  test("MUST keep the time of the first revocation", function* () {
    const store = yield* KeyStore
    const key = yield* insertKey()
    assert.isTrue(yield* store.revoke(key.id, moment(5)))
    assert.isTrue(yield* store.revoke(key.id, moment(6)))
    assert.deepStrictEqual(Option.getOrThrow(yield* find(key.hash)).revokedAt, moment(5))
  })

  test("MUST answer false to the revocation of a key that is unknown", function* () {
    assert.isFalse(yield* (yield* KeyStore).revoke(yield* newId(KeyId), moment(5)))
  })

  test("MUST NOT revoke another owner's key", function* () {
    const key = yield* insertKey()
    assert.isFalse(yield* asNewOwner((yield* KeyStore).revoke(key.id, moment(5))))
    assert.deepStrictEqual(Option.getOrThrow(yield* find(key.hash)), key)
  })
}

const find = (hash: string) => KeyStore.use((store) => store.findByHashPrefix(hash.slice(0, lookupLength)))

const insertKey = Effect.fnUntraced(function* (fields: Partial<KeyRecord> = {}) {
  const key = yield* sampleKey((yield* Principal).ownerId, fields)
  yield* (yield* KeyStore).insert(key)
  return key
})
