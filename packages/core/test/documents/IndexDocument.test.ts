/** What happens to an upload when something goes wrong: with the file, its embedding, the server, or the process at any of its writes. */
import { Assistants, Principal, Threads } from "@colloquy/core"
import { DocumentId, firstPage, newId, noUsage, UsageLedger } from "@colloquy/core/adapters"
import {
  type Document,
  Documents,
  type DocumentScope,
  DocumentStore,
  ExtractionFailed,
  sweepOrphanedBlobs
} from "@colloquy/core/documents"
import { ChunkIndex } from "@colloquy/core/retrieval"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import {
  away,
  byteStream,
  doomedStorage,
  embedLetters,
  memoryStorage,
  openRoom,
  readText,
  type RoomOptions
} from "../support/DocumentRoom.ts"
import { chunksIn, openPlace } from "./DocumentStories.ts"

const test = <E>(title: string, body: Effect.Effect<void, E, Principal | Scope.Scope>) =>
  it.effect(title, () => body.pipe(Principal.provide("ada")), 30_000)

const tick = TestClock.adjust("1 millis")

const upload = (scope: DocumentScope, text = "Badgers dig setts.", filename = "a.txt") =>
  Documents.use((documents) => documents.upload({ scope, filename, bytes: byteStream(text) }))

const read = ({ id }: Pick<Document, "id">) => Documents.use((documents) => documents.get(id))

/** One upload to a thread in a kernel of its own. */
const uploaded = Effect.fnUntraced(function* (options: RoomOptions, text?: string) {
  const { state, storage } = yield* memoryStorage
  const room = yield* openRoom(storage, options)
  const place = yield* room.run(openPlace)
  const document = yield* room.run(upload({ _tag: "Thread", threadId: place.threadId }, text))
  return { document, place, room, state, storage }
})

