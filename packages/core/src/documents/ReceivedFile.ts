/**
 * A file whose bytes are stored but which is no document yet: it arrived before its scope was known, or before its request was checked. Its
 * bytes are deleted with the scope in which it was received, unless a document has been made of it.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import { BlobId, newId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { BlobStore } from "./BlobStore.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import { decideFileType, type FileType, type UploadPurpose } from "./FileType.ts"
import { type FileRefused, inspectUpload } from "./Upload.ts"

/** A file as a stream of its bytes. */
export interface IncomingFile<E, R> {
  readonly filename: string
  readonly bytes: Stream.Stream<Uint8Array, E, R>
  /** Default: `document`. */
  readonly purpose?: UploadPurpose
}

export interface ReceivedFile {
  readonly blobId: BlobId
  readonly filename: string
  readonly type: FileType
  readonly size: number
  readonly sha256: string
}

export interface Receiving {
  readonly receive: <E, R>(
    file: IncomingFile<E, R>
  ) => Effect.Effect<ReceivedFile, E | FileRefused | StoreUnavailable, R | Principal | Scope.Scope>
  /** From now on the end of the scope does not delete the bytes. */
  readonly take: (file: ReceivedFile) => void
}

export const makeReceiving: Effect.Effect<Receiving, never, BlobStore> = Effect.gen(function* () {
  const blobs = yield* BlobStore
  const { maxFileSize } = yield* DocumentSettings
  const taken = new WeakSet<ReceivedFile>()

  const stored = Effect.fnUntraced(function* <E, R>(file: IncomingFile<E, R>) {
    const { filename, purpose = "document" } = file
    const inspected = inspectUpload(file, maxFileSize, (head) => decideFileType(filename, head, purpose))
    const blobId = yield* newId(BlobId)
    const { sha256, size } = yield* blobs.put(blobId, inspected.bytes)
    const received: ReceivedFile = { blobId, filename, type: yield* inspected.type, size, sha256 }
    return received
  })

  /** If the deletion fails, the search for orphans deletes the bytes later. */
  const discard = (file: ReceivedFile) =>
    Effect.suspend(() => (taken.has(file) ? Effect.void : Effect.ignore(blobs.remove(file.blobId))))

  return {
    receive: (file) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.tap(restore(stored(file)), (received) => Effect.addFinalizer(() => discard(received)))
      ),
    take: (file) => {
      taken.add(file)
    }
  }
})
