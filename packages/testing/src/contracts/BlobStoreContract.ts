/** The contract of `BlobStore`. Run it with `blobStoreSuite("my store", MyStore.layer)`. Every test has its own owner. */
import { Principal } from "@colloquy/core"
import { BlobId, newId } from "@colloquy/core/adapters"
import { BlobStore } from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { storeSuite } from "./ContractTest.ts"
import { asNewOwner } from "./Samples.ts"

/** What every store of bytes must do. */
export const blobStoreSuite = (name: string, stores: Layer.Layer<BlobStore, unknown>): void =>
  storeSuite(name, stores, (test) => {
    test("MUST give back what was put, byte for byte, and count and hash it on the way", function* () {
      const store = yield* BlobStore
      for (const size of [1, 65_535, 262_144, 262_145, 3_000_000]) {
        const bytes = sampleBytes(size)
        const id = yield* newId(BlobId)
        // Chunks of odd sizes, an empty one among them.
        const stored = yield* store.put(id, Stream.concat(inChunks(bytes, 10_007), Stream.make(new Uint8Array())))
        assert.deepStrictEqual(stored, { size, sha256: yield* sha256(bytes) })
        assert.deepStrictEqual(yield* store.head(id), Option.some({ size }))
        assert.isTrue(same(yield* read(id), bytes), `${size} bytes`)
      }
    })

    test("MUST keep the bytes of a chunk whose memory is used again for the next one", function* () {
      const id = yield* newId(BlobId)
      const bytes = sampleBytes(1_000_000)
      const memory = new Uint8Array(50_000)
      const chunks = Stream.map(Stream.rechunk(inChunks(bytes, memory.length), 1), (chunk) => {
        memory.set(chunk)
        return memory
      })
      yield* (yield* BlobStore).put(id, chunks)
      assert.isTrue(same(yield* read(id), bytes))
    })

    test("MUST keep a blob without bytes", function* () {
      const store = yield* BlobStore
      const id = yield* newId(BlobId)
      assert.strictEqual((yield* store.put(id, Stream.empty)).size, 0)
      assert.deepStrictEqual(yield* store.head(id), Option.some({ size: 0 }))
      assert.strictEqual((yield* read(id)).length, 0)
    })

    test("MUST take one chunk that is larger than any piece", function* () {
      const bytes = sampleBytes(12_000_001)
      const id = yield* newId(BlobId)
      yield* (yield* BlobStore).put(id, Stream.make(bytes))
      assert.isTrue(same(yield* read(id), bytes))
    })

    test("MUST give any range, without bytes after the end", function* () {
      const bytes = sampleBytes(900_000)
      const id = yield* putBytes(bytes)
      const ranges: ReadonlyArray<readonly [number, number]> = [
        [0, 1],
        [0, 900_000],
        [262_143, 2],
        [262_144, 262_144],
        [500_000, 123_456],
        [899_999, 10],
        [900_000, 10],
        [2_000_000, 1],
        [17, 0]
      ]
      for (const [offset, length] of ranges) {
        const found = yield* read(id, { offset, length })
        assert.isTrue(same(found, bytes.subarray(offset, offset + length)), `${length} bytes from ${offset}`)
      }
    })

    test("MUST stop reading when the reader has enough, and give the same bytes to the next one", function* () {
      const bytes = sampleBytes(2_000_000)
      const id = yield* putBytes(bytes)
      const [first] = yield* Stream.runCollect(Stream.take((yield* BlobStore).get(id), 1))
      assert.isTrue(same(first ?? new Uint8Array(), bytes.subarray(0, first?.length)))
      assert.isTrue(same(yield* read(id), bytes))
    })

    test("MUST fail, or give everything, when the blob is removed while it is read; never end early", function* () {
      const store = yield* BlobStore
      const id = yield* putBytes(sampleBytes(3_000_000))
      let seen = 0
      const exit = yield* Effect.exit(
        Stream.runForEach(store.get(id), (chunk) =>
          Effect.suspend(() => {
            const isFirst = seen === 0
            seen += chunk.length
            return isFirst ? Effect.asVoid(store.remove(id)) : Effect.void
          })
        )
      )
      assert.isTrue(Exit.isFailure(exit) || seen === 3_000_000, `${seen} bytes`)
    })

    test("MUST NOT show a blob before its last byte is stored", function* () {
      const store = yield* BlobStore
      const id = yield* newId(BlobId)
      const reached = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const rest = Stream.unwrap(
        Effect.gen(function* () {
          yield* Deferred.succeed(reached, undefined)
          yield* Deferred.await(goOn)
          return Stream.make(sampleBytes(10))
        })
      )
      const upload = yield* Effect.forkChild(store.put(id, Stream.concat(Stream.make(sampleBytes(600_000)), rest)))
      yield* Deferred.await(reached)
      assert.isTrue(Option.isNone(yield* store.head(id)))
      assert.strictEqual(yield* notFound(id), "BlobNotFound")
      assert.isFalse(yield* store.remove(id))
      yield* Deferred.succeed(goOn, undefined)
      yield* Fiber.join(upload)
      assert.deepStrictEqual(yield* store.head(id), Option.some({ size: 600_010 }))
    })

    test("MUST fail with the stream's own error, and store nothing", function* () {
      const store = yield* BlobStore
      const id = yield* newId(BlobId)
      const broken = Stream.concat(Stream.make(sampleBytes(7_000_000)), Stream.fail(new Broken()))
      const error = yield* Effect.flip(store.put(id, broken))
      assert.strictEqual(error._tag, "Broken")
      assert.isTrue(Option.isNone(yield* store.head(id)))
      // The id is free again, because nothing was stored for it.
      yield* store.put(id, Stream.make(sampleBytes(5)))
      assert.isTrue(same(yield* read(id), sampleBytes(5)))
    })

    test("MUST store nothing when the caller is interrupted", function* () {
      const store = yield* BlobStore
      const id = yield* newId(BlobId)
      const reached = yield* Deferred.make<void>()
      const stuck = Stream.unwrap(Effect.as(Deferred.succeed(reached, undefined), Stream.never))
      const upload = yield* Effect.forkChild(store.put(id, Stream.concat(Stream.make(sampleBytes(7_000_000)), stuck)))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(upload)
      assert.isTrue(Option.isNone(yield* store.head(id)))
      yield* store.put(id, Stream.make(sampleBytes(5)))
      assert.isTrue(same(yield* read(id), sampleBytes(5)))
    })

    test("MUST treat an id that is taken as a defect, and keep what is stored", function* () {
      const id = yield* putBytes(sampleBytes(100))
      const again = yield* Effect.exit((yield* BlobStore).put(id, Stream.make(new Uint8Array(5))))
      assert.isTrue(Exit.isFailure(again) && again.cause.reasons.every(({ _tag }) => _tag === "Die"))
      assert.isTrue(same(yield* read(id), sampleBytes(100)))
    })

    test("MUST treat another owner's blob, and any strange id, like an unknown blob", function* () {
      const store = yield* BlobStore
      const theirs = yield* asNewOwner(putBytes(sampleBytes(1000)))
      for (const id of [theirs, yield* newId(BlobId), ...strangeIds.map((text) => BlobId.make(text))]) {
        assert.isTrue(Option.isNone(yield* store.head(id)), id)
        assert.strictEqual(yield* notFound(id), "BlobNotFound", id)
        assert.isFalse(yield* store.remove(id), id)
      }
    })

    test("MUST separate the blobs of owners, whatever their names contain", function* () {
      const { ownerId } = yield* Principal
      const owners = ["/", "..", "ö".repeat(200), "Ö 🏳️‍🌈"].map((suffix) => ownerId + suffix)
      const id = yield* newId(BlobId)
      yield* (yield* BlobStore).put(id, Stream.make(sampleBytes(100)))
      for (const owner of owners) assert.strictEqual(yield* Principal.provide(owner)(notFound(id)), "BlobNotFound")
      for (const owner of owners) {
        const own = yield* Principal.provide(owner)(putBytes(sampleBytes(owner.length)))
        assert.isTrue(same(yield* Principal.provide(owner)(read(own)), sampleBytes(owner.length)))
        assert.strictEqual(yield* notFound(own), "BlobNotFound")
      }
    })

    test("MUST delete all bytes once", function* () {
      const store = yield* BlobStore
      const id = yield* putBytes(sampleBytes(700_000))
      assert.isTrue(yield* store.remove(id))
      assert.isFalse(yield* store.remove(id))
      assert.isTrue(Option.isNone(yield* store.head(id)))
      assert.strictEqual(yield* notFound(id), "BlobNotFound")
    })

    test("MUST sweep only blobs that are old and not needed", function* () {
      const store = yield* BlobStore
      const [kept, gone] = [yield* putBytes(sampleBytes(10)), yield* putBytes(sampleBytes(600_000))]
      const theirs = yield* asNewOwner(putBytes(sampleBytes(20)))
      const asked: Array<BlobId> = []
      // Blobs of other tests are always reported as needed.
      const unneeded = (ids: ReadonlyArray<BlobId>) =>
        Effect.sync(() => {
          asked.push(...ids)
          return ids.filter((id) => id === gone || id === theirs)
        })
      const now = Date.now()
      assert.strictEqual(yield* store.sweep(new Date(now - 3_600_000), unneeded), 0)
      assert.notInclude(asked, gone)
      assert.strictEqual(yield* store.sweep(new Date(now + 3_600_000), unneeded), 2)
      assert.includeMembers(asked, [kept, gone, theirs])
      assert.isTrue(Option.isNone(yield* store.head(gone)))
      assert.isTrue(same(yield* read(kept), sampleBytes(10)))
    })
  })

