/**
 * Where generated media go, and where media tools take their inputs from: documents of the thread and of its assistant. What a provider
 * sends is believed by its bytes alone, never by a content type or a name: a page of HTML is no picture. Used by the parts of turns that
 * make media.
 *
 * The bytes are stored before the record: a process that dies between the two leaves a blob that no document has, which the sweep of
 * orphans deletes. A generated medium is no text: it is never indexed, and counts as nothing to search.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import { BlobStore, type BlobNotFound } from "../documents/BlobStore.ts"
import { type Document, DocumentNotFound, type DocumentScope, unindexedDocument } from "../documents/Document.ts"
import { DocumentStore } from "../documents/DocumentStore.ts"
import { searchScopeOf } from "../documents/DocumentWork.ts"
import { BlobId, DocumentId, newId, type ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { scopeOfAssistant, scopeOfThread } from "../retrieval/ChunkIndex.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { GeneratedMedia, MediaType } from "./GeneratedMedia.ts"
import { inspectMedia, type MediaRefused } from "./InspectMedia.ts"
import { MediaSettings } from "./MediaSettings.ts"

export interface NewMedia<E, R> {
  readonly threadId: ThreadId
  readonly mediaType: MediaType
  /** The only type that will do; absent: every one of the kind. */
  readonly mimeType?: string
  readonly bytes: Stream.Stream<Uint8Array, E, R>
  /** Of the provider's answer, such as a job's id; kept as the document's metadata. */
  readonly metadata?: Schema.JsonObject
}

export class MediaStorage extends Context.Service<
  MediaStorage,
  {
    /** Stores the bytes as they come. Nothing is left behind when they are refused, when they fail, or when the thread is gone. */
    readonly store: <E, R>(
      media: NewMedia<E, R>
    ) => Effect.Effect<GeneratedMedia, E | MediaRefused | ThreadNotFound | StoreUnavailable, R | Principal>
    /** A document of the turn's thread or of its assistant; every other one is not found. */
    readonly find: (
      id: string,
      turn: Pick<LiveTurn, "threadId" | "assistantId">
    ) => Effect.Effect<Document, DocumentNotFound | StoreUnavailable, Principal>
    readonly bytes: (
      document: Pick<Document, "blobId">
    ) => Stream.Stream<Uint8Array, BlobNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/media/MediaStorage") {
  static readonly layer: Layer.Layer<MediaStorage, never, BlobStore | DocumentStore> = Layer.effect(
    MediaStorage,
    Effect.gen(function* () {
      const blobs = yield* BlobStore
      const documents = yield* DocumentStore
      const { maxSize } = yield* MediaSettings

      return MediaStorage.of({
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
          const isStored = yield* documents.insert(
            unindexedDocument({ id, scope, filename, extension, mimeType, blobId, size, sha256, metadata: kept }, at)
          )
          if (isStored) return { documentId: id, mediaType, mimeType, filename, size }
          yield* blobs.remove(blobId)
          return yield* new ThreadNotFound({ threadId })
        }),
        find: tracedFn("MediaStorage.find")(function* (
          text: string,
          { assistantId, threadId }: Pick<LiveTurn, "threadId" | "assistantId">
        ) {
          const documentId = DocumentId.make(text)
          const found = yield* documents.get(documentId)
          const scopes: ReadonlyArray<string> = [scopeOfThread(threadId), scopeOfAssistant(assistantId)]
          if (Option.isSome(found) && scopes.includes(searchScopeOf(found.value.scope))) return found.value
          return yield* new DocumentNotFound({ documentId })
        }),
        bytes: ({ blobId }) => blobs.get(blobId)
      })
    })
  )
}
