/** Generated media as documents of a thread: what is stored, what is refused, and whose documents are found. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Principal, ThreadId, ThreadNotFound } from "@colloquy/core"
import { newId } from "@colloquy/core/adapters"
import { openThread } from "@colloquy/testing/contracts"
import { BlobStore, DocumentNotFound, DocumentStore } from "@colloquy/core/documents"
import { defaultMediaSettings, MediaRefused, MediaStorage, type MediaType } from "@colloquy/core/media"
import { MediaSettings } from "../../src/media/MediaSettings.ts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** PNG's mark, and more of it in pieces of one byte. */
const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const inPieces = (bytes: ReadonlyArray<number>) => Stream.fromIterable(bytes.map((byte) => Uint8Array.of(byte)))
const textBytes = (text: string) => Stream.make(new TextEncoder().encode(text))

type Services = Layer.Success<typeof InMemory.layer> | MediaStorage

const test = (title: string, body: Effect.Effect<void, unknown, Services | Principal>) =>
  it.effect(title, () =>
    body.pipe(
      Effect.provide(
        MediaStorage.layer.pipe(
          Layer.provide(
            Layer.succeed(
              MediaSettings,
              Object.assign({}, defaultMediaSettings, { maxSize: { image: 100, audio: 100, video: 100 } })
            )
          ),
          Layer.provideMerge(InMemory.layer)
        )
      ),
      Principal.provide("ada")
    )
  )

const storedNothing = (threadId: ThreadId) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* (yield* DocumentStore).list({ threadId }, { skip: 0, limit: 10 }), [])
    const swept = yield* (yield* BlobStore).sweep(new Date(8.64e15), Effect.succeed)
    assert.strictEqual(swept, 0)
  })

describe("generated media", () => {
  test(
    "are documents of the thread, with the type of their bytes, and nothing to search",
    Effect.gen(function* () {
      const storage = yield* MediaStorage
      const documents = yield* DocumentStore
      const { assistantId, id: threadId } = yield* openThread
      const bytes = inPieces([...png, 1, 2])
      const made = yield* storage.store({ threadId, mediaType: "image", bytes, metadata: { model: "painter" } })
      assert.deepInclude(made, { mediaType: "image", mimeType: "image/png", size: 10 })
      const found = yield* storage.find(made.documentId, { threadId, assistantId })
      assert.deepInclude(found, {
        filename: made.filename,
        status: "completed",
        scope: { _tag: "Thread", threadId },
        metadata: { generated: true, model: "painter" }
      })
      assert.deepStrictEqual([...(yield* Stream.mkUint8Array(storage.bytes(found)))], [...png, 1, 2])
      assert.deepStrictEqual(yield* documents.survey([{ threadId }]), {
        completed: 0,
        processing: [],
        shelves: [threadId]
      })
    })
  )

  for (const [what, mediaType, bytes, reason] of [
    ["a page of HTML", "image", textBytes("<!doctype html><html><body>Busy</body></html>"), "wrong_type"],
    [
      "an SVG, which a browser would run",
      "image",
      textBytes('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      "wrong_type"
    ],
    ["a picture instead of a clip", "video", inPieces(png), "wrong_type"],
    ["nothing", "image", Stream.empty, "empty"],
    ["a picture that never ends", "image", Stream.concat(inPieces(png), Stream.forever(inPieces([0]))), "too_large"]
  ] satisfies ReadonlyArray<readonly [string, MediaType, Stream.Stream<Uint8Array>, MediaRefused["reason"]]>) {
    test(
      `${what} is refused, and nothing of it is stored`,
      Effect.gen(function* () {
        const { id: threadId } = yield* openThread
        const refused = yield* Effect.flip((yield* MediaStorage).store({ threadId, mediaType, bytes }))
        assert.instanceOf(refused, MediaRefused)
        assert.strictEqual(refused.reason, reason)
        yield* storedNothing(threadId)
      })
    )
  }

  test(
    "of a thread that is gone leave no bytes behind",
    Effect.gen(function* () {
      const threadId = yield* newId(ThreadId)
      const gone = yield* Effect.flip(
        (yield* MediaStorage).store({ threadId, mediaType: "image", bytes: inPieces(png) })
      )
      assert.instanceOf(gone, ThreadNotFound)
      yield* storedNothing(threadId)
    })
  )

  test(
    "of another thread or another owner are not found",
    Effect.gen(function* () {
      const storage = yield* MediaStorage
      const { assistantId, id: threadId } = yield* openThread
      const elsewhere = yield* openThread
      const made = yield* storage.store({ threadId, mediaType: "image", bytes: inPieces(png) })
      const from = (id: string, place: { threadId: ThreadId; assistantId: typeof assistantId }) =>
        Effect.flip(storage.find(id, place))
      const here = { threadId, assistantId }
      const there = { threadId: elsewhere.id, assistantId: elsewhere.assistantId }
      assert.instanceOf(yield* from(made.documentId, there), DocumentNotFound)
      assert.instanceOf(yield* from("no uuid at all", here), DocumentNotFound)
      assert.instanceOf(yield* from(made.documentId, here).pipe(Principal.provide("bob")), DocumentNotFound)
    })
  )
})