class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

/** Ids that would leave a folder, or have a meaning in a statement, an address or a file system. */
const strangeIds = ["..", "../x", "a/b", "%2e%2e", "'; --", "\0", "con", "?uploads", " ", "x".repeat(2000)]

/** No two adjacent kilobytes are equal. */
const sampleBytes = (size: number): Uint8Array => {
  const bytes = new Uint8Array(size)
  for (let index = 0; index < size; index++) bytes[index] = index * 31 + (index >> 8) * 17 + (index >> 16)
  return bytes
}

const inChunks = (bytes: Uint8Array, size: number): Stream.Stream<Uint8Array> =>
  Stream.fromIterable(
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size)
    )
  )

const putBytes = (bytes: Uint8Array) =>
  Effect.gen(function* () {
    const id = yield* newId(BlobId)
    yield* (yield* BlobStore).put(id, inChunks(bytes, 65_536))
    return id
  })

const read = (id: BlobId, range?: { readonly offset: number; readonly length: number }) =>
  Effect.gen(function* () {
    const chunks = yield* Stream.runCollect((yield* BlobStore).get(id, range))
    const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const chunk of chunks) {
      whole.set(chunk, at)
      at += chunk.length
    }
    return whole
  })

const notFound = (id: BlobId) =>
  Effect.gen(function* () {
    return (yield* Effect.flip(Stream.runDrain((yield* BlobStore).get(id))))._tag
  })

const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, at) => byte === b[at])

const sha256 = (bytes: Uint8Array): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", Uint8Array.from(bytes))),
    (digest) => [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  )
