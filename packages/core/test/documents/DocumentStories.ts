/** What documents promise over every storage: an upload is found, and what is deleted leaves nothing. */
import { type AssistantId, Assistants, type Principal, StoreUnavailable, type ThreadId, Threads } from "@colloquy/core"
import { type Copier, Copies, firstPage } from "@colloquy/core/adapters"
import { asNewOwner } from "@colloquy/testing/contracts"
import { BlobStore, type Document, Documents, DocumentStore } from "@colloquy/core/documents"
import { ChunkIndex, scopeOfAssistant, scopeOfThread, termsByLanguage } from "@colloquy/core/retrieval"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { byteStream, embedLetters, roomOver, type Services, type Storage } from "../support/DocumentRoom.ts"

/** An assistant, and a thread with it. */
export const openPlace = Effect.gen(function* () {
  const assistants = yield* Assistants
  const { id: assistantId } = yield* assistants.create({ name: "Reader" })
  const { id: threadId } = yield* assistants.createThread(assistantId, null)
  return { assistantId, threadId }
})

/** Waits in real time, because the indexing is the work of another fiber. */
const ended: (id: Document["id"]) => Effect.Effect<Document, unknown, Documents | Principal> = Effect.fnUntraced(
  function* (id) {
    const document = yield* (yield* Documents).get(id)
    return document.status === "processing" ? yield* Effect.delay(ended(id), "10 millis") : document
  }
)

export const chunksIn = Effect.fnUntraced(function* (place: Effect.Success<typeof openPlace>, query: string) {
  const scopes = [scopeOfAssistant(place.assistantId), scopeOfThread(place.threadId)]
  return yield* (yield* ChunkIndex).search({ scopes, terms: termsByLanguage(query), vector: null, limit: 10 })
})

const hasBlob = (document: Document) =>
  Effect.flatMap(BlobStore, (blobs) => Effect.map(blobs.head(document.blobId), Option.isSome))

const uploadTo = (assistantId: AssistantId, text: string) =>
  Documents.use((documents) =>
    documents.upload({ scope: { _tag: "Assistant", assistantId }, filename: "a.txt", bytes: byteStream(text) })
  )

const uploadToThread = (threadId: ThreadId, text: string) =>
  Documents.use((documents) =>
    documents.upload({ scope: { _tag: "Thread", threadId }, filename: "b.txt", bytes: byteStream(text) })
  )

