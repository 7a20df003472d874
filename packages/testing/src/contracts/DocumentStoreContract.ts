/**
 * The contract of `DocumentStore`. Run it with `documentStoreSuite("my store", MyStore.layer)`. Assistants and threads come from the other
 * stores of the same adapter, because their removal removes documents.
 */
import { AssistantId, MessageId, Principal, ThreadId } from "@colloquy/core"
import {
  AssistantStore,
  BlobId,
  DocumentId,
  firstPage,
  FollowUpStore,
  newId,
  RunStore,
  ThreadStore
} from "@colloquy/core/adapters"
import { type Document, type DocumentScope, DocumentStore, type IndexingOutcome } from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Sentence, storeSuite, type Stores } from "./ContractTest.ts"
import { sampleFollowUp } from "./FollowUpStoreContract.ts"
import { asNewOwner, awkwardJson, longText, moment, sampleBegin, sampleDocument, sampleThread } from "./Samples.ts"
import { openThread, openNewThread, refusedWhileErasing } from "./Scenes.ts"

/** What every store of documents must do. */
export const documentStoreSuite = (name: string, stores: Layer.Layer<DocumentStore | Stores, unknown>): void =>
  storeSuite(name, stores, documentStoreContract)

/** Its cases. */
export const documentStoreContract = (test: Sentence<DocumentStore | Stores>): void => {
  test("MUST give back what was inserted, equal in every field", function* () {
    const store = yield* DocumentStore
    const { ofAssistant, ofMessage, ofThread } = yield* openScopes
    const rich = yield* insert(ofMessage, {
      filename: "../../Übersicht 'Q4' \u2028🏳️‍🌈\0.pdf",
      statusMessage: longText.slice(0, 5000),
      summary: "\ud800 alone",
      totalTokens: 12,
      chunkCount: 3,
      size: 5_000_000_000,
      metadata: awkwardJson,
      status: "completed",
      processingStartedAt: new Date("2026-01-31T23:59:59.999Z"),
      processingCompletedAt: moment(9)
    })
    const plain = [yield* insert(ofAssistant), yield* insert(ofThread, { metadata: {} })]
    for (const document of [rich, ...plain]) {
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get(document.id)), document)
    }
  })

  test("MUST share the documents of a thread with its forks until the last of them goes, and nothing that comes later", function* () {
    const [store, runs, threads] = [yield* DocumentStore, yield* RunStore, yield* ThreadStore]
    const source = yield* openThread
    const ofThread = (threadId: ThreadId) => ({ _tag: "Thread", threadId }) as const
    const before = yield* insert(ofThread(source.id), { status: "completed", chunkCount: 1 })
    const copies = yield* Effect.forEach([1, 2], () =>
      Effect.gen(function* () {
        const thread = yield* sampleThread(source.assistantId)
        const from = { threadId: source.id, keeps: 0, newest: null }
        assert.deepStrictEqual(yield* runs.forkThread({ from, thread, once: null }), { _tag: "Done" })
        return thread.id
      })
    )
    const [first, second] = copies
    if (first === undefined || second === undefined) return
    const later = yield* insert(ofThread(source.id))
    const own = yield* insert(ofThread(first))
    const listed = (threadId: ThreadId) =>
      Effect.map(store.list({ threadId }, firstPage), (found) => found.map(({ id }) => id).toSorted())
    assert.deepStrictEqual(yield* listed(source.id), [before.id, later.id].toSorted())
    assert.deepStrictEqual(yield* listed(first), [before.id, own.id].toSorted())
    assert.deepStrictEqual(yield* listed(second), [before.id])
    const shelves = yield* Effect.forEach([source.id, first, second], store.shelves)
    assert.strictEqual(new Set(shelves.flat()).size, 4)
    assert.isTrue(shelves.every((each) => each.includes(source.id)))
    assert.deepStrictEqual(yield* asNewOwner(store.shelves(first)), [first])
    const survey = yield* store.survey([{ threadId: second }])
    assert.deepStrictEqual([survey.completed, survey.shelves.toSorted()], [1, (shelves[2] ?? []).toSorted()])
    const context = Effect.map((yield* AssistantStore).ofThread(second), Option.getOrThrow)
    assert.isTrue((yield* context).hasDocuments)
    yield* threads.remove(source.id)
    assert.isTrue((yield* context).hasDocuments)
    assert.isTrue(Option.isNone(yield* store.get(later.id)))
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(before.id)).filename, before.filename)
    assert.deepStrictEqual(yield* store.removeAll({ threadId: first }), [own])
    yield* threads.remove(first)
    assert.deepStrictEqual(yield* listed(second), [before.id])
    yield* threads.remove(second)
    assert.isTrue(Option.isNone(yield* store.get(before.id)))
  })

  test("MUST note the revocation of addresses of one document, or of all of the principal, and of nobody else's", function* () {
    const store = yield* DocumentStore
    const { ofAssistant, ofThread } = yield* openScopes
    const [one, other] = [yield* insert(ofAssistant), yield* insert(ofThread)]
    const theirs = yield* asNewOwner(Effect.flatMap(openScopes, (scopes) => insert(scopes.ofThread)))
    const revokedAt = (id: DocumentId) =>
      Effect.map(store.findAddressed(id), (found) => Option.getOrThrow(found).revokedAt)
    assert.strictEqual(yield* store.revokeAddresses(one.id, moment(5)), 1)
    assert.strictEqual(yield* store.revokeAddresses(theirs.id, moment(5)), 0)
    assert.deepStrictEqual([yield* revokedAt(one.id), yield* revokedAt(other.id)], [moment(5), null])
    assert.strictEqual(yield* store.revokeAddresses(null, moment(6)), 2)
    assert.deepStrictEqual([yield* revokedAt(one.id), yield* revokedAt(other.id)], [moment(6), moment(6)])
    assert.isNull(yield* revokedAt(theirs.id))
  })

  test("MUST refuse documents while everything of the principal is being erased", function* () {
    const store = yield* DocumentStore
    const { ofAssistant, ofThread } = yield* openScopes
    const [document, other] = [yield* sampleDocument(ofAssistant), yield* sampleDocument(ofThread)]
    yield* refusedWhileErasing(store.insert(document, []), store.insert(other, []))
    assert.isTrue(Option.isSome(yield* store.get(document.id)))
    assert.isTrue(Option.isNone(yield* store.get(other.id)))
  })

  test("MUST answer false, and store nothing, when the principal has no such assistant or thread", function* () {
    const store = yield* DocumentStore
    const theirs = yield* asNewOwner(openScopes)
    const scopes: ReadonlyArray<DocumentScope> = [
      theirs.ofAssistant,
      theirs.ofThread,
      theirs.ofMessage,
      { _tag: "Assistant", assistantId: yield* newId(AssistantId) },
      { _tag: "Thread", threadId: ThreadId.make("no thread") }
    ]
    for (const scope of scopes) {
      const document = yield* sampleDocument(scope)
      assert.isFalse(yield* store.insert(document, []))
      assert.isTrue(Option.isNone(yield* store.get(document.id)))
    }
  })

  test("MUST store the follow-ups of a record with it, and none of a refused one", function* () {
    const [store, followUps] = [yield* DocumentStore, yield* FollowUpStore]
    const { ofThread } = yield* openScopes
    const refused = yield* sampleDocument({ _tag: "Thread", threadId: ThreadId.make("no thread") })
    assert.isFalse(yield* store.insert(refused, [yield* indexingFollowUp(refused)]))
    assert.isTrue(Option.isNone(yield* followUps.find(indexing, refused.id)))
    const document = yield* sampleDocument(ofThread)
    const work = yield* indexingFollowUp(document)
    assert.isTrue(yield* store.insert(document, [work]))
    assert.strictEqual(Option.getOrThrow(yield* followUps.find(indexing, document.id)).id, work.id)
  })

  test("MUST name what is processing without an open follow-up of the kind, of all owners, and nothing else", function* () {
    const [store, followUps] = [yield* DocumentStore, yield* FollowUpStore]
    const { ofAssistant, ofThread } = yield* openScopes
    const ended = { status: "completed" } as const
    const [lost, attended, completed] = [
      yield* insert(ofThread, { createdAt: moment(5) }),
      yield* sampleDocument(ofAssistant),
      yield* insert(ofThread, ended)
    ]
    yield* store.insert(attended, [yield* indexingFollowUp(attended)])
    const theirs = yield* asNewOwner(
      Effect.flatMap(openScopes, (scopes) => insert(scopes.ofThread, { createdAt: moment(3) }))
    )
    const ours = new Set([lost, attended, completed, theirs].map(({ id }) => id))
    const unattended = Effect.map(store.unattended(indexing, 100_000), (found) =>
      found.filter(({ document }) => ours.has(document.id))
    )
    const found = yield* unattended
    assert.deepStrictEqual(
      found.map(({ document }) => document),
      [theirs, lost]
    )
    const { ownerId } = yield* Principal
    assert.deepStrictEqual(
      found.map((each) => each.ownerId === ownerId),
      found.map(({ document }) => document.id === lost.id)
    )
    assert.isAtMost((yield* store.unattended(indexing, 1)).length, 1)
    yield* followUps.add([yield* indexingFollowUp(lost)])
    assert.deepStrictEqual(
      (yield* unattended).map(({ document }) => document.id),
      [theirs.id]
    )
  })

  test("MUST refuse a document that would be over a limit, of ten at the same time, and count those of the principal alone", function* () {
    const store = yield* DocumentStore
    yield* asNewOwner(
      Effect.gen(function* () {
        yield* store.insert(yield* sampleDocument((yield* openScopes).ofThread), [])
      })
    )
    const { ofAssistant, ofThread } = yield* openScopes
    const limits = { documents: 3, bytes: null }
    const documents = yield* Effect.forEach(Array.from({ length: 10 }), (_, index) =>
      sampleDocument(index % 2 === 0 ? ofThread : ofAssistant, { size: 100 })
    )
    const stored = yield* Effect.forEach(documents, (document) => store.insert(document, [], limits), {
      concurrency: "unbounded"
    })
    assert.strictEqual(stored.filter((each) => each === true).length, 3)
    assert.deepStrictEqual(
      stored.find((each) => typeof each !== "boolean"),
      { _tag: "OverLimit", refusal: { limit: "documents", left: 0, waitMillis: null } }
    )
    const kept = yield* store.getMany(documents.map(({ id }) => id))
    assert.strictEqual(kept.length, 3)
    const bytes = { documents: null, bytes: 500 }
    const large = yield* store.insert(yield* sampleDocument(ofThread, { size: 201 }), [], bytes)
    assert.deepStrictEqual(large, { _tag: "OverLimit", refusal: { limit: "bytes", left: 200, waitMillis: null } })
    assert.isTrue(yield* store.insert(yield* sampleDocument(ofThread, { size: 200 }), [], bytes))
    assert.isTrue(yield* store.insert(yield* sampleDocument(ofThread), [], { documents: null, bytes: null }))
    // A third of a million, or a limit that limits nothing.
    const fraction = yield* store.insert(yield* sampleDocument(ofThread, { size: 1 }), [], {
      documents: 5.5,
      bytes: 0.5
    })
    assert.deepInclude(fraction, { refusal: { limit: "bytes", left: 0, waitMillis: null } })
    const infinite = { documents: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
    assert.isTrue(yield* store.insert(yield* sampleDocument(ofThread), [], infinite))
  })

  test("MUST return the owner of a document, and none for an unknown document", function* () {
    const store = yield* DocumentStore
    const { ownerId } = yield* Principal
    const { ofThread } = yield* openScopes
    const { id } = yield* insert(ofThread)
    const theirs = yield* asNewOwner(
      Effect.gen(function* () {
        const scopes = yield* openScopes
        return { ownerId: (yield* Principal).ownerId, id: (yield* insert(scopes.ofAssistant)).id }
      })
    )
    assert.deepStrictEqual(yield* store.findAddressed(id), Option.some({ ownerId, revokedAt: null }))
    const foundTheirs = Option.some({ ownerId: theirs.ownerId, revokedAt: null })
    assert.deepStrictEqual(yield* store.findAddressed(theirs.id), foundTheirs)
    yield* store.remove(id)
    for (const unknown of [id, yield* newId(DocumentId), DocumentId.make("no document")]) {
      assert.isTrue(Option.isNone(yield* store.findAddressed(unknown)))
    }
  })

  test("MUST treat another owner's documents like unknown ones", function* () {
    const store = yield* DocumentStore
    const theirs = yield* asNewOwner(
      Effect.gen(function* () {
        const { ofAssistant, ofThread } = yield* openScopes
        const document = yield* insert(ofThread)
        return { document, ofAssistant, ofThread, attempt: yield* begin(document) }
      })
    )
    const { attempt, document, ofAssistant, ofThread } = theirs
    for (const id of [document.id, yield* newId(DocumentId), DocumentId.make("not a uuid")]) {
      assert.isTrue(Option.isNone(yield* store.get(id)))
      assert.isTrue(Option.isNone(yield* store.remove(id)))
      assert.isTrue(Option.isNone(yield* store.beginAttempt(id, moment(1))))
      assert.isFalse(yield* store.finish({ ...attempt, documentId: id }, done, moment(2)))
      assert.isFalse(yield* store.report({ ...attempt, documentId: id }, halfWay, moment(2)))
      assert.deepStrictEqual(yield* store.getMany([id]), [])
    }
    const filters = [{ threadId: ofThread.threadId }, { assistantId: ofAssistant.assistantId }]
    for (const filter of filters) {
      assert.deepStrictEqual(yield* store.list(filter, firstPage), [])
      assert.deepStrictEqual(yield* store.removeAll(filter), [])
    }
    assert.deepStrictEqual(yield* store.survey(filters), {
      completed: 0,
      processing: [],
      shelves: []
    })
  })

  test("MUST list by assistant, by thread with its messages, and by message, oldest first and in pages", function* () {
    const store = yield* DocumentStore
    const { ofAssistant, ofMessage, ofThread } = yield* openScopes
    const attached = yield* insert(ofMessage, { createdAt: moment(5) })
    const older = yield* insert(ofThread, { createdAt: moment(2) })
    const shared = yield* insert(ofAssistant, { createdAt: moment(1) })
    const together = [
      yield* insert(ofThread, { createdAt: moment(3) }),
      yield* insert(ofThread, { createdAt: moment(3) })
    ]
    for (const other of Object.values(yield* openScopes)) yield* insert(other)
    const wholeThread = { threadId: ofThread.threadId }
    assert.deepStrictEqual(yield* store.list(wholeThread, firstPage), [older, ...together, attached])
    assert.deepStrictEqual(yield* store.list({ assistantId: ofAssistant.assistantId }, firstPage), [shared])
    assert.deepStrictEqual(yield* store.list({ messageId: ofMessage.messageId }, firstPage), [attached])
    const pages = yield* Effect.forEach([0, 3, 6], (skip) => store.list(wholeThread, { skip, limit: 3 }))
    assert.deepStrictEqual(
      pages.map((page) => page.map(({ id }) => id)),
      [[older.id, ...together.map(({ id }) => id)], [attached.id], []]
    )
    const wanted = [attached.id, yield* newId(DocumentId), shared.id, attached.id]
    assert.deepStrictEqual(yield* store.getMany(wanted), [shared, attached])
  })

  test("MUST survey several scopes as one: the number of completed documents, and the list of those in processing", function* () {
    const store = yield* DocumentStore
    const { ofAssistant, ofMessage, ofThread } = yield* openScopes
    yield* insert(ofThread, { status: "completed", chunkCount: 3 })
    yield* insert(ofAssistant, { status: "completed", chunkCount: 0 })
    // A document that was never indexed has nothing to search.
    yield* insert(ofThread, { status: "completed", chunkCount: null })
    yield* insert(ofThread, { status: "error" })
    const late = yield* insert(ofMessage, { createdAt: moment(2), filename: "late 🏳️‍🌈.csv" })
    const early = yield* insert(ofAssistant, { createdAt: moment(1) })
    for (const other of Object.values(yield* openScopes)) yield* insert(other)
    const named = ({ filename, id }: Document) => ({ id, filename })
    assert.deepStrictEqual(
      yield* store.survey([
        { threadId: ofThread.threadId },
        { assistantId: ofAssistant.assistantId },
        // This document is counted in its thread already.
        { messageId: ofMessage.messageId }
      ]),
      { completed: 2, processing: [named(early), named(late)], shelves: [ofThread.threadId] }
    )
    assert.deepStrictEqual(yield* store.survey([{ messageId: ofMessage.messageId }]), {
      completed: 0,
      processing: [named(late)],
      shelves: []
    })
    assert.deepStrictEqual(yield* store.survey([]), { completed: 0, processing: [], shelves: [] })
  })

  test("MUST write the summary of a completed document of the same owner, and of no other", function* () {
    const store = yield* DocumentStore
    const { ofThread } = yield* openScopes
    const document = yield* insert(ofThread, { status: "completed", chunkCount: 1 })
    const early = yield* insert(ofThread)
    assert.isFalse(yield* store.setSummary(early.id, "Too early.", moment(5)))
    assert.isFalse(yield* asNewOwner(store.setSummary(document.id, "Not theirs.", moment(5))))
    assert.isTrue(yield* store.setSummary(document.id, longText, moment(5)))
    const changed = { ...document, summary: longText, updatedAt: moment(5) }
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(document.id)), changed)
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(early.id)), early)
  })

  test("MUST be reported by the look-up of a thread while they are attached to it or to its assistant", function* () {
    const [store, assistants] = [yield* DocumentStore, yield* AssistantStore]
    const { ofAssistant, ofMessage, ofThread } = yield* openScopes
    const hasDocuments = Effect.map(
      assistants.ofThread(ofThread.threadId),
      (found) => Option.getOrThrow(found).hasDocuments
    )
    yield* insert((yield* openScopes).ofThread)
    assert.isFalse(yield* hasDocuments)
    const runs = yield* RunStore
    for (const scope of [ofAssistant, ofThread, ofMessage]) {
      const { revision: decidedOn } = Option.getOrThrow(yield* assistants.ofThread(ofThread.threadId))
      const { id } = yield* insert(scope)
      assert.isTrue(yield* hasDocuments)
      const begin = yield* sampleBegin(ofThread.threadId, { decidedOn })
      assert.deepStrictEqual(yield* runs.begin(begin), { _tag: "Outdated" })
      yield* store.remove(id)
      assert.isFalse(yield* hasDocuments)
    }
  })

  test("MUST move from processing to completed with what was counted, once", function* () {
    const store = yield* DocumentStore
    const document = yield* insert((yield* openScopes).ofThread)
    const attempt = yield* begin(document, 1)
    assert.isTrue(yield* store.report(attempt, halfWay, moment(2)))
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(document.id)), {
      ...document,
      ...halfWay,
      updatedAt: moment(2),
      processingStartedAt: moment(1)
    })
    assert.isTrue(yield* store.finish(attempt, done, moment(3)))
    const completed = {
      ...document,
      ...done,
      updatedAt: moment(3),
      processingStartedAt: moment(1),
      processingCompletedAt: moment(3)
    }
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(document.id)), completed)
    for (const outcome of [done, failed]) assert.isFalse(yield* store.finish(attempt, outcome, moment(4)))
    assert.isFalse(yield* store.report(attempt, halfWay, moment(4)))
    assert.isTrue(Option.isNone(yield* store.beginAttempt(document.id, moment(4))))
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(document.id)), completed)
  })

  test("MUST move from processing to error with a sentence", function* () {
    const store = yield* DocumentStore
    const document = yield* insert((yield* openScopes).ofThread)
    const attempt = yield* begin(document, 1)
    assert.isTrue(yield* store.finish(attempt, failed, moment(3)))
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(document.id)), {
      ...document,
      ...failed,
      updatedAt: moment(3),
      processingStartedAt: moment(1),
      processingCompletedAt: moment(3)
    })
    assert.isFalse(yield* store.finish(attempt, done, moment(4)))
  })

  test("MUST refuse an older attempt when a newer one begins", function* () {
    const store = yield* DocumentStore
    const document = yield* insert((yield* openScopes).ofThread)
    const first = yield* begin(document, 1)
    const second = yield* begin(document, 5)
    assert.isAbove(second.number, first.number)
    assert.isFalse(yield* store.report(first, halfWay, moment(6)))
    assert.isFalse(yield* store.finish(first, done, moment(6)))
    assert.isTrue(yield* store.finish(second, failed, moment(7)))
    const { processingStartedAt, status } = Option.getOrThrow(yield* store.get(document.id))
    assert.deepStrictEqual({ processingStartedAt, status }, { processingStartedAt: moment(1), status: "error" })
  })

  test("MUST let only one of several concurrent indexers finish", function* () {
    const store = yield* DocumentStore
    const document = yield* insert((yield* openScopes).ofThread)
    const attempts = yield* Effect.all(
      Array.from({ length: 8 }, () => begin(document)),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(new Set(attempts.map(({ number }) => number)).size, 8)
    const finished = yield* Effect.forEach(attempts, (attempt) => store.finish(attempt, done, moment(2)), {
      concurrency: "unbounded"
    })
    assert.strictEqual(finished.filter(Boolean).length, 1)
  })

  test("MUST remove a document once, and refuse its indexer", function* () {
    const store = yield* DocumentStore
    const document = yield* insert((yield* openScopes).ofThread)
    const attempt = yield* begin(document, 0)
    const removed = Option.getOrThrow(yield* store.remove(document.id))
    assert.deepStrictEqual(removed, { ...document, processingStartedAt: moment(0) })
    assert.isTrue(Option.isNone(yield* store.remove(document.id)))
    assert.isTrue(Option.isNone(yield* store.get(document.id)))
    assert.isFalse(yield* store.finish(attempt, done, moment(2)))
    assert.isTrue(Option.isNone(yield* store.get(document.id)))
  })

  test("MUST remove all documents of a thread, or of an assistant with its threads, and return them", function* () {
    const store = yield* DocumentStore
    const { ofAssistant, ofMessage, ofThread } = yield* openScopes
    const sibling: DocumentScope = {
      _tag: "Thread",
      threadId: (yield* openNewThread(ofAssistant.assistantId)).id
    }
    const others = yield* Effect.forEach(Object.values(yield* openScopes), (scope) => insert(scope))
    const [a, b] = [yield* insert(ofThread), yield* insert(ofMessage, { createdAt: moment(1) })]
    const [c, d] = [
      yield* insert(ofAssistant, { createdAt: moment(2) }),
      yield* insert(sibling, { createdAt: moment(3) })
    ]
    assert.deepStrictEqual(yield* store.list({ within: ofAssistant.assistantId }, firstPage), [a, b, c, d])
    // In any order.
    assert.sameDeepMembers([...(yield* store.removeAll({ threadId: ofThread.threadId }))], [a, b])
    assert.sameDeepMembers([...(yield* store.removeAll({ assistantId: ofAssistant.assistantId }))], [c, d])
    assert.deepStrictEqual(yield* store.removeAll({ assistantId: ofAssistant.assistantId }), [])
    for (const other of others) assert.deepStrictEqual(Option.getOrThrow(yield* store.get(other.id)), other)
  })

  test("MUST remove the documents of a removed thread or assistant", function* () {
    const store = yield* DocumentStore
    const { ofAssistant, ofMessage, ofThread } = yield* openScopes
    const sibling = yield* openNewThread(ofAssistant.assistantId)
    const [a, b] = [yield* insert(ofThread), yield* insert(ofMessage)]
    const [c, d] = [yield* insert(ofAssistant), yield* insert({ _tag: "Thread", threadId: sibling.id })]
    yield* (yield* ThreadStore).remove(ofThread.threadId)
    assert.deepStrictEqual(yield* store.getMany([a.id, b.id, c.id, d.id]), [c, d])
    yield* (yield* AssistantStore).remove(ofAssistant.assistantId)
    assert.deepStrictEqual(yield* store.getMany([a.id, b.id, c.id, d.id]), [])
  })

  test("MUST return the blobs that no document of any owner has", function* () {
    const store = yield* DocumentStore
    const mine = yield* insert((yield* openScopes).ofThread)
    const theirs = yield* asNewOwner(Effect.flatMap(openScopes, ({ ofAssistant }) => insert(ofAssistant)))
    const orphan = yield* newId(BlobId)
    assert.deepStrictEqual(yield* store.blobsWithoutDocument([mine.blobId, orphan, theirs.blobId]), [orphan])
    yield* store.remove(mine.id)
    assert.sameMembers(
      [...(yield* store.blobsWithoutDocument([mine.blobId, orphan, theirs.blobId]))],
      [mine.blobId, orphan]
    )
    assert.deepStrictEqual(yield* store.blobsWithoutDocument([]), [])
  })
}

