/**
 * Port: stores records of documents. A document is `processing` from its insertion until one attempt to index it has finished. Each attempt
 * has a number, and a newer attempt ends the rights of older ones: of two indexers only the later one can finish.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, BlobId, DocumentId, MessageId, OwnerId, ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Document } from "./Document.ts"

/** Selects documents. Those of a thread include the attachments of its messages, but not its assistant's documents. */
export type DocumentFilter =
  | { readonly assistantId: AssistantId }
  | { readonly threadId: ThreadId }
  | { readonly messageId: MessageId }

/** The documents of an assistant and of all its threads, which are removed with it. */
export type DocumentListing = DocumentFilter | { readonly within: AssistantId }

/** The right to store the result of an indexing, while no newer attempt has begun. */
export interface Attempt {
  readonly documentId: DocumentId
  /** 1 for the first. */
  readonly number: number
}

export interface AttemptStarted {
  readonly attempt: Attempt
  readonly document: Document
}

export interface Progress {
  readonly statusMessage: string | null
  readonly totalTokens: number | null
  readonly chunkCount: number | null
}

export type IndexingOutcome =
  | {
      readonly status: "completed"
      /** Both null: the file has no words, and nothing of it is in the index. */
      readonly totalTokens: number | null
      readonly chunkCount: number | null
      readonly summary: string | null
      /** What was left out, if anything. */
      readonly statusMessage: string | null
    }
  | { readonly status: "error"; readonly statusMessage: string }

/** What a turn must know before it starts. */
export interface DocumentSurvey {
  readonly completed: number
  /** Oldest first. */
  readonly processing: ReadonlyArray<Pick<Document, "id" | "filename">>
}

export class DocumentStore extends Context.Service<
  DocumentStore,
  {
    /**
     * MUST answer false, and store nothing, when the principal has no such assistant or thread. Stores the record as it is: the copy of a
     * completed document is inserted completed. A message need not exist yet.
     */
    readonly insert: (document: Document) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** Whose it is; none for an unknown id. For a reader whose right is a signature, and whom no owner has asked for. */
    readonly ownerOf: (id: DocumentId) => Effect.Effect<Option.Option<OwnerId>, StoreUnavailable>
    /** MUST answer none for an id that is unknown or another owner's, without a difference. */
    readonly get: (id: DocumentId) => Effect.Effect<Option.Option<Document>, StoreUnavailable, Principal>
    /** MUST give the principal's documents with these ids, oldest first; those that are not there are left out. */
    readonly getMany: (
      ids: ReadonlyArray<DocumentId>
    ) => Effect.Effect<ReadonlyArray<Document>, StoreUnavailable, Principal>
    /** MUST list the principal's documents that are meant, oldest first, stable between pages. */
    readonly list: (
      listing: DocumentListing,
      page: Page
    ) => Effect.Effect<ReadonlyArray<Document>, StoreUnavailable, Principal>
    /** MUST count the completed documents of all these filters together, each once, and name those in processing. */
    readonly survey: (
      filters: ReadonlyArray<DocumentFilter>
    ) => Effect.Effect<DocumentSurvey, StoreUnavailable, Principal>
    /**
     * Begins an attempt to index a document. MUST answer none unless it is `processing`. MUST give every attempt a higher number than all
     * before it. The first one sets `processingStartedAt`.
     */
    readonly beginAttempt: (
      id: DocumentId,
      at: Date
    ) => Effect.Effect<Option.Option<AttemptStarted>, StoreUnavailable, Principal>
    /** MUST answer false, and change nothing, when the document is not `processing` or a newer attempt has begun. */
    readonly report: (
      attempt: Attempt,
      progress: Progress,
      at: Date
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST move the document to the outcome's status and set `processingCompletedAt`; false like `report`. */
    readonly finish: (
      attempt: Attempt,
      outcome: IndexingOutcome,
      at: Date
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST write the summary of a completed document; false, and nothing is changed, for any other. */
    readonly setSummary: (
      id: DocumentId,
      summary: string,
      at: Date
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST delete the record and answer what it was, so that its chunks and its blob can follow. */
    readonly remove: (id: DocumentId) => Effect.Effect<Option.Option<Document>, StoreUnavailable, Principal>
    /**
     * MUST delete the documents of a thread, or of an assistant and all its threads, and answer what they were. The removal of an
     * assistant or a thread deletes its documents in any case; a caller who needs to know which comes here first.
     */
    readonly removeAll: (
      of: { readonly assistantId: AssistantId } | { readonly threadId: ThreadId }
    ) => Effect.Effect<ReadonlyArray<Document>, StoreUnavailable, Principal>
    /** Of these blobs, MUST answer those that no document of any owner has. For the sweep of orphans, which no owner asks for. */
    readonly blobsWithoutDocument: (
      ids: ReadonlyArray<BlobId>
    ) => Effect.Effect<ReadonlyArray<BlobId>, StoreUnavailable>
  }
>()("@colloquy/core/documents/DocumentStore") {}