export const documentStories = (name: string, storage: Layer.Layer<Storage, unknown>): void =>
  layer(roomOver(storage, { embed: embedLetters }), { excludeTestServices: true, timeout: "2 minutes" })(name, (it) => {
    const test = (title: string, body: Effect.Effect<void, unknown, Services | Principal>) =>
      it.effect(title, () => asNewOwner(body))

    test(
      "an upload to an assistant is indexed, found from its threads, read in parts, and leaves nothing when it is deleted",
      Effect.gen(function* () {
        const documents = yield* Documents
        const place = yield* openPlace
        const { assistantId, threadId } = place
        const scope = { _tag: "Assistant", assistantId } as const
        const text = "Badgers dig setts.\n\nFoxes borrow them."
        const uploaded = yield* documents.upload({
          scope,
          filename: "../badgers.txt",
          bytes: byteStream(text),
          metadata: { a: 1 }
        })
        assert.deepInclude(uploaded, {
          status: "processing",
          size: text.length,
          filename: "../badgers.txt",
          mimeType: "text/plain"
        })
        const done = yield* ended(uploaded.id)
        assert.deepInclude(done, { status: "completed", chunkCount: 1, statusMessage: null, metadata: { a: 1 } })
        assert.isAbove(done.totalTokens ?? 0, 5)
        assert.isNotNull(done.processingStartedAt)
        assert.deepStrictEqual(yield* documents.list({ assistantId }, firstPage), [done])
        assert.deepStrictEqual(yield* documents.list({ threadId }, firstPage), [])
        const found = yield* documents.search({ scopeId: { threadId }, query: "badger" })
        assert.deepStrictEqual(
          found.excerpts.map(({ document }) => document),
          [done]
        )
        assert.strictEqual(found.excerpts[0]?.chunk.text, text)
        assert.isNotNull(found.excerpts[0]?.lexical)
        const { total } = yield* documents.chunks(done.id, firstPage)
        assert.strictEqual(total, 1)
        const part = yield* documents.content(done.id, { offset: 8, length: 3 })
        assert.strictEqual(new TextDecoder().decode(yield* Stream.mkUint8Array(part.bytes)), "dig")
        assert.deepStrictEqual(yield* documents.remove(done.id), done)
        for (const again of [documents.get(done.id), documents.remove(done.id), documents.chunks(done.id, firstPage)]) {
          assert.deepInclude(yield* Effect.flip<unknown, unknown, Principal>(again), { _tag: "DocumentNotFound" })
        }
        assert.deepStrictEqual(yield* chunksIn(place, "badger"), [])
        assert.isFalse(yield* hasBlob(done))
      })
    )

    for (const whole of ["thread", "assistant"] as const) {
      test(
        `the removal of ${whole === "thread" ? "a thread" : "an assistant"} leaves no record, no chunk and no byte of its documents`,
        Effect.gen(function* () {
          const documents = yield* Documents
          const place = yield* openPlace
          const { assistantId, threadId } = place
          const ofThread = yield* documents.upload({
            scope: { _tag: "Thread", threadId },
            filename: "a.txt",
            bytes: byteStream("Badgers of the thread.")
          })
          const ofAssistant = yield* documents.upload({
            scope: { _tag: "Assistant", assistantId },
            filename: "b.txt",
            bytes: byteStream("Badgers of the assistant.")
          })
          yield* ended(ofThread.id)
          yield* ended(ofAssistant.id)
          if (whole === "thread") yield* (yield* Threads).remove(threadId)
          else yield* (yield* Assistants).remove(assistantId)
          const left = whole === "thread" ? [ofAssistant] : []
          const hits = yield* chunksIn(place, "badgers")
          assert.deepStrictEqual(
            hits.map(({ documentId }) => documentId),
            left.map(({ id }) => id)
          )
          const there = yield* (yield* DocumentStore).getMany([ofThread.id, ofAssistant.id])
          assert.deepStrictEqual(
            there.map(({ id }) => id),
            left.map(({ id }) => id)
          )
          assert.isFalse(yield* hasBlob(ofThread))
          assert.strictEqual(yield* hasBlob(ofAssistant), whole === "thread")
        })
      )
    }

    test(
      "a clone has the documents of its source with their vectors, and outlives them",
      Effect.gen(function* () {
        const documents = yield* Documents
        const assistants = yield* Assistants
        const from = yield* openPlace
        const original = yield* ended((yield* uploadTo(from.assistantId, "Badgers dig setts.")).id)
        yield* uploadToThread(from.threadId, "Foxes.")
        const bare = yield* assistants.clone(from.assistantId, { without: ["documents"] })
        assert.deepStrictEqual(bare.copied, {})
        assert.deepStrictEqual(yield* documents.list({ assistantId: bare.assistant.id }, firstPage), [])
        const { assistant, copied } = yield* assistants.clone(from.assistantId, {})
        assert.deepStrictEqual(copied, { documents: 1 })
        const before = yield* documents.search({ scopeId: { assistantId: from.assistantId }, query: "badgers" })
        yield* assistants.remove(from.assistantId)
        const [copy] = yield* documents.list({ assistantId: assistant.id }, firstPage)
        assert.deepInclude(copy, { status: "completed", filename: "a.txt", chunkCount: 1, sha256: original.sha256 })
        const after = yield* documents.search({ scopeId: { assistantId: assistant.id }, query: "badgers" })
        assert.deepStrictEqual(
          after.excerpts.map(({ semantic }) => semantic),
          before.excerpts.map(({ semantic }) => semantic)
        )
        const { bytes } = yield* documents.content(copy?.id ?? original.id)
        assert.strictEqual(new TextDecoder().decode(yield* Stream.mkUint8Array(bytes)), "Badgers dig setts.")
      })
    )

    test(
      "a clone that fails when its documents are copied is never seen, and leaves no record, no chunk and no byte",
      Effect.gen(function* () {
        const [assistants, documents, index] = [yield* Assistants, yield* Documents, yield* ChunkIndex]
        const { assistantId } = yield* openPlace
        const original = yield* ended((yield* uploadTo(assistantId, "Badgers dig setts.")).id)
        const attempt = Effect.gen(function* () {
          const seen: Array<{ readonly clone: AssistantId; readonly copy: Document }> = []
          const spoiler: Copier = {
            name: "spoiler",
            copy: Effect.fnUntraced(
              function* (_, clone) {
                const [copy = original] = yield* (yield* DocumentStore).list({ assistantId: clone }, firstPage)
                seen.push({ clone, copy })
                return yield* new StoreUnavailable({ operation: "spoiler" })
              },
              Effect.provideContext(yield* Effect.context<DocumentStore>())
            )
          }
          yield* (yield* Copies).register(spoiler)
          yield* Effect.flip(assistants.clone(assistantId, {}))
          return seen
        })
        const [half, ...more] = yield* Effect.scoped(attempt)
        if (half === undefined) return assert.fail("The documents were not copied before.")
        assert.deepStrictEqual(more, [])
        assert.notStrictEqual(half.copy.id, original.id)
        assert.deepStrictEqual(
          (yield* assistants.list(firstPage)).map(({ id }) => id),
          [assistantId]
        )
        assert.strictEqual((yield* Effect.flip(assistants.get(half.clone)))._tag, "AssistantNotFound")
        assert.strictEqual((yield* Effect.flip(documents.get(half.copy.id)))._tag, "DocumentNotFound")
        assert.isFalse(yield* hasBlob(half.copy))
        const key = { scope: scopeOfAssistant(half.clone), documentId: half.copy.id }
        assert.strictEqual((yield* index.chunks(key, firstPage)).total, 0)
        assert.isTrue(yield* hasBlob(original))
      })
    )

    test(
      "sound is complete without words, and nothing of it is in the index",
      Effect.gen(function* () {
        const documents = yield* Documents
        const place = yield* openPlace
        const { id } = yield* documents.upload({
          scope: { _tag: "Thread", threadId: place.threadId },
          filename: "a.mp3",
          bytes: Stream.make(Uint8Array.of(0x49, 0x44, 0x33, 0, 0, 0)),
          purpose: "attachment"
        })
        assert.deepInclude(yield* ended(id), { status: "completed", chunkCount: null, totalTokens: null })
        assert.deepStrictEqual((yield* documents.chunks(id, firstPage)).total, 0)
        const survey = yield* (yield* DocumentStore).survey([{ threadId: place.threadId }])
        assert.deepStrictEqual(survey, { completed: 0, processing: [], shelves: [place.threadId] })
      })
    )

    test(
      "another owner's documents cannot be told from unknown ones",
      Effect.gen(function* () {
        const documents = yield* Documents
        const theirs = yield* asNewOwner(
          Effect.gen(function* () {
            const place = yield* openPlace
            const scope = { _tag: "Thread", threadId: place.threadId } as const
            const { id } = yield* documents.upload({ scope, filename: "a.txt", bytes: byteStream("Badgers.") })
            return { ...place, scope, document: yield* ended(id) }
          })
        )
        const { assistantId, document, scope, threadId } = theirs
        const file = { filename: "b.txt", bytes: byteStream("Foxes.") }
        const refusals: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, Principal>]> = [
          ["DocumentNotFound", documents.get(document.id)],
          ["DocumentNotFound", documents.content(document.id)],
          ["DocumentNotFound", documents.chunks(document.id, firstPage)],
          ["DocumentNotFound", documents.remove(document.id)],
          ["ThreadNotFound", documents.list({ threadId }, firstPage)],
          ["ThreadNotFound", documents.search({ scopeId: { threadId }, query: "badgers" })],
          ["AssistantNotFound", documents.search({ scopeId: { assistantId }, query: "badgers" })],
          ["ThreadNotFound", documents.upload({ scope, ...file })]
        ]
        for (const [tag, call] of refusals) {
          const result = yield* Effect.result(call)
          assert.deepInclude(Result.isFailure(result) ? result.failure : {}, { _tag: tag })
        }
      })
    )
  })
