/** Blobs without a document go once they are old; blobs with one stay; a copy of a document is a document. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { BlobId, DocumentId, newId } from "@colloquy/core/adapters"
import { asNewOwner, openThread, sampleDocument } from "@colloquy/testing/contracts"
import { BlobStore, copyDocument, Documents, DocumentStore, sweepOrphanedBlobs } from "@colloquy/core/documents"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { byteStream, memoryStorage, openRoom } from "../support/DocumentRoom.ts"
import { openPlace } from "./DocumentStories.ts"

const putBlob = Effect.gen(function* () {
  const id = yield* newId(BlobId)
  yield* (yield* BlobStore).put(id, Stream.make(new Uint8Array(10)))
  return id
})

it.effect("old orphans of every owner are deleted, and nothing else", () =>
  Effect.gen(function* () {
    const blobs = yield* BlobStore
    const orphan = yield* asNewOwner(putBlob)
    const kept = yield* putBlob
    const { id: threadId } = yield* openThread
    yield* (yield* DocumentStore).insert(yield* sampleDocument({ _tag: "Thread", threadId }, { blobId: kept }), [])
    yield* TestClock.adjust("23 hours")
    const recent = yield* putBlob
    assert.strictEqual(yield* sweepOrphanedBlobs(), 0)
    yield* TestClock.adjust("2 hours")
    assert.strictEqual(yield* sweepOrphanedBlobs(), 1)
    assert.deepStrictEqual(yield* blobs.sweep(new Date(1e12), () => Effect.succeed([orphan])), 0)
    for (const id of [kept, recent]) assert.isTrue(Option.isSome(yield* blobs.head(id)))
    assert.strictEqual(yield* sweepOrphanedBlobs("1 hour"), 1)
    assert.isTrue(Option.isNone(yield* blobs.head(recent)))
  }).pipe(asNewOwner, Effect.provide(InMemory.layer))
)

it.effect("a copy keeps what was made of a document, under ids and in a place of its own", () =>
  Effect.gen(function* () {
    const store = yield* DocumentStore
    const { assistantId, id: threadId } = yield* openThread
    const document = yield* sampleDocument(
      { _tag: "Thread", threadId },
      { status: "completed", chunkCount: 3, totalTokens: 40, summary: "Tea" }
    )
    const place = {
      id: yield* newId(DocumentId),
      blobId: yield* newId(BlobId),
      scope: { _tag: "Assistant", assistantId } as const,
      at: new Date(5)
    }
    assert.isTrue(yield* store.insert(copyDocument(document, place), []))
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(place.id)), {
      ...document,
      id: place.id,
      blobId: place.blobId,
      scope: place.scope,
      createdAt: place.at,
      updatedAt: place.at
    })
  }).pipe(asNewOwner, Effect.provide(InMemory.layer))
)

it.effect("a process deletes what another one left behind when it died, and not what is still being uploaded", () =>
  Effect.gen(function* () {
    const { state, storage } = yield* memoryStorage
    const orphan = yield* putBlob.pipe(Effect.provide(storage))
    const room = yield* openRoom(storage, { settings: { orphanSweep: "1 minute", orphanAge: "10 minutes" } })
    const { threadId } = yield* room.run(openPlace)
    yield* TestClock.adjust("8 minutes")
    const rest = yield* Deferred.make<Uint8Array>()
    const bytes = Stream.concat(byteStream("Badgers "), Stream.fromEffect(Deferred.await(rest)))
    const scope = { _tag: "Thread", threadId } as const
    const upload = yield* Effect.forkChild(
      room.run(Documents.use((documents) => documents.upload({ scope, filename: "a.txt", bytes })))
    )
    yield* TestClock.adjust("1 minute")
    assert.isTrue(state.blobs.has(orphan))
    yield* TestClock.adjust("3 minutes")
    assert.isFalse(state.blobs.has(orphan))
    yield* Deferred.succeed(rest, new TextEncoder().encode("dig."))
    const { id } = yield* Fiber.join(upload)
    yield* TestClock.adjust("30 minutes")
    const { bytes: kept } = yield* room.run(Documents.use((documents) => documents.content(id)))
    assert.strictEqual(new TextDecoder().decode(yield* room.run(Stream.mkUint8Array(kept))), "Badgers dig.")
    assert.strictEqual(state.blobs.size, 1)
  }).pipe(asNewOwner)
)
