/**
 * The follow-ups of documents. Each is stored with the step that orders it or before the step that it protects, so that a crash leaves no
 * document without its indexing, and no chunks or bytes without their document:
 *
 * | kind | stored | does |
 * |---|---|---|
 * | `documents.index` | with the record, in one transaction | indexes the document; without a record, removes its chunks |
 * | `documents.summarize` | before the outcome of the indexing is stored | writes a summary, if the host wants one |
 * | `documents.vectors` | after a search | adds vectors that the search found missing |
 * | `documents.forget` | before records are removed | removes the records, their chunks and their bytes |
 * | `documents.clear` | before a thread or an assistant is removed | removes chunks and bytes of its documents |
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type AssistantId, BlobId, DocumentId, type ThreadId } from "../primitives/Ids.ts"
import { scopeOfAssistant, scopeOfThread, SearchScope } from "../retrieval/ChunkIndex.ts"
import { type NewFollowUp, newFollowUp } from "../runs/FollowUp.ts"
import type { Document, DocumentScope } from "./Document.ts"

export const indexKind = "documents.index"
export const summarizeKind = "documents.summarize"
export const forgetKind = "documents.forget"
export const clearKind = "documents.clear"

/** The data that finds everything of a document when its record is gone. */
export const DocumentTrace = Schema.Struct({ documentId: DocumentId, scope: SearchScope, blobId: BlobId })
export type DocumentTrace = typeof DocumentTrace.Type

/** The search scope of a document. Attachments of messages belong to the scope of their thread. */
export const searchScope = (scope: DocumentScope): SearchScope =>
  scope._tag === "Assistant" ? scopeOfAssistant(scope.assistantId) : scopeOfThread(scope.shelf ?? scope.threadId)

/** The search scopes of a turn or a search: those of the assistant and, with its sets of documents, of the thread. */
export const scopesWith = (assistantId: AssistantId, shelves: ReadonlyArray<ThreadId>): ReadonlyArray<SearchScope> => [
  scopeOfAssistant(assistantId),
  ...shelves.map(scopeOfThread)
]

export const documentTrace = ({ blobId, id, scope }: Document): DocumentTrace => ({
  documentId: id,
  scope: searchScope(scope),
  blobId
})

/** The indexing of a document. A document of a thread is urgent, because messages of the thread wait for it. */
export const newIndexing = (document: Document): Effect.Effect<NewFollowUp> =>
  Effect.map(newFollowUp({ kind: indexKind, key: document.id, payload: documentTrace(document) }), (work) => ({
    ...work,
    isUrgent: document.scope._tag !== "Assistant"
  }))

/** The name of this part of turns, of its options and of its supplements. */
export const documentsPartName = "documents"
