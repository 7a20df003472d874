/**
 * Stores generated media, and reads the inputs of media tools: documents of the thread and of its assistant. The type of a medium is
 * determined by its bytes only, never by a content type or a name, because a provider may send a page of HTML instead of a picture. Used by
 * the parts of turns that make media.
 *
 * The bytes are stored before the record: a process that dies in between leaves a blob without a document, which the search for orphans
 * deletes. A generated medium is never indexed.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import { Principal } from "../access/Principal.ts"
import { BlobStore, type BlobNotFound } from "../documents/BlobStore.ts"
import { type Document, DocumentNotFound, type DocumentScope, unindexedDocument } from "../documents/Document.ts"
import { DocumentStore } from "../documents/DocumentStore.ts"
import { scopesWith, searchScope } from "../documents/DocumentWork.ts"
import { type Quota, Quotas } from "../metering/Quota.ts"
import { QuotaStore } from "../metering/QuotaStore.ts"
import { BlobId, DocumentId, newId, type ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { GeneratedMedia, MediaType } from "./GeneratedMedia.ts"
import { inspectMedia, MediaRefused } from "./InspectMedia.ts"
import { MediaSettings } from "./MediaSettings.ts"

/** Bytes that a model made, and the thread that keeps them. */
export interface NewMedia<E, R> {
  readonly threadId: ThreadId
  readonly mediaType: MediaType
  /** The only accepted type; absent: every type of the kind. */
  readonly mimeType?: string
  readonly bytes: Stream.Stream<Uint8Array, E, R>
  /** Data of the provider's answer, such as the id of a job; stored as the document's metadata. */
  readonly metadata?: Schema.JsonObject
}

export class MediaStorage extends Context.Service<
  MediaStorage,
  {
    /** Before a medium is paid for: fails when the owner has no room for any more. */
    readonly ensureRoom: (mediaType: MediaType) => Effect.Effect<void, MediaRefused | StoreUnavailable, Principal>
    /** Stores the bytes as they arrive. If they are refused, if they fail, or if the thread is deleted, nothing is left. */
    readonly store: <E, R>(
      media: NewMedia<E, R>
    ) => Effect.Effect<GeneratedMedia, E | MediaRefused | ThreadNotFound | StoreUnavailable, R | Principal>
    /** A document of the turn's thread or of its assistant; any other one is not found. */
    readonly find: (
      id: string,
      turn: Pick<LiveTurn, "threadId" | "assistantId">
    ) => Effect.Effect<Document, DocumentNotFound | StoreUnavailable, Principal>
    readonly bytes: (
      document: Pick<Document, "blobId">
    ) => Stream.Stream<Uint8Array, BlobNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/media/MediaStorage") {
  static readonly layer: Layer.Layer<MediaStorage, never, BlobStore | DocumentStore | QuotaStore> = Layer.effect(
    MediaStorage,
    Effect.gen(function* () {
      const blobs = yield* BlobStore
      const documents = yield* DocumentStore
      const { maxSize } = yield* MediaSettings
      const findQuota = yield* Quotas
      const quotas = yield* QuotaStore

      /** It is paid for, so its record is written again while the database is unavailable. A write without an answer may have been done. */
      const insertSurely = (document: Document) => {
        let isRepeat = false
        return Principal.use(({ ownerId }) => {
          const limits = findQuota(ownerId)
          const insert = Effect.suspend(() => {
            const first = !isRepeat
            isRepeat = true
            return first
              ? documents.insert(document, [], limits)
              : Effect.flatMap(documents.get(document.id), (found) =>
                  Option.isSome(found) ? Effect.succeed(true) : documents.insert(document, [], limits)
                )
          })
          return repeatWhileUnavailable(insert, "30 seconds")
        })
      }

      return MediaStorage.of({
        ensureRoom: Effect.fnUntraced(function* (mediaType: MediaType) {
          const quota = findQuota((yield* Principal).ownerId)
          if ((quota.bytes ?? quota.documents) === null) return
          const day = new Date(yield* Clock.currentTimeMillis).toISOString().slice(0, 10)
          const used = yield* quotas.used({
            requestsPerMinute: null,
            turnsPerMinute: null,
            day,
            assistantId: null,
            assumedPrices: null
          })
          const isFull =
            used.bytes >= (quota.bytes ?? Number.POSITIVE_INFINITY) ||
            used.documents >= (quota.documents ?? Number.POSITIVE_INFINITY)
          if (isFull) return yield* noRoom(mediaType, quota)
        }),
        store: tracedFn("MediaStorage.store")(function* <E, R>({
          bytes,
          mediaType,
          metadata,
          mimeType: wanted,
          threadId
        }: NewMedia<E, R>) {
          const inspected = inspectMedia(bytes, mediaType, maxSize[mediaType], wanted)
          const blobId = yield* newId(BlobId)
          const { sha256, size } = yield* blobs.put(blobId, inspected.bytes)
          const { extension, mimeType } = yield* inspected.type
          const at = new Date(yield* Clock.currentTimeMillis)
          const id = yield* newId(DocumentId)
          const filename = `${mediaType}-${id.slice(0, 8)}.${extension}`
          const scope: DocumentScope = { _tag: "Thread", threadId }
          const kept = Object.assign({ generated: true }, metadata)
          const isStored = yield* insertSurely(
            unindexedDocument({ id, scope, filename, extension, mimeType, blobId, size, sha256, metadata: kept }, at)
          )
          if (isStored === true) return { documentId: id, mediaType, mimeType, filename, size }
          yield* blobs.remove(blobId)
          if (isStored !== false) return yield* noRoom(mediaType, findQuota((yield* Principal).ownerId))
          return yield* new ThreadNotFound({ threadId })
        }),
        find: tracedFn("MediaStorage.find")(function* (
          text: string,
          { assistantId, threadId }: Pick<LiveTurn, "threadId" | "assistantId">
        ) {
          const documentId = DocumentId.make(text)
          const found = yield* documents.get(documentId)
          const scopes: ReadonlyArray<string> = scopesWith(assistantId, yield* documents.shelves(threadId))
          if (Option.isSome(found) && scopes.includes(searchScope(found.value.scope))) return found.value
          return yield* new DocumentNotFound({ documentId })
        }),
        bytes: ({ blobId }) => blobs.get(blobId)
      })
    })
  )
}

const noRoom = (mediaType: MediaType, { bytes }: Quota) =>
  Effect.fail(new MediaRefused({ mediaType, reason: "no_room", limit: bytes ?? 0 }))
