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
import type { RefusedByLimit, StorageLimits } from "../metering/Quota.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { Document } from "./Document.ts"

/** Selects documents. Those of a thread include the attachments of its messages, but not its assistant's documents. */
export type DocumentFilter =
  | { readonly assistantId: AssistantId }
  | { readonly threadId: ThreadId }
  | { readonly messageId: MessageId }

/** `within`: the documents of an assistant and of all its threads, which are removed with it. `owned`: all of the principal. */
export type DocumentListing = DocumentFilter | { readonly within: AssistantId } | { readonly owned: true }

/** The right to store the result of an indexing, while no newer attempt has begun. */
export interface Attempt {
  readonly documentId: DocumentId
  /** 1 for the first. */
  readonly number: number
}

/** A document with the attempt to index it that has begun. */
export interface AttemptStarted {
  readonly attempt: Attempt
  readonly document: Document
}

/** What is known about a document while it is being indexed. */
export interface Progress {
  readonly statusMessage: string | null
  readonly totalTokens: number | null
  readonly chunkCount: number | null
}

/** How an attempt ended: the document can be searched, or why it cannot. */
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

/** The state of the documents that a turn checks before it starts. */
export interface DocumentSurvey {
  readonly completed: number
  /** Oldest first. */
  readonly processing: ReadonlyArray<Pick<Document, "id" | "filename">>
  /** The sets of documents of the threads among the filters, as `shelves` has them; none of unknown threads. */
  readonly shelves: ReadonlyArray<ThreadId>
}

/** Who owns the document of a signed address, and since when such addresses are void. */
export interface AddressedDocument {
  readonly ownerId: OwnerId
  /** Null: never. */
  readonly revokedAt: Date | null
}

/** What a signed address leads to: the record, and the owner in whose name it is read. */
export interface OwnedDocument {
  readonly ownerId: OwnerId
  readonly document: Document
}

export class DocumentStore extends Context.Service<
  DocumentStore,
  {
    /**
     * MUST store the record and these follow-ups in one transaction, and the follow-ups as `FollowUpStore.add` does. MUST return false, and
     * store nothing, when the principal has no such assistant or thread. Stores the record unchanged: the copy of a completed document is
     * inserted as completed. The message of a document need not exist yet.
     *
     * With limits, a document that would be over one of them MUST be refused, and nothing is stored; of concurrent callers no more than the
     * limits MUST succeed.
     */
    readonly insert: (
      document: Document,
      followUps: ReadonlyArray<NewFollowUp>,
      limits?: StorageLimits | null
    ) => Effect.Effect<boolean | RefusedByLimit, StoreUnavailable, Principal>
    /**
     * The owner of a document, and when its addresses were revoked last; none for an unknown id. For readers with a signed address, where no
     * principal is known.
     */
    readonly findAddressed: (id: DocumentId) => Effect.Effect<Option.Option<AddressedDocument>, StoreUnavailable>
    /**
     * MUST note that addresses of this document, or (null) of all documents of the principal, that were written before `at` are revoked, and
     * return the number of documents.
     */
    readonly revokeAddresses: (id: DocumentId | null, at: Date) => Effect.Effect<number, StoreUnavailable, Principal>
    /** MUST return none both for an unknown id and for another owner's id. */
    readonly get: (id: DocumentId) => Effect.Effect<Option.Option<Document>, StoreUnavailable, Principal>
    /** MUST return the principal's documents with these ids, oldest first; missing ones are left out. */
    readonly getMany: (
      ids: ReadonlyArray<DocumentId>
    ) => Effect.Effect<ReadonlyArray<Document>, StoreUnavailable, Principal>
    /** MUST list the principal's documents that match, oldest first, in an order that is stable between pages. */
    readonly list: (
      listing: DocumentListing,
      page: Page
    ) => Effect.Effect<ReadonlyArray<Document>, StoreUnavailable, Principal>
    /**
     * MUST count the completed documents of all these filters together, each once, and list those in processing. MUST name the sets of
     * documents of the threads among the filters.
     */
    readonly survey: (
      filters: ReadonlyArray<DocumentFilter>
    ) => Effect.Effect<DocumentSurvey, StoreUnavailable, Principal>
    /** MUST return the sets of documents of a thread, in which it shares documents with its forks; of an unknown thread, its own alone. */
    readonly shelves: (threadId: ThreadId) => Effect.Effect<ReadonlyArray<ThreadId>, StoreUnavailable, Principal>
    /**
     * Begins an attempt to index a document. MUST return none unless the document is `processing`. Every attempt MUST get a higher number
     * than all earlier ones. The first one sets `processingStartedAt`.
     */
    readonly beginAttempt: (
      id: DocumentId,
      at: Date
    ) => Effect.Effect<Option.Option<AttemptStarted>, StoreUnavailable, Principal>
    /** MUST return false, and change nothing, when the document is not `processing` or a newer attempt has begun. */
    readonly report: (
      attempt: Attempt,
      progress: Progress,
      at: Date
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST set the document to the outcome's status and set `processingCompletedAt`; false in the same cases as `report`. */
    readonly finish: (
      attempt: Attempt,
      outcome: IndexingOutcome,
      at: Date
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST store the summary of a completed document; for any other, MUST change nothing and return false. */
    readonly setSummary: (
      id: DocumentId,
      summary: string,
      at: Date
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST delete the record and return it, so that its chunks and its blob can be deleted next. */
    readonly remove: (id: DocumentId) => Effect.Effect<Option.Option<Document>, StoreUnavailable, Principal>
    /**
     * MUST delete the documents of a thread that no other thread has, or of an assistant and all its threads, and return them. The removal of an assistant or a
     * thread deletes its documents in any case; a caller that needs the records calls this first.
     */
    readonly removeAll: (
      of: { readonly assistantId: AssistantId } | { readonly threadId: ThreadId }
    ) => Effect.Effect<ReadonlyArray<Document>, StoreUnavailable, Principal>
    /**
     * MUST return documents of all owners that are `processing` although no follow-up of this kind with their id as key is open, oldest
     * first, at most `limit`. For the sweep that orders lost work again, which has no owner.
     */
    readonly unattended: (kind: string, limit: number) => Effect.Effect<ReadonlyArray<OwnedDocument>, StoreUnavailable>
    /** MUST return those of these blobs that no document of any owner has. For the deletion of orphaned blobs, which has no owner. */
    readonly blobsWithoutDocument: (
      ids: ReadonlyArray<BlobId>
    ) => Effect.Effect<ReadonlyArray<BlobId>, StoreUnavailable>
  }
>()("@colloquy/core/documents/DocumentStore") {}
