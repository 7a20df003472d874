/**
 * The use cases of documents, implemented over their stores. The layer also runs the follow-ups of documents while it is open, and
 * registers the copier and the removal watcher of documents.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { AuditLog } from "../access/AuditLog.ts"
import { Principal } from "../access/Principal.ts"
import { type Assistant, AssistantNotFound } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { Copies } from "../assistants/Copies.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { Metering } from "../metering/Metering.ts"
import { overLimit, Quotas } from "../metering/Quota.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { EmbeddingModel } from "../models/EmbeddingModel.ts"
import { Providers } from "../models/Provider.ts"
import { type AssistantId, BlobId, DocumentId, newId } from "../primitives/Ids.ts"
import { Erasures } from "../owners/Erasures.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import { ChunkIndex } from "../retrieval/ChunkIndex.ts"
import { assistantEmbedding } from "../retrieval/AssistantEmbedding.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import { noteOnQuery } from "../retrieval/Terms.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { FollowUpStore } from "../runs/FollowUpStore.ts"
import type { OwnerEvents } from "../runs/OwnerEvents.ts"
import { Removals } from "../threads/Removals.ts"
import { type Metadata, ThreadNotFound } from "../threads/Thread.ts"
import { BlobNotFound, BlobStore, type ByteRange } from "./BlobStore.ts"
import { copyDocument, type Document, DocumentNotFound, type DocumentScope } from "./Document.ts"
import { DocumentLinks } from "./DocumentLinks.ts"
import { DocumentStore } from "./DocumentStore.ts"
import { newIndexing, scopesWith, searchScope } from "./DocumentWork.ts"
import { makeNoticing, makeVectorWorker } from "./FillVectors.ts"
import { makeForgetting } from "./ForgetDocuments.ts"
import { makeIndexWorker } from "./IndexDocument.ts"
import type { TextExtractor } from "./TextExtractor.ts"
import { sweepPeriodically } from "./OrphanedBlobs.ts"
import { makeSummaryWorker } from "./SummarizeDocument.ts"
import { makeReceiving, type ReceivedFile } from "./ReceivedFile.ts"

import { type DocumentScopeId, Documents, type DocumentSearch, type ScopeNotFound, type Upload } from "./Documents.ts"

/** Over `Kernel.layer` and `Retrieval.layer`. */
export const documentsLayer: Layer.Layer<
  Documents | DocumentLinks,
  never,
  | AssistantStore
  | BlobStore
  | ChunkIndex
  | Copies
  | DocumentStore
  | Erasures
  | FollowUps
  | FollowUpStore
  | OwnerEvents
  | Providers
  | QuotaStore
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
    const { all: providers } = yield* Providers
    const receiving = yield* makeReceiving
    const account = { ledger: yield* UsageLedger, metering: yield* Metering }
    const findQuota = yield* Quotas
    const audit = yield* AuditLog.make
    const forgetting = yield* makeForgetting
    yield* (yield* Removals).watch(forgetting.watcher)
    yield* (yield* Erasures).register(forgetting.eraser)
    for (const worker of [
      yield* makeIndexWorker,
      yield* makeSummaryWorker,
      yield* makeVectorWorker,
      ...forgetting.workers
    ])
      yield* followUps.register(worker)

    yield* sweepPeriodically
    const notice = yield* makeNoticing

    const findAssistant = Effect.fnUntraced(function* (
      scopeId: DocumentScopeId
    ): Effect.fn.Return<Assistant, ScopeNotFound | StoreUnavailable, Principal> {
      if ("assistantId" in scopeId) {
        const found = yield* assistants.get(scopeId.assistantId)
        return Option.isSome(found) ? found.value : yield* new AssistantNotFound({ assistantId: scopeId.assistantId })
      }
      const found = yield* assistants.ofThread(scopeId.threadId)
      return Option.isSome(found) ? found.value.assistant : yield* new ThreadNotFound({ threadId: scopeId.threadId })
    })

    /** Without its follow-up a record would stay in processing for ever, so both are stored together. */
    const insert = Effect.fnUntraced(function* (document: Document) {
      const { ownerId } = yield* Principal
      const quota = findQuota(ownerId)
      const work = document.status === "processing" ? [yield* newIndexing(document)] : []
      const stored = yield* store.insert(document, work, quota)
      if (stored === true) followUps.wake()
      else yield* blobs.remove(document.blobId)
      if (typeof stored === "boolean") return stored
      return yield* overLimit(stored.refusal, quota, yield* Clock.currentTimeMillis)
    }, Effect.uninterruptible)

    const get = tracedFn("Documents.get")(function* (id: DocumentId) {
      const found = yield* store.get(id)
      return Option.isSome(found) ? found.value : yield* new DocumentNotFound({ documentId: id })
    })

    const attach = tracedFn("Documents.attach")(function* (
      file: ReceivedFile,
      scope: DocumentScope,
      metadata: Metadata | null = null,
      id?: DocumentId
    ) {
      const { blobId, filename, sha256, size, type } = file
      const at = new Date(yield* Clock.currentTimeMillis)
      const document: Document = {
        id: id ?? (yield* newId(DocumentId)),
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
      // From now on the record determines what happens to the bytes, also when it is unknown whether the record was stored.
      receiving.take(file)
      if (!(yield* insert(document))) return yield* scopeNotFound(toScopeId(scope))
      return document
    })

    const upload = tracedFn("Documents.upload")(function* <E, R>(file: Upload<E, R>) {
      yield* findAssistant(toScopeId(file.scope))
      return yield* attach(yield* receiving.receive(file), file.scope, file.metadata)
    }, Effect.scoped)

    const copy = Effect.fnUntraced(function* (source: Document, to: AssistantId) {
      const scope: DocumentScope = { _tag: "Assistant", assistantId: to }
      const [id, blobId, millis] = [yield* newId(DocumentId), yield* newId(BlobId), yield* Clock.currentTimeMillis]
      const document = copyDocument(source, { id, blobId, scope, at: new Date(millis) })
      yield* blobs.put(blobId, blobs.get(source.blobId))
      const from = { documentId: source.id, scope: searchScope(source.scope) }
      // Nobody sees the record before its chunks: the clone is a draft until all is copied, and a draft is removed with its documents.
      if (!(yield* insert(document))) return false
      if (document.status !== "completed" || document.chunkCount === null) return true
      if (yield* index.copy(from, { documentId: id, scope: searchScope(scope) })) return true
      // The source was deleted after its bytes were read.
      yield* forgetting.forget(document)
      return false
    })

    /** Copies the documents of an assistant with their chunks and vectors; nothing is computed again. */
    const copyAll = tracedFn("Documents.copyAll")(function* (from: AssistantId, to: AssistantId) {
      const sources = yield* forgetting.all({ assistantId: from })
      const copied = yield* Effect.forEach(sources, (source) =>
        // The document was deleted while others were copied, so there is nothing to copy.
        Effect.catchTag(copy(source, to), "BlobNotFound", () => Effect.succeed(false))
      )
      return copied.filter(Boolean).length
    })
    yield* (yield* Copies).register({ name: "documents", copy: copyAll })

    return Documents.of({
      upload,
      receive: receiving.receive,
      attach,
      unready: tracedFn("Documents.unready")(function* (scopeId: DocumentScopeId) {
        const { id } = yield* findAssistant(scopeId)
        const { processing } = yield* store.survey([{ assistantId: id }, ...("threadId" in scopeId ? [scopeId] : [])])
        return processing
      }),
      ensureScope: (scopeId) => Effect.asVoid(findAssistant(scopeId)).pipe(traced("Documents.ensureScope")),
      get,
      findAddressed: tracedFn("Documents.findAddressed")(function* (id: DocumentId) {
        const found = yield* store.findAddressed(id)
        return Option.isSome(found) ? found.value : yield* new DocumentNotFound({ documentId: id })
      }),
      revokeAddresses: tracedFn("Documents.revokeAddresses")(function* (id: DocumentId | null) {
        const at = new Date(yield* Clock.currentTimeMillis)
        if (id !== null) yield* get(id)
        yield* audit.record("addresses_revoked", id ?? (yield* Principal).ownerId)
        yield* store.revokeAddresses(id, at)
        return at
      }),
      list: tracedFn("Documents.list")(function* (scopeId: DocumentScopeId, page: Page) {
        yield* findAssistant(scopeId)
        return yield* store.list(scopeId, page)
      }),
      listAll: (page) => store.list({ owned: true }, page).pipe(traced("Documents.listAll")),
      content: tracedFn("Documents.content")(function* (id: DocumentId, range?: ByteRange) {
        const document = yield* get(id)
        const { blobId } = document
        if (Option.isNone(yield* blobs.head(blobId))) return yield* new BlobNotFound({ blobId })
        return { document, bytes: blobs.get(document.blobId, range) }
      }),
      chunks: tracedFn("Documents.chunks")(function* (id: DocumentId, page: Page) {
        const { scope } = yield* get(id)
        return yield* index.chunks({ documentId: id, scope: searchScope(scope) }, page)
      }),
      search: tracedFn("Documents.search")(function* ({ limit, scopeId, query }: DocumentSearch) {
        const assistant = yield* findAssistant(scopeId)
        const embedding = assistantEmbedding(assistant, providers)
        const { hits, lexicalOnly, usage } = yield* retrieval.search({
          scopes: scopesWith(assistant.id, "threadId" in scopeId ? yield* store.shelves(scopeId.threadId) : []),
          query,
          limit: limit ?? assistant.searchLimit,
          embedding,
          beginCharge: beginOutside(account, { runId: null, assistantId: assistant.id })
        })
        if (embedding !== null && lexicalOnly === null) yield* notice(assistant.id, embedding, hits)
        const named = yield* store.getMany([...new Set(hits.map(({ documentId }) => documentId))])
        const byId = new Map(named.map((document) => [document.id, document]))
        const excerpts = hits.flatMap(({ chunk, documentId, lexical, score, semantic }) => {
          const document = byId.get(documentId)
          return document?.status === "completed" ? [{ document, chunk, score, lexical, semantic }] : []
        })
        return { excerpts, lexicalOnly, usage }
      }),
      noteOn: noteOnQuery,
      remove: tracedFn("Documents.remove")(function* (id: DocumentId) {
        // The follow-up may run before this call has finished, in any process.
        const document = yield* get(id)
        yield* forgetting.forget(document)
        return document
      })
    })
  })
).pipe(Layer.provide(EmbeddingModel.layer), Layer.merge(DocumentLinks.layer))

const toScopeId = (scope: DocumentScope): DocumentScopeId =>
  scope._tag === "Assistant" ? { assistantId: scope.assistantId } : { threadId: scope.threadId }

const scopeNotFound = (scopeId: DocumentScopeId) =>
  Effect.fail("threadId" in scopeId ? new ThreadNotFound(scopeId) : new AssistantNotFound(scopeId))
