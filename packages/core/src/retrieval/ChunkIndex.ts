/**
 * Port: stores chunks and searches them. One search ranks them by their terms (BM25 over impacts that `Ranking` fixed at indexing) and by
 * their vectors, if there are any. Memories use the same port: a memory is a document of one chunk in a separate scope.
 *
 * A scope is a set of documents that is searched as a whole; a search covers any number of scopes of the principal.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, DocumentId, ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Chunk } from "./Chunk.ts"
import type { Language } from "./Language.ts"
import type { Impacts } from "./Impacts.ts"

/** A set of documents that is searched as a whole. */
export const SearchScope = Schema.NonEmptyString.pipe(Schema.brand("SearchScope"))
export type SearchScope = typeof SearchScope.Type

/** Where the documents of an assistant are searched. */
export const scopeOfAssistant = (id: AssistantId): SearchScope => SearchScope.make(`assistant:${id}`)
/** Where the documents of a thread are searched, with the attachments of its messages. */
export const scopeOfThread = (id: ThreadId): SearchScope => SearchScope.make(`thread:${id}`)
/** Where the memories of an assistant are searched. */
export const scopeOfMemories = (id: AssistantId): SearchScope => SearchScope.make(`memories:${id}`)

/** A document in the index. The same document may be part of several scopes. */
export interface IndexKey {
  readonly scope: SearchScope
  readonly documentId: DocumentId
}

/** The model of vectors. Vectors of different models or lengths are never compared. */
export interface VectorModel {
  /** Provider and model, `provider/model`. */
  readonly name: string
  /** 1 to 4,000. */
  readonly dimensions: number
}

/** A chunk with the weights of its words. */
export interface IndexedChunk {
  readonly chunk: Chunk
  readonly impacts: Impacts
}

/** All chunks of one document, as the index takes them. */
export interface IndexedDocument extends IndexKey {
  readonly language: Language
  /** Their ordinals count from 0 without gaps. */
  readonly chunks: ReadonlyArray<IndexedChunk>
  /** One vector for each chunk, in order; null: none yet. */
  readonly vectors: { readonly model: VectorModel; readonly values: ReadonlyArray<Float32Array> } | null
}

/** What is searched, by words and by meaning. */
export interface ChunkSearch {
  readonly scopes: ReadonlyArray<SearchScope>
  /** The terms of the question in each language. Terms of a language without documents in the scopes have no effect. */
  readonly terms: ReadonlyMap<Language, ReadonlyArray<string>>
  readonly vector: { readonly model: VectorModel; readonly values: Float32Array } | null
  readonly limit: number
}

/** A chunk that a search found, with its scores. */
export interface ChunkHit extends IndexKey {
  readonly chunk: Chunk
  /** 0 to 1; comparable within one search only. */
  readonly score: number
  /** The BM25 score; null if the chunk has none of the terms. */
  readonly lexical: number | null
  /** The cosine of the vectors; null if the chunk has no vector or is not among the nearest. */
  readonly semantic: number | null
}

/** A chunk that still needs a vector of the model. */
export interface ChunkWithoutVector extends IndexKey {
  /** Identifies the content of the document at the time of reading. */
  readonly revision: string
  readonly chunk: Chunk
}

/** Vectors for chunks that the index has already. */
export interface NewVectors extends IndexKey {
  readonly revision: string
  readonly model: VectorModel
  readonly values: ReadonlyArray<{ readonly ordinal: number; readonly vector: Float32Array }>
}

export class ChunkIndex extends Context.Service<
  ChunkIndex,
  {
    /** Whether vectors are stored. If not, given vectors are ignored, and every search is lexical. */
    readonly keepsVectors: boolean
    /**
     * MUST replace the chunks of this scope and document as a whole: a search sees all of the old chunks or all of the new ones, never a
     * mixture or a part. A put that fails or is interrupted leaves the old chunks. A document without chunks is in the index, and empty.
     */
    readonly put: (document: IndexedDocument) => Effect.Effect<void, StoreUnavailable, Principal>
    /**
     * MUST set the vectors of these chunks and replace older ones. MUST return false, and set nothing, when the document is missing or was
     * put again after the revision was read.
     */
    readonly setVectors: (vectors: NewVectors) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * MUST return at most `limit` chunks of these scopes that have no vector of this model and length, in the order in which their documents
     * were put, then by ordinal; none when vectors are not stored.
     */
    readonly withoutVectors: (
      scopes: ReadonlyArray<SearchScope>,
      model: VectorModel,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ChunkWithoutVector>, StoreUnavailable, Principal>
    /** MUST remove the document with all its chunks and vectors; false when it is missing. */
    readonly remove: (key: IndexKey) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST remove all documents of the scope. */
    readonly removeScope: (scope: SearchScope) => Effect.Effect<void, StoreUnavailable, Principal>
    /** MUST copy a document with its vectors, and replace what the target contains; false when the source is missing. */
    readonly copy: (from: IndexKey, to: IndexKey) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST return the chunks of a document by ordinal, and their total number; none for a document that is missing or another owner's. */
    readonly chunks: (
      key: IndexKey,
      page: Page
    ) => Effect.Effect<{ readonly chunks: ReadonlyArray<Chunk>; readonly total: number }, StoreUnavailable, Principal>
    /**
     * MUST rank the chunks of all the scopes together, best first, as `Ranking` defines it: the lexical score is the sum of impact times
     * `termRarity` over the chunks of these scopes; the best 100 of each rank are joined by `joinRanks`; equal ones are ordered by lexical
     * score, then in the order in which their documents were put, then by ordinal. Scopes that are unknown or another owner's have no
     * chunks. The nearest vectors may be approximate in scopes of more than 10,000 chunks. A chunk without a vector of the search's model
     * is ranked by its terms.
     */
    readonly search: (search: ChunkSearch) => Effect.Effect<ReadonlyArray<ChunkHit>, StoreUnavailable, Principal>
  }
>()("@colloquy/core/retrieval/ChunkIndex") {}