const halfWay = { statusMessage: "120 of 300 pages", totalTokens: 900, chunkCount: 7 }

const done: IndexingOutcome = {
  status: "completed",
  totalTokens: 1000,
  chunkCount: 8,
  summary: "All about tea.",
  statusMessage: null
}

const failed: IndexingOutcome = { status: "error", statusMessage: "The file is protected by a password." }

/** No runner of follow-ups knows this kind. */
const indexing = "contract.indexing"

const indexingFollowUp = ({ id }: Document) => sampleFollowUp(indexing, { key: id })

/** An assistant of the principal with a thread, and a new message id. */
const openScopes = Effect.gen(function* () {
  const { assistantId, id: threadId } = yield* openThread
  return {
    ofAssistant: { _tag: "Assistant", assistantId },
    ofThread: { _tag: "Thread", threadId },
    ofMessage: { _tag: "Message", threadId, messageId: yield* newId(MessageId) }
  } as const
})

const insert = (scope: DocumentScope, fields: Partial<Document> = {}) =>
  Effect.gen(function* () {
    const document = yield* sampleDocument(scope, fields)
    assert.isTrue(yield* (yield* DocumentStore).insert(document, []))
    return document
  })

const begin = (document: Document, second = 1) =>
  Effect.gen(function* () {
    const started = yield* (yield* DocumentStore).beginAttempt(document.id, moment(second))
    return Option.getOrThrow(started).attempt
  })
