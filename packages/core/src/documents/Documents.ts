/**
 * Use cases of documents: upload, list, look at, read, search, delete; the copies of a clone. An upload is stored and answered at once; its indexing is a
 * follow-up (`IndexDocument`). Turns use documents through `documentsPart`. Specification part 2, "Document"; part 4.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import { type Assistant, AssistantNotFound } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { Copies } from "../assistants/Copies.ts"
import { chargeOutside } from "../metering/ChargeOutside.ts"
import { Metering } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import type { EmbeddingModel } from "../models/EmbeddingModel.ts"
import { Providers } from "../models/Provider.ts"
import { type AssistantId, BlobId, DocumentId, newId, type OwnerId, type ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { Chunk } from "../retrieval/Chunking.ts"
import { type ChunkHit, ChunkIndex, scopeOfAssistant, scopeOfThread } from "../retrieval/ChunkIndex.ts"
import { embeddingOf } from "../retrieval/EmbeddingOf.ts"
import { Retrieval, type WithoutMeaning } from "../retrieval/Retrieval.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpStore } from "../runs/FollowUpStore.ts"
import { Removals } from "../threads/Removals.ts"
import { type Metadata, ThreadNotFound } from "../threads/Thread.ts"
import { BlobNotFound, BlobStore, type ByteRange } from "./BlobStore.ts"
import { copyDocument, type Document, DocumentNotFound, type DocumentScope } from "./Document.ts"
import { DocumentLinks } from "./DocumentLinks.ts"
import { DocumentStore } from "./DocumentStore.ts"
import { indexKind, newWork, searchScopeOf, traceOf } from "./DocumentWork.ts"
import { makeNoticing, makeVectorWorker } from "./FillVectors.ts"
import { makeForgetting } from "./ForgetDocuments.ts"
import { makeIndexWorker } from "./IndexDocument.ts"
import type { TextExtractor } from "./TextExtractor.ts"
import { sweepNowAndThen } from "./OrphanedBlobs.ts"
import { makeSummaryWorker } from "./SummarizeDocument.ts"
import { type IncomingFile, makeReceiving, type ReceivedFile } from "./ReceivedFile.ts"
import type { FileRefused } from "./Upload.ts"

export interface Upload<E, R> extends IncomingFile<E, R> {
  readonly scope: DocumentScope
  readonly metadata?: Metadata
}

export type DocumentPlace = { readonly assistantId: AssistantId } | { readonly threadId: ThreadId }

export interface DocumentSearch {
  /** The search of a thread covers its assistant's documents, too. */
  readonly place: DocumentPlace
  readonly query: string
  /** Default: the assistant's `searchLimit`. */
  readonly limit?: number
}

export interface FoundExcerpt extends Pick<ChunkHit, "chunk" | "score" | "lexical" | "semantic"> {
  readonly document: Document
}

export interface DocumentsFound {
  /** Best first. */
  readonly excerpts: ReadonlyArray<FoundExcerpt>
  readonly lexicalOnly: WithoutMeaning | null
  readonly usage: Usage
}

type NoPlace = AssistantNotFound | ThreadNotFound