describe("an upload", () => {
  const refusals = [
    ["an empty file", "a.txt", byteStream(""), "FileEmpty"],
    ["a type that is not on the list", "a.exe", byteStream("MZ"), "FileTypeUnsupported"],
    [
      "a program under the name of a text",
      "a.txt",
      Stream.make(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0, 0)),
      "FileTypeUnsupported"
    ],
    [
      "too many bytes",
      "a.txt",
      Stream.make(...Array.from({ length: 9 }, () => new Uint8Array(8).fill(65))),
      "FileTooLarge"
    ]
  ] as const
  for (const [what, filename, bytes, tag] of refusals) {
    test(
      `of ${what} is refused, and nothing of it is stored`,
      Effect.gen(function* () {
        const { state, storage } = yield* memoryStorage
        const room = yield* openRoom(storage, { settings: { maxFileSize: 64 } })
        const { assistantId } = yield* room.run(openPlace)
        const scope = { _tag: "Assistant", assistantId } as const
        const error = yield* Effect.flip(
          room.run(Documents.use((documents) => documents.upload({ scope, filename, bytes })))
        )
        assert.deepInclude(error, { _tag: tag })
        assert.strictEqual(state.blobs.size, 0)
        assert.strictEqual(state.documents.size, 0)
      })
    )
  }

  test(
    "without an embedding model is found by its words",
    Effect.gen(function* () {
      const { document, place, room } = yield* uploaded({})
      yield* tick
      assert.deepInclude(yield* room.run(read(document)), { status: "completed", chunkCount: 1 })
      const found = yield* room.run(Documents.use((documents) => documents.search({ scopeId: place, query: "setts" })))
      assert.deepStrictEqual((yield* room.run(UsageLedger.use((ledger) => ledger.recent(firstPage)))).days, [])
      assert.strictEqual(found.lexicalOnly, "no_embedding_model")
      assert.deepInclude(found.excerpts[0], { semantic: null })
    })
  )

  test(
    "has its vectors, and those of questions, in the ledger",
    Effect.gen(function* () {
      const { place, room } = yield* uploaded({
        embed: (request) =>
          Effect.map(embedLetters(request), (answer) => ({ ...answer, usage: { ...noUsage, inputTokens: 7 } }))
      })
      yield* tick
      yield* room.run(Documents.use((documents) => documents.search({ scopeId: place, query: "setts" })))
      const { days } = yield* room.run(UsageLedger.use((ledger) => ledger.recent(firstPage)))
      assert.deepStrictEqual(
        days.map(({ model, purpose, usage }) => [model, purpose, usage.inputTokens]),
        [["letters", "embedding", 14]]
      )
    })
  )

  test(
    "that is long says how many of its parts are embedded, batch by batch, with its sums",
    Effect.gen(function* () {
      const batches = yield* Queue.unbounded<Deferred.Deferred<void>>()
      const { storage } = yield* memoryStorage
      const room = yield* openRoom(storage, {
        settings: { embeddingBatch: 4, chunkTokens: 8, chunkOverlap: 0 },
        embed: Effect.fnUntraced(function* (request) {
          const asked = yield* Deferred.make<void>()
          yield* Queue.offer(batches, asked)
          yield* Deferred.await(asked)
          return yield* embedLetters(request)
        })
      })
      const { threadId } = yield* room.run(openPlace)
      const animals = ["Badgers", "Foxes", "Hares", "Otters", "Voles"]
      const text = animals.map((animal) => `${animal} live in the wood by the river.`).join("\n\n")
      const { id } = yield* room.run(upload({ _tag: "Thread", threadId }, text))
      const seen: Array<unknown> = []
      for (let batch = 0; batch < 3; batch++) {
        yield* tick
        const asked = yield* Queue.take(batches)
        const { chunkCount, status, statusMessage, totalTokens } = yield* room.run(read({ id }))
        assert.isAbove(totalTokens ?? 0, 20)
        seen.push([status, chunkCount, statusMessage])
        yield* Deferred.succeed(asked, undefined)
      }
      assert.deepStrictEqual(seen, [
        ["processing", 10, "The text was read: 10 parts."],
        ["processing", 10, "Embedded 4 of 10 parts."],
        ["processing", 10, "Embedded 8 of 10 parts."]
      ])
      yield* tick
      assert.deepInclude(yield* room.run(read({ id })), { status: "completed", chunkCount: 10, statusMessage: null })
    })
  )

  test(
    "without text is completed, and says so",
    Effect.gen(function* () {
      const { document, room } = yield* uploaded({}, " \n ")
      yield* tick
      assert.deepInclude(yield* room.run(read(document)), {
        status: "completed",
        chunkCount: 0,
        statusMessage: "No text was found in this file."
      })
    })
  )

  test(
    "that cannot be read ends as an error with the extractor's sentence",
    Effect.gen(function* () {
      const broken = new ExtractionFailed({ reason: "encrypted", sentence: "The file is protected." })
      const { document, place, room } = yield* uploaded({ extract: () => Effect.fail(broken) })
      yield* tick
      assert.deepInclude(yield* room.run(read(document)), { status: "error", statusMessage: "The file is protected." })
      assert.deepStrictEqual(yield* room.run(chunksIn(place, "badgers")), [])
    })
  )

  test(
    "waits for an embedding provider that is away for a minute, and says so meanwhile",
    Effect.gen(function* () {
      let isAway = true
      const { document, room } = yield* uploaded({
        embed: (request) => (isAway ? Effect.fail(away) : embedLetters(request))
      })
      for (let second = 0; second < 60; second++) yield* TestClock.adjust("1 second")
      const waiting = yield* room.run(read(document))
      assert.strictEqual(waiting.status, "processing")
      assert.include(waiting.statusMessage, "Waiting for the embedding provider.")
      isAway = false
      for (let second = 0; second < 10; second++) yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* room.run(read(document)), { status: "completed", statusMessage: null })
    })
  )

  test(
    "gives up on an embedding provider that stays away",
    Effect.gen(function* () {
      const { document, room } = yield* uploaded({ embed: () => Effect.fail(away) })
      for (let minute = 0; minute < 16; minute++) {
        for (let step = 0; step < 12; step++) yield* TestClock.adjust("5 seconds")
      }
      const ended = yield* room.run(read(document))
      assert.strictEqual(ended.status, "error")
      assert.include(ended.statusMessage, "could not be embedded")
    })
  )

  test(
    "ends as an error when the vectors have another length than the assistant's",
    Effect.gen(function* () {
      const { document, place, room } = yield* uploaded({
        embed: ({ provider, model }) =>
          Effect.map(
            embedLetters({ texts: ["x"], provider, model, dimensions: 26, purpose: "document", apiKey: null }),
            (answer) => ({
              ...answer,
              vectors: answer.vectors.map((vector) => vector.slice(0, 25))
            })
          )
      })
      yield* tick
      const ended = yield* room.run(read(document))
      assert.strictEqual(ended.status, "error")
      assert.include(ended.statusMessage, "wrong dimensions (expected 26, received 25)")
      assert.deepStrictEqual(yield* room.run(chunksIn(place, "badgers")), [])
    })
  )

  test(
    "ends as an error after three attempts that failed inside the server",
    Effect.gen(function* () {
      let attempts = 0
      const { document, room } = yield* uploaded({
        extract: () => Effect.suspend(() => Effect.die(new Error(`attempt ${++attempts}`)))
      })
      for (let second = 0; second < 30; second++) yield* TestClock.adjust("1 second")
      assert.strictEqual(attempts, 3)
      const ended = yield* room.run(read(document))
      assert.deepInclude(ended, {
        status: "error",
        statusMessage: "This file could not be indexed: the server failed. Upload it again."
      })
    })
  )

  for (const when of ["document", "thread"] as const) {
    test(
      `whose ${when} is deleted while it is processed leaves nothing`,
      Effect.gen(function* () {
        const [reached, released] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const { document, place, room, state } = yield* uploaded({
          embed: (request) =>
            Deferred.succeed(reached, undefined).pipe(
              Effect.andThen(Deferred.await(released)),
              Effect.andThen(embedLetters(request))
            )
        })
        yield* tick
        yield* Deferred.await(reached)
        if (when === "document") yield* room.run(Documents.use((documents) => documents.remove(document.id)))
        else yield* room.run(Threads.use((threads) => threads.remove(place.threadId)))
        yield* Deferred.succeed(released, undefined)
        yield* tick
        assert.deepStrictEqual(yield* room.run(chunksIn(place, "badgers")), [])
        assert.strictEqual(state.documents.size, 0)
        assert.strictEqual(state.blobs.size, 0)
      })
    )
  }

  test(
    "is indexed once by two processes",
    Effect.gen(function* () {
      let extracted = 0
      const extract: RoomOptions["extract"] = (file) => Effect.suspend(() => (extracted++, readText(file)))
      const { storage } = yield* memoryStorage
      const [one, other] = [yield* openRoom(storage, { extract }), yield* openRoom(storage, { extract })]
      const { threadId } = yield* one.run(openPlace)
      const scope = { _tag: "Thread", threadId } as const
      const uploads = yield* Effect.forEach([one, other, one, other], (room) => room.run(upload(scope)))
      for (let second = 0; second < 10; second++) yield* TestClock.adjust("1 second")
      for (const { id } of uploads) assert.deepInclude(yield* other.run(read({ id })), { status: "completed" })
      assert.strictEqual(extracted, 4)
    })
  )
})

