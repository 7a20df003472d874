/**
 * Port: stores the bytes of documents as they were uploaded. Bytes are read and written as streams, so that no file is completely in
 * memory. A blob is identified by its owner and its id; file names are not used here. Records about files are in `DocumentStore`.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import { BlobId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** Size and hash of the stored bytes. */
export interface StoredBytes {
  readonly size: number
  /** Hash of all bytes, in lower case hexadecimal. */
  readonly sha256: string
}

/** A part of a blob: `length` bytes from `offset` on. Bytes after the end are left out. */
export interface ByteRange {
  readonly offset: number
  readonly length: number
}

/** The store has no bytes under this id. */
export class BlobNotFound extends Schema.TaggedError<BlobNotFound>()("BlobNotFound", { blobId: BlobId }) {
  override get message() {
    return `There is no blob ${this.blobId}.`
  }
}

export class BlobStore extends Context.Service<
  BlobStore,
  {
    /**
     * MUST store all bytes of the stream in order, and make none of them readable before the last one is stored. When the stream fails or
     * the caller is interrupted, MUST store nothing and leave nothing behind. A store outside of this process holds only a few pieces in
     * memory. A new blob has a new id; an id that exists is a defect.
     */
    readonly put: <E, R>(
      id: BlobId,
      bytes: Stream.Stream<Uint8Array, E, R>
    ) => Effect.Effect<StoredBytes, E | StoreUnavailable, R | Principal>
    /** MUST return none both for an unknown id and for another owner's id. */
    readonly head: (id: BlobId) => Effect.Effect<Option.Option<{ readonly size: number }>, StoreUnavailable, Principal>
    /**
     * MUST return the bytes as they were put, or those of the range. MUST fail with `BlobNotFound` before the first byte for an id that is
     * unknown or another owner's. When the blob is removed meanwhile and cannot be read to its end, MUST fail instead of ending early.
     */
    readonly get: (
      id: BlobId,
      range?: ByteRange
    ) => Stream.Stream<Uint8Array, BlobNotFound | StoreUnavailable, Principal>
    /** MUST delete all bytes; false when there are none. */
    readonly remove: (id: BlobId) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * Passes the blobs of all owners that were stored before a time to `unneeded`, in groups, and MUST delete exactly those that it
     * returns. A store that keeps unfinished uploads deletes those that began before that time, because their process died. Returns how
     * many blobs were deleted.
     */
    readonly sweep: <E, R>(
      before: Date,
      unneeded: (ids: ReadonlyArray<BlobId>) => Effect.Effect<ReadonlyArray<BlobId>, E, R>
    ) => Effect.Effect<number, E | StoreUnavailable, R>
  }
>()("@colloquy/core/documents/BlobStore") {}
