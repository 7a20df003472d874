/** The contract of `SealedSecretStore`, as a separate suite: only hosts with servers at which owners have accounts need the store. */
import type { OwnerStore } from "@colloquy/core/adapters"
import { SealedSecretStore } from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { type Sentence, storeSuite } from "./ContractTest.ts"
import { eraseEverything } from "./Erasing.ts"
import { asNewOwner } from "./Samples.ts"
import { refusedWhileErasing, tenTimes } from "./Scenes.ts"

const name = "mcp:ein Ort é😀"
const bytes = (...values: ReadonlyArray<number>) => Uint8Array.from(values)
const found = SealedSecretStore.use(({ find }) => Effect.map(find(name), (each) => (each === null ? null : [...each])))

/** The layer is built once; every test has its own owner. */
export const sealedSecretStoreSuite = (
  title: string,
  stores: Layer.Layer<OwnerStore | SealedSecretStore, unknown>
): void => storeSuite(title, stores, sealedSecretStoreContract)

export const sealedSecretStoreContract = (test: Sentence<OwnerStore | SealedSecretStore>): void => {
  test("MUST give the principal's own secret, and replace it", function* () {
    const { put } = yield* SealedSecretStore
    assert.isNull(yield* found)
    yield* put(name, bytes(0, 255, 1))
    yield* put("mcp:another", bytes(9))
    assert.deepStrictEqual(yield* found, [0, 255, 1])
    yield* put(name, bytes(7))
    assert.deepStrictEqual(yield* found, [7])
    assert.isNull(yield* asNewOwner(found))
    yield* asNewOwner(put(name, bytes(8)))
    assert.deepStrictEqual(yield* found, [7])
  })

  test("MUST remove a secret once under concurrent calls, and never that of another owner", function* () {
    const { put, remove } = yield* SealedSecretStore
    yield* put(name, bytes(1))
    assert.isFalse(yield* asNewOwner(remove(name)))
    const theirs = Effect.andThen(put(name, bytes(2)), Effect.andThen(remove(name), found))
    assert.isNull(yield* asNewOwner(theirs))
    assert.deepStrictEqual(yield* found, [1])
    const removed = yield* tenTimes(remove(name))
    assert.lengthOf(
      removed.filter((each) => each),
      1
    )
    assert.isNull(yield* found)
  })

  test("MUST NOT keep a secret while everything of the principal is being erased", function* () {
    yield* refusedWhileErasing((yield* SealedSecretStore).put(name, bytes(1)))
  })

  test("MUST be gone when everything of the principal is erased, and stay for other owners", function* () {
    const { put } = yield* SealedSecretStore
    yield* put(name, bytes(1))
    assert.isNull(yield* asNewOwner(Effect.andThen(Effect.andThen(put(name, bytes(2)), eraseEverything), found)))
    assert.deepStrictEqual(yield* found, [1])
  })
}