export class Documents extends Context.Service<
  Documents,
  {
    /** Stores the bytes as they come, and the record. The indexing has not begun then. */
    readonly upload: <E, R>(
      upload: Upload<E, R>
    ) => Effect.Effect<Document, E | FileRefused | NoPlace | StoreUnavailable, R | Principal>
    /**
     * The first half of an upload: stores the bytes as they come, before it is known where they belong. They go when the scope closes,
     * unless `attach` has made a document of them.
     */
    readonly receive: <E, R>(
      file: IncomingFile<E, R>
    ) => Effect.Effect<ReceivedFile, E | FileRefused | StoreUnavailable, R | Principal | Scope.Scope>
    /** The second half: the record. Once for each file. */
    readonly attach: (
      file: ReceivedFile,
      scope: DocumentScope,
      metadata?: Metadata
    ) => Effect.Effect<Document, NoPlace | StoreUnavailable, Principal>
    /** Whether the principal has such a place; what else would refuse an upload after its bytes have come. */
    readonly ensurePlace: (place: DocumentPlace) => Effect.Effect<void, NoPlace | StoreUnavailable, Principal>
    readonly get: (id: DocumentId) => Effect.Effect<Document, DocumentNotFound | StoreUnavailable, Principal>
    /** For whom a signed address of this document was made. */
    readonly ownerOf: (id: DocumentId) => Effect.Effect<OwnerId, DocumentNotFound | StoreUnavailable>
    /** Oldest first. Those of a thread include the attachments of its messages, but not its assistant's. */
    readonly list: (
      place: DocumentPlace,
      page: Page
    ) => Effect.Effect<ReadonlyArray<Document>, NoPlace | StoreUnavailable, Principal>
    /** The bytes as they were uploaded, or a part of them. Fails before the first byte when they are gone. */
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
    readonly search: (search: DocumentSearch) => Effect.Effect<DocumentsFound, NoPlace | StoreUnavailable, Principal>
    /** Its record, chunks and bytes go; answers what it was. */
    readonly remove: (id: DocumentId) => Effect.Effect<Document, DocumentNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/documents/Documents") {
  /** Over `Kernel.layer` and `Retrieval.layer`. Does the follow-ups of documents as long as it is open. */
  static readonly layer: Layer.Layer<
    Documents | DocumentLinks,
    never,
    | AssistantStore
    | BlobStore
    | ChunkIndex
    | Copies
    | DocumentStore
    | EmbeddingModel
    | FollowUps
    | FollowUpStore
    | Providers
    | Removals
    | Retrieval
    | TextExtractor
    | UsageLedger
  > = Layer.effect(
    Documents,
    Effect.gen(function* () {
      const store = yield* DocumentStore
      const blobs = yield* BlobStore
      const index = yield* ChunkIndex
      const assistants = yield* AssistantStore
      const retrieval = yield* Retrieval
      const followUps = yield* FollowUps
      const followUpStore = yield* FollowUpStore
      const { all: providers } = yield* Providers
      const receiving = yield* makeReceiving
      const account = { ledger: yield* UsageLedger, metering: yield* Metering }
      const forgetting = yield* makeForgetting
      yield* (yield* Removals).watch(forgetting.watcher)
      for (const worker of [
        yield* makeIndexWorker,
        yield* makeSummaryWorker,
        yield* makeVectorWorker,
        ...forgetting.workers
      ])
        yield* followUps.register(worker)

      yield* sweepNowAndThen
      const notice = yield* makeNoticing

      const assistantOf = Effect.fnUntraced(function* (
        place: DocumentPlace
      ): Effect.fn.Return<Assistant, NoPlace | StoreUnavailable, Principal> {
        if ("assistantId" in place) {
          const found = yield* assistants.get(place.assistantId)
          return Option.isSome(found) ? found.value : yield* new AssistantNotFound({ assistantId: place.assistantId })
        }
        const found = yield* assistants.ofThread(place.threadId)
        return Option.isSome(found) ? found.value.assistant : yield* new ThreadNotFound({ threadId: place.threadId })
      })

      /**
       * The follow-up comes first: it waits a little for the record, and a record without it would be in processing for ever. The
       * chunks of a copy come between, so that a completed record is never without them.
       */
      const insert = (document: Document, prepare: Effect.Effect<unknown, StoreUnavailable, Principal> = Effect.void) =>
        Effect.gen(function* () {
          yield* followUpStore.add([yield* newWork(indexKind, document.id, traceOf(document))])
          yield* prepare
          const isStored = yield* store.insert(document)
          if (isStored) followUps.wake()
          else yield* blobs.remove(document.blobId)
          return isStored
        }).pipe(Effect.uninterruptible)

      const get = tracedFn("Documents.get")(function* (id: DocumentId) {
        const found = yield* store.get(id)
        return Option.isSome(found) ? found.value : yield* new DocumentNotFound({ documentId: id })
      })

      const attach = tracedFn("Documents.attach")(function* (
        file: ReceivedFile,
        scope: DocumentScope,
        metadata: Metadata | null = null
      ) {
        const { blobId, filename, sha256, size, type } = file
        const at = new Date(yield* Clock.currentTimeMillis)
        const document: Document = {
          id: yield* newId(DocumentId),
          scope,
          filename,
          extension: type.extension,
          mimeType: type.mimeType,
          blobId,
          size,
          sha256,
          status: "processing",
          statusMessage: null,
          summary: null,
          totalTokens: null,
          chunkCount: null,
          metadata,
          createdAt: at,
          updatedAt: at,
          processingStartedAt: null,
          processingCompletedAt: null
        }
        // What becomes of the bytes is told by the record from now on, also when it is not known whether that was stored.
        receiving.take(file)
        if (!(yield* insert(document))) return yield* noPlace(placeOf(scope))
        return document
      })

      const upload = tracedFn("Documents.upload")(function* <E, R>(file: Upload<E, R>) {
        yield* assistantOf(placeOf(file.scope))
        return yield* attach(yield* receiving.receive(file), file.scope, file.metadata)
      }, Effect.scoped)

      const copy = Effect.fnUntraced(function* (source: Document, to: AssistantId) {
        const scope: DocumentScope = { _tag: "Assistant", assistantId: to }
        const [id, blobId, millis] = [yield* newId(DocumentId), yield* newId(BlobId), yield* Clock.currentTimeMillis]
        const document = copyDocument(source, { id, blobId, scope, at: new Date(millis) })
        yield* blobs.put(blobId, blobs.get(source.blobId))
        const from = { documentId: source.id, scope: searchScopeOf(source.scope) }
        return yield* insert(document, index.copy(from, { documentId: id, scope: searchScopeOf(scope) }))
      })

      /** The documents of an assistant with their chunks and vectors: nothing is computed again. */
      const copyAll = tracedFn("Documents.copyAll")(function* (from: AssistantId, to: AssistantId) {
        const sources = yield* forgetting.all({ assistantId: from })
        const copied = yield* Effect.forEach(sources, (source) =>
          // Deleted while the others were copied: there is nothing to copy any more.
          Effect.catchTag(copy(source, to), "BlobNotFound", () => Effect.succeed(false))
        )
        return copied.filter(Boolean).length
      })
      yield* (yield* Copies).register({ name: "documents", copy: copyAll })

      return Documents.of({
        upload,
        receive: receiving.receive,
        attach,
        ensurePlace: (place) => Effect.asVoid(assistantOf(place)).pipe(traced("Documents.ensurePlace")),
        get,
        ownerOf: tracedFn("Documents.ownerOf")(function* (id: DocumentId) {
          const found = yield* store.ownerOf(id)
          return Option.isSome(found) ? found.value : yield* new DocumentNotFound({ documentId: id })
        }),
        list: tracedFn("Documents.list")(function* (place: DocumentPlace, page: Page) {
          yield* assistantOf(place)
          return yield* store.list(place, page)
        }),
        content: tracedFn("Documents.content")(function* (id: DocumentId, range?: ByteRange) {
          const document = yield* get(id)
          const { blobId } = document
          if (Option.isNone(yield* blobs.head(blobId))) return yield* new BlobNotFound({ blobId })
          return { document, bytes: blobs.get(document.blobId, range) }
        }),
        chunks: tracedFn("Documents.chunks")(function* (id: DocumentId, page: Page) {
          const { scope } = yield* get(id)
          return yield* index.chunks({ documentId: id, scope: searchScopeOf(scope) }, page)
        }),
        search: tracedFn("Documents.search")(function* ({ limit, place, query }: DocumentSearch) {
          const assistant = yield* assistantOf(place)
          const embedding = embeddingOf(assistant, providers)
          const { hits, lexicalOnly, usage } = yield* retrieval.search({
            scopes: [scopeOfAssistant(assistant.id), ...("threadId" in place ? [scopeOfThread(place.threadId)] : [])],
            query,
            limit: limit ?? assistant.searchLimit,
            embedding
          })
          if (embedding !== null && lexicalOnly === null) {
            const { model, provider } = embedding
            yield* chargeOutside(account, null, [{ provider, model, purpose: "embedding", usage }])
            yield* notice(assistant.id, embedding, hits)
          }
          const named = yield* store.getMany([...new Set(hits.map(({ documentId }) => documentId))])
          const byId = new Map(named.map((document) => [document.id, document]))
          const excerpts = hits.flatMap(({ chunk, documentId, lexical, score, semantic }) => {
            const document = byId.get(documentId)
            return document?.status === "completed" ? [{ document, chunk, score, lexical, semantic }] : []
          })
          return { excerpts, lexicalOnly, usage }
        }),
        remove: tracedFn("Documents.remove")(function* (id: DocumentId) {
          // Its own follow-up may be quicker than this call, in whatever process.
          const document = yield* get(id)
          yield* forgetting.forget(document)
          return document
        })
      })
    })
  ).pipe(Layer.merge(DocumentLinks.layer))
}

const placeOf = (scope: DocumentScope): DocumentPlace =>
  scope._tag === "Assistant" ? { assistantId: scope.assistantId } : { threadId: scope.threadId }

const noPlace = (place: DocumentPlace) =>
  Effect.fail("threadId" in place ? new ThreadNotFound(place) : new AssistantNotFound(place))
