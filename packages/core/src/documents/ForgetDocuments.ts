/**
 * The removal of documents: their records, chunks and bytes. The caller removes the records and, for a short time, chunks and bytes; the
 * follow-up that was stored before removes what is left then, or after a crash. It is done when the stores say that nothing is left. Every
 * step may be repeated.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { DocumentId } from "../primitives/Ids.ts"
import { maximumLimit } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { ChunkIndex } from "../retrieval/ChunkIndex.ts"
import { newFollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { typedWorker } from "../runs/FollowUpWorker.ts"
import type { Eraser } from "../owners/Erasures.ts"
import type { RemovalWatcher } from "../threads/Removals.ts"
import { BlobStore } from "./BlobStore.ts"
import type { Document } from "./Document.ts"
import { type DocumentListing, DocumentStore } from "./DocumentStore.ts"
import { clearKind, DocumentTrace, forgetKind, documentTrace } from "./DocumentWork.ts"

const Traces = Schema.Array(DocumentTrace)

/** How long a caller waits for chunks and bytes. Those of usual documents are gone by then. */
const patience = "2 seconds"

/** If a removal has not happened after this time, it will not happen: the records still exist, and are kept. */
const removalMillis = 60_000

const erasedAtOnce = 20

export const makeForgetting = Effect.gen(function* () {
  const documents = yield* DocumentStore
  const blobs = yield* BlobStore
  const index = yield* ChunkIndex
  const followUps = yield* FollowUps

  /** Removes chunks and bytes whose records are gone, one document after the other, so that others use the stores too. */
  const removeLeftovers = (traces: ReadonlyArray<DocumentTrace>): Effect.Effect<void, StoreUnavailable, Principal> =>
    Effect.forEach(
      traces,
      ({ blobId, documentId, scope }) =>
        Effect.all([index.remove({ documentId, scope }), blobs.remove(blobId)], { discard: true }),
      { discard: true }
    )

  /** For the caller, who does not wait for all of a large document. */
  const removeSome = (traces: ReadonlyArray<DocumentTrace>) =>
    Effect.asVoid(Effect.timeoutOption(removeLeftovers(traces), patience))

  const forget = Effect.fnUntraced(function* (document: Document) {
    const trace = documentTrace(document)
    yield* followUps.add([yield* newFollowUp({ kind: forgetKind, key: document.id, payload: [trace] })])
    yield* documents.remove(document.id)
    yield* removeSome([trace])
  })

  const forgetWorker = typedWorker({
    // No record waits: the follow-up is stored before the record is removed.
    kind: forgetKind,
    payload: Traces,
    run: Effect.fnUntraced(function* (traces) {
      yield* Effect.forEach(traces, ({ documentId }) => documents.remove(documentId), { concurrency: 4 })
      yield* removeLeftovers(traces)
    })
  })

  const all = (
    listing: DocumentListing,
    skip = 0
  ): Effect.Effect<ReadonlyArray<Document>, StoreUnavailable, Principal> =>
    Effect.flatMap(documents.list(listing, { skip, limit: maximumLimit }), (page) =>
      page.length < maximumLimit
        ? Effect.succeed(page)
        : Effect.map(all(listing, skip + maximumLimit), (rest) => [...page, ...rest])
    )

  const watcher: RemovalWatcher = Effect.fnUntraced(function* (removed) {
    const found = yield* all("threadId" in removed ? removed : { within: removed.assistantId })
    if (found.length === 0) return Effect.void
    const traces = found.map(documentTrace)
    const work = yield* newFollowUp({ kind: clearKind, key: "", payload: traces })
    yield* followUps.add([{ ...work, key: work.id, delayMillis: removalMillis }])
    return Effect.flatMap(findGone(traces), removeSome)
  })

  /** Documents that another thread has are there after the removal. */
  const findGone = Effect.fnUntraced(function* (traces: ReadonlyArray<DocumentTrace>) {
    const there = new Set<DocumentId>(
      (yield* documents.getMany(traces.map(({ documentId }) => documentId))).map(({ id }) => id)
    )
    return traces.filter(({ documentId }) => !there.has(documentId))
  })

  const clearWorker = typedWorker({
    // No record waits: the follow-up is stored before the thread or the assistant is removed.
    kind: clearKind,
    payload: Traces,
    run: (traces) => Effect.flatMap(findGone(traces), removeLeftovers)
  })

  /** Removes some documents of the principal, with chunks and bytes. */
  const eraser: Eraser = Effect.gen(function* () {
    const some = yield* documents.list({ owned: true }, { skip: 0, limit: erasedAtOnce })
    yield* Effect.forEach(
      some,
      (document) => Effect.andThen(removeLeftovers([documentTrace(document)]), documents.remove(document.id)),
      { discard: true }
    )
    return some.length
  })

  return { forget, eraser, watcher, workers: [forgetWorker, clearWorker], all }
})
