/**
 * Use cases of documents: upload, list, get, read, search, delete; and the copies of a clone. An upload is stored and returned at once; a
 * follow-up indexes it (`IndexDocument`). Turns use documents through `DocumentsPart`.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { AssistantId, DocumentId, ThreadId } from "../primitives/Ids.ts"
import type { OverLimit } from "../metering/Quota.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { Chunk } from "../retrieval/Chunk.ts"
import type { ChunkHit } from "../retrieval/ChunkIndex.ts"
import type { WithoutMeaning } from "../retrieval/Retrieval.ts"
import type { Metadata, ThreadNotFound } from "../threads/Thread.ts"
import type { BlobNotFound, ByteRange } from "./BlobStore.ts"
import type { Document, DocumentNotFound, DocumentScope } from "./Document.ts"
import type { AddressedDocument, DocumentSurvey } from "./DocumentStore.ts"
import type { IncomingFile, ReceivedFile } from "./ReceivedFile.ts"
import type { FileRefused } from "./Upload.ts"

/** A file and where it belongs. */
export interface Upload<E, R> extends IncomingFile<E, R> {
  readonly scope: DocumentScope
  readonly metadata?: Metadata
}

/** The id of the assistant or of the thread whose documents are meant. */
export type DocumentScopeId = { readonly assistantId: AssistantId } | { readonly threadId: ThreadId }

/** What to search, where, and how many excerpts to give. */
export interface DocumentSearch {
  /** The search of a thread includes its assistant's documents. */
  readonly scopeId: DocumentScopeId
  readonly query: string
  /** Default: the assistant's `searchLimit`. */
  readonly limit?: number
}

/** A chunk that a search found, with its document and its scores. */
export interface FoundExcerpt extends Pick<ChunkHit, "chunk" | "score" | "lexical" | "semantic"> {
  readonly document: Document
}

/** The excerpts of a search, and what the search has used. */
export interface DocumentsFound {
  /** Best first. */
  readonly excerpts: ReadonlyArray<FoundExcerpt>
  readonly lexicalOnly: WithoutMeaning | null
  readonly usage: Usage
}

export type ScopeNotFound = AssistantNotFound | ThreadNotFound

export class Documents extends Context.Service<
  Documents,
  {
    /** Stores the bytes as they arrive, and then the record. The indexing begins afterwards. */
    readonly upload: <E, R>(
      upload: Upload<E, R>
    ) => Effect.Effect<Document, E | FileRefused | ScopeNotFound | OverLimit | StoreUnavailable, R | Principal>
    /**
     * The first half of an upload: stores the bytes as they arrive, before their document is known. They are deleted when the scope closes,
     * unless `attach` has made a document of them.
     */
    readonly receive: <E, R>(
      file: IncomingFile<E, R>
    ) => Effect.Effect<ReceivedFile, E | FileRefused | StoreUnavailable, R | Principal | Scope.Scope>
    /** The second half: stores the record, under a new id unless one is given. Call it once for each file. */
    readonly attach: (
      file: ReceivedFile,
      scope: DocumentScope,
      metadata?: Metadata,
      id?: DocumentId
    ) => Effect.Effect<Document, ScopeNotFound | OverLimit | StoreUnavailable, Principal>
    /** Those that are being processed, of a thread with its assistant or of an assistant: messages wait for them. Oldest first. */
    readonly unready: (
      scopeId: DocumentScopeId
    ) => Effect.Effect<DocumentSurvey["processing"], ScopeNotFound | StoreUnavailable, Principal>
    /** Fails if the principal has no such assistant or thread. Otherwise an upload would be refused only after all its bytes have arrived. */
    readonly ensureScope: (scopeId: DocumentScopeId) => Effect.Effect<void, ScopeNotFound | StoreUnavailable, Principal>
    readonly get: (id: DocumentId) => Effect.Effect<Document, DocumentNotFound | StoreUnavailable, Principal>
    /** The owner for whom a signed address of this document was made. */
    readonly findAddressed: (id: DocumentId) => Effect.Effect<AddressedDocument, DocumentNotFound | StoreUnavailable>
    /**
     * Signed addresses of a document, or (null) of all documents of the principal, that were written until now are good no more. Returns the
     * moment.
     */
    readonly revokeAddresses: (
      id: DocumentId | null
    ) => Effect.Effect<Date, DocumentNotFound | StoreUnavailable, Principal>
    /** Oldest first. Those of a thread include the attachments of its messages, but not its assistant's documents. */
    readonly list: (
      scopeId: DocumentScopeId,
      page: Page
    ) => Effect.Effect<ReadonlyArray<Document>, ScopeNotFound | StoreUnavailable, Principal>
    /** All documents of the principal, oldest first. */
    readonly listAll: (page: Page) => Effect.Effect<ReadonlyArray<Document>, StoreUnavailable, Principal>
    /** The bytes as they were uploaded, or a range of them. Fails before the first byte when they are deleted. */
    readonly content: (
      id: DocumentId,
      range?: ByteRange
    ) => Effect.Effect<
      {
        readonly document: Document
        readonly bytes: Stream.Stream<Uint8Array, BlobNotFound | StoreUnavailable, Principal>
      },
      DocumentNotFound | BlobNotFound | StoreUnavailable,
      Principal
    >
    readonly chunks: (
      id: DocumentId,
      page: Page
    ) => Effect.Effect<
      { readonly chunks: ReadonlyArray<Chunk>; readonly total: number },
      DocumentNotFound | StoreUnavailable,
      Principal
    >
    /** At most 64 different words of the query are searched for. */
    readonly search: (
      search: DocumentSearch
    ) => Effect.Effect<DocumentsFound, ScopeNotFound | StoreUnavailable, Principal>
    /** A sentence when the query is longer than a search takes, otherwise null. */
    readonly noteOn: (query: string) => string | null
    /** Removes its record, chunks and bytes, and returns the removed record. */
    readonly remove: (id: DocumentId) => Effect.Effect<Document, DocumentNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/documents/Documents") {}
