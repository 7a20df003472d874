/** What an attempt to index a document writes into its record, with what follows from it: a summary, an event, the removal of its chunks. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ChunkIndex } from "../retrieval/ChunkIndex.ts"
import { newFollowUp } from "../runs/FollowUp.ts"
import { FollowUpStore } from "../runs/FollowUpStore.ts"
import { FollowUpFailed } from "../runs/FollowUpWorker.ts"
import { OwnerEvents } from "../runs/OwnerEvents.ts"
import type { Document } from "./Document.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import { type Attempt, DocumentStore, type IndexingOutcome, type Progress } from "./DocumentStore.ts"
import {
  type DocumentTrace,
  documentTrace,
  indexKind,
  newIndexing,
  searchScope,
  summarizeKind
} from "./DocumentWork.ts"
import { indexedEvent } from "./IndexedEvent.ts"

/** Another attempt took over, or the document was deleted, so this attempt stops. */
export class Superseded extends Schema.TaggedError<Superseded>()("Superseded", {}) {}

/** How many documents one sweep orders again. The next sweep finds the others. */
const sweptAtOnce = 1000

const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

export const makeIndexingRecord = Effect.gen(function* () {
  const documents = yield* DocumentStore
  const index = yield* ChunkIndex
  const followUps = yield* FollowUpStore
  const events = yield* OwnerEvents
  const { summaries } = yield* DocumentSettings

  const removeChunks = ({ id, scope }: Document) =>
    Effect.asVoid(index.remove({ documentId: id, scope: searchScope(scope) }))

  /** The attempt is repeated when its process dies before this: the document has ended then, and it is told in `notStarted`. */
  const tellEnd = Effect.fnUntraced(function* (id: Document["id"]) {
    const ended = Option.getOrUndefined(yield* documents.get(id))
    const event = ended && (yield* events.order(indexedEvent(ended)))
    if (event != null) yield* followUps.add([event])
  })

  return {
    begin: ({ documentId }: DocumentTrace) => Effect.flatMap(now, (at) => documents.beginAttempt(documentId, at)),

    report: Effect.fnUntraced(function* (attempt: Attempt, progress: Progress) {
      if (!(yield* documents.report(attempt, progress, yield* now))) return yield* new Superseded()
    }),

    finish: Effect.fnUntraced(function* (attempt: Attempt, document: Document, outcome: IndexingOutcome) {
      if (summaries !== null && outcome.status === "completed" && (outcome.chunkCount ?? 0) > 0) {
        yield* followUps.add([
          yield* newFollowUp({ kind: summarizeKind, key: document.id, payload: documentTrace(document) })
        ])
      }
      if (yield* documents.finish(attempt, outcome, yield* now)) {
        if (outcome.status === "error") yield* removeChunks(document)
        return yield* tellEnd(document.id)
      }
      // The document was deleted or finished meanwhile, so the chunks of this attempt are removed.
      const found = yield* documents.get(document.id)
      if (Option.isNone(found) || found.value.status === "error") yield* removeChunks(document)
    }),

    /** There is nothing to index: the document was indexed before, or deleted. */
    notStarted: Effect.fnUntraced(function* ({ documentId, scope }: DocumentTrace) {
      const status = Option.getOrNull(yield* documents.get(documentId))?.status
      if (status === "completed") return yield* tellEnd(documentId)
      if (status !== "processing") {
        yield* index.remove({ documentId, scope })
        return yield* tellEnd(documentId)
      }
      // The record came after the look of this attempt. Its work is still to be done.
      return yield* new FollowUpFailed({ message: "The document came meanwhile.", isRetryable: true, isOutage: true })
    }),

    /** Documents that wait for an indexing that nobody has ordered. */
    lost: Effect.flatMap(documents.unattended(indexKind, sweptAtOnce), (unattended) =>
      Effect.forEach(unattended, ({ document, ownerId }) =>
        Effect.map(newIndexing(document), (followUp) => ({ ownerId, followUp }))
      )
    )
  }
})
export type IndexingRecord = Effect.Success<typeof makeIndexingRecord>
