/**
 * The recording of one answer: its bytes are stored as they arrive, with bounded memory, and become a document of the answer when the
 * speech is over. It begins with the first sound. Used by `Speech`.
 */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { Principal } from "../access/Principal.ts"
import { type BlobNotFound, BlobStore, type StoredBytes } from "../documents/BlobStore.ts"
import { unindexedDocument } from "../documents/Document.ts"
import { DocumentStore } from "../documents/DocumentStore.ts"
import { fileTypeForExtension } from "../documents/FileType.ts"
import { Quotas } from "../metering/Quota.ts"
import { BlobId, DocumentId, newId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { SpeechAudio } from "./SpeechAudio.ts"
import { VoiceSettings } from "./VoiceSettings.ts"

export interface SpeechRecording {
  /** Waits while the store is slow. Bytes that come after a failure of the store are ignored. */
  readonly add: (bytes: Uint8Array) => Effect.Effect<void>
  /** Null: it could not be stored, or its thread is deleted. Never fails, and takes at most `storeTimeout`. */
  readonly finish: Effect.Effect<DocumentId | null>
}

export type BeginRecording = (
  turn: LiveTurn,
  audio: Pick<SpeechAudio, "extension" | "header">
) => Effect.Effect<SpeechRecording, never, Principal>

/** The maximum of pieces that wait for the store. */
const waitingPieces = 32

export const makeSpeechRecordings: Effect.Effect<BeginRecording, never, BlobStore | DocumentStore> = Effect.gen(
  function* () {
    const blobs = yield* BlobStore
    const findQuota = yield* Quotas
    const documents = yield* DocumentStore
    const { storeTimeout } = yield* VoiceSettings

    /** A header with the length can only be written when all bytes are stored. */
    const withHeader = Effect.fnUntraced(function* (
      blobId: BlobId,
      stored: StoredBytes,
      header: Uint8Array | null
    ): Effect.fn.Return<StoredBytes & { readonly blobId: BlobId }, BlobNotFound | StoreUnavailable, Principal> {
      if (header === null) return { blobId, ...stored }
      const whole = yield* newId(BlobId)
      const all = yield* blobs.put(whole, Stream.concat(Stream.make(header), blobs.get(blobId)))
      yield* blobs.remove(blobId)
      return { blobId: whole, ...all }
    })

    const insert = Effect.fnUntraced(function* (
      turn: LiveTurn,
      extension: string,
      file: StoredBytes & { readonly blobId: BlobId }
    ) {
      const id = yield* newId(DocumentId)
      const scope = { _tag: "Message", threadId: turn.threadId, messageId: turn.answerId } as const
      const filename = `speech-${id.slice(0, 8)}.${extension}`
      const mimeType = fileTypeForExtension(extension)?.mimeType ?? "application/octet-stream"
      const at = new Date(yield* Clock.currentTimeMillis)
      const isStored = yield* documents.insert(
        unindexedDocument({ ...file, id, scope, filename, extension, mimeType, metadata: { generated: true } }, at),
        [],
        findQuota((yield* Principal).ownerId)
      )
      if (isStored === true) return id
      yield* blobs.remove(file.blobId)
      return null
    })

    /** In separate fibers, because the turn that waits for them may have been interrupted. */
    const finishInTime = Effect.fnUntraced(function* (
      work: Effect.Effect<DocumentId | null, never, Principal>,
      storing: Fiber.Fiber<unknown, unknown>
    ) {
      const outcome = yield* Deferred.make<DocumentId | null>()
      const working = yield* Effect.forkDetach(Effect.flatMap(work, (id) => Deferred.succeed(outcome, id)))
      const waiting = yield* Effect.forkDetach(
        Effect.andThen(Effect.sleep(storeTimeout), Deferred.succeed(outcome, null))
      )
      const id = yield* Deferred.await(outcome)
      for (const fiber of [working, waiting, storing]) fiber.interruptUnsafe()
      return id
    })

    return Effect.fnUntraced(function* (turn, { extension, header }) {
      const blobId = yield* newId(BlobId)
      const pieces = yield* Queue.bounded<Uint8Array, Cause.Done>(waitingPieces)
      // In a detached fiber, so that a cancelled turn ends the recording properly instead of interrupting it.
      const storing = yield* Effect.forkDetach(
        Effect.onExit(blobs.put(blobId, Stream.fromQueue(pieces)), () => Queue.shutdown(pieces)),
        { startImmediately: true }
      )
      const work = Queue.end(pieces).pipe(
        Effect.andThen(Fiber.join(storing)),
        Effect.flatMap((stored) => withHeader(blobId, stored, header(stored.size))),
        Effect.flatMap((file) => insert(turn, extension, file)),
        Effect.catchCause((cause) =>
          Effect.as(Effect.logWarning(`The speech of run ${turn.runId} could not be stored`, cause), null)
        )
      )
      const context = yield* Effect.context<Principal>()
      const finish = Effect.provideContext(finishInTime(work, storing), context)
      return { add: (bytes) => Effect.asVoid(Queue.offer(pieces, bytes)), finish }
    })
  }
)