describe("a process that dies", () => {
  test(
    "at any write of an upload leaves a document that another one completes, or nothing",
    Effect.gen(function* () {
      const seen = new Set<string>()
      for (let at = 1; at <= 12; at++) {
        const { state, storage } = yield* memoryStorage
        const doomed = doomedStorage(storage, at)
        const living = yield* openRoom(storage, { embed: embedLetters })
        const place = yield* living.run(openPlace)
        yield* living.close
        const room = yield* openRoom(doomed.stores, { embed: embedLetters })
        const dying = yield* Effect.forkChild(room.run(upload({ _tag: "Thread", threadId: place.threadId })))
        yield* tick
        const heir = yield* openRoom(storage, { embed: embedLetters })
        for (let second = 0; second < 50; second++) yield* TestClock.adjust("5 seconds")
        const listed = yield* heir.run(
          Documents.use((documents) => documents.list({ threadId: place.threadId }, firstPage))
        )
        const hits = yield* heir.run(chunksIn(place, "badgers"))
        assert.deepStrictEqual(
          hits.map(({ documentId }) => documentId),
          listed.map(({ id }) => id),
          `write ${at}`
        )
        assert.isTrue(
          listed.every(({ status }) => status === "completed"),
          `write ${at}`
        )
        yield* heir.run(sweepOrphanedBlobs("1 minute"))
        assert.strictEqual(state.blobs.size, listed.length, `write ${at}`)
        seen.add(`${doomed.isDead() ? "died" : "lived"} ${listed.length}`)
        yield* doomed.bury
        yield* Fiber.interrupt(dying)
      }
      assert.sameMembers([...seen], ["died 0", "died 1", "lived 1"])
    })
  )

  test(
    "at any write of a deletion leaves nothing once another one is there",
    Effect.gen(function* () {
      const seen = new Set<string>()
      for (let at = 1; at <= 6; at++) {
        const { document, place, room, state, storage } = yield* uploaded({ embed: embedLetters })
        yield* tick
        yield* room.close
        const doomed = doomedStorage(storage, at)
        const other = yield* openRoom(doomed.stores, { embed: embedLetters })
        const dying = yield* Effect.forkChild(other.run(Documents.use((documents) => documents.remove(document.id))))
        yield* tick
        const heir = yield* openRoom(storage, { embed: embedLetters })
        for (let second = 0; second < 30; second++) yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(yield* heir.run(chunksIn(place, "badgers")), [], `write ${at}`)
        assert.isTrue(
          Option.isNone(yield* heir.run(DocumentStore.use((store) => store.get(document.id)))),
          `write ${at}`
        )
        assert.strictEqual(state.blobs.size, 0, `write ${at}`)
        seen.add(doomed.isDead() ? "died" : "lived")
        yield* doomed.bury
        yield* Fiber.interrupt(dying)
      }
      assert.include([...seen], "died")
    })
  )

  test(
    "that left a document without its follow-up: the sweep orders it again",
    Effect.gen(function* () {
      const { storage } = yield* memoryStorage
      const room = yield* openRoom(storage)
      const { threadId } = yield* room.run(openPlace)
      const source = yield* room.run(upload({ _tag: "Thread", threadId }))
      yield* tick
      const id = yield* newId(DocumentId)
      const left = { ...source, id, status: "processing" } as const
      assert.isTrue(yield* room.run(DocumentStore.use((store) => store.insert(left, []))))
      yield* TestClock.adjust("2 minutes")
      assert.deepInclude(yield* room.run(read({ id })), { status: "completed", chunkCount: 1 })
    })
  )

  test(
    "or another process that looks for the record before it is seen: the document is indexed none the less",
    Effect.gen(function* () {
      const { storage } = yield* memoryStorage
      let early = 1
      const late = Layer.effect(
        DocumentStore,
        DocumentStore.useSync((store) =>
          DocumentStore.of({
            ...store,
            beginAttempt: (...args) => (early-- > 0 ? Effect.succeed(Option.none()) : store.beginAttempt(...args))
          })
        )
      )
      const room = yield* openRoom(Layer.provideMerge(late, storage))
      const { threadId } = yield* room.run(openPlace)
      const document = yield* room.run(upload({ _tag: "Thread", threadId }))
      yield* TestClock.adjust("10 seconds")
      assert.isBelow(early, 0)
      assert.deepInclude(yield* room.run(read(document)), { status: "completed", chunkCount: 1 })
    })
  )

  test(
    "leaves out of a clone what is deleted at the moment at which it is copied",
    Effect.gen(function* () {
      const { state, storage } = yield* memoryStorage
      let deleted: Effect.Effect<unknown, unknown> = Effect.void
      const late = Layer.effect(
        ChunkIndex,
        ChunkIndex.useSync((index) =>
          ChunkIndex.of({
            ...index,
            copy: (from, to) => Effect.andThen(Effect.orDie(deleted), index.copy(from, to))
          })
        )
      ).pipe(Layer.provide(storage))
      const room = yield* openRoom(Layer.provideMerge(late, storage))
      const { assistantId } = yield* room.run(openPlace)
      const { id } = yield* room.run(upload({ _tag: "Assistant", assistantId }))
      yield* tick
      deleted = Principal.provide("ada")(room.run(Documents.use((documents) => documents.remove(id))))
      const { assistant, copied } = yield* room.run(Assistants.use((assistants) => assistants.clone(assistantId, {})))
      assert.deepStrictEqual(copied, { documents: 0 })
      const listed = Documents.use((documents) => documents.list({ assistantId: assistant.id }, firstPage))
      assert.deepStrictEqual(yield* room.run(listed), [])
      assert.strictEqual(state.blobs.size, 0)
    })
  )

  test(
    "at any write of a clone leaves all of it or nothing, and no byte without a document",
    Effect.gen(function* () {
      const seen = new Set<string>()
      const never = 100
      for (const at of [...Array.from({ length: 14 }, (_, index) => index + 1), never]) {
        const { state, storage } = yield* memoryStorage
        const living = yield* openRoom(storage, { embed: embedLetters })
        const { assistantId } = yield* living.run(openPlace)
        yield* living.run(upload({ _tag: "Assistant", assistantId }))
        yield* living.run(upload({ _tag: "Assistant", assistantId }, "Foxes borrow setts.", "b.txt"))
        yield* tick
        yield* living.close
        const doomed = doomedStorage(storage, at)
        const room = yield* openRoom(doomed.stores, { embed: embedLetters })
        const dying = yield* Effect.forkChild(
          room.run(Assistants.use((assistants) => assistants.clone(assistantId, {})))
        )
        yield* tick
        const shown = Effect.gen(function* () {
          const clones = (yield* (yield* Assistants).list(firstPage)).filter(({ id }) => id !== assistantId)
          const documents = yield* Documents
          return yield* Effect.forEach(clones, ({ id }) =>
            Effect.gen(function* () {
              const listed = yield* documents.list({ assistantId: id }, firstPage)
              const found = yield* documents.search({ scopeId: { assistantId: id }, query: "setts" })
              return [listed.length, found.excerpts.length, found.excerpts.every(({ semantic }) => semantic !== null)]
            })
          )
        })
        const isDead = doomed.isDead()
        yield* doomed.bury
        yield* Fiber.interrupt(dying)
        yield* room.close
        const witness = yield* openRoom(storage, { embed: embedLetters })
        const atOnce = yield* witness.run(shown)
        yield* witness.close
        yield* TestClock.adjust("61 minutes")
        const heir = yield* openRoom(storage, { embed: embedLetters })
        yield* TestClock.adjust("10 seconds")
        const later = yield* heir.run(shown)
        assert.deepStrictEqual(later, atOnce, `write ${at}`)
        if (later.length > 0) assert.deepStrictEqual(later, [[2, 2, true]], `write ${at}`)
        yield* heir.run(sweepOrphanedBlobs("1 minute"))
        assert.strictEqual(state.blobs.size, state.documents.size, `write ${at}`)
        assert.strictEqual(state.documents.size, 2 + 2 * later.length, `write ${at}`)
        assert.strictEqual(state.assistants.size, 1 + later.length, `write ${at}`)
        yield* heir.close
        seen.add(`${isDead ? "died" : "lived"} ${later.length}`)
      }
      assert.sameMembers([...seen], ["died 0", "died 1", "lived 1"])
    })
  )
})
