/**
 * Port: where the bytes of documents are kept, as they were uploaded. Bytes go in and out as streams, so that no file is ever whole in
 * memory. A blob is found by its owner and its id together; file names never come here. Records about files are in `DocumentStore`.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import { BlobId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** What was counted while the bytes went by. */
export interface StoredBytes {
  readonly size: number
  /** Of all bytes, in lower case hexadecimal. */
  readonly sha256: string
}

/** A part of a blob: `length` bytes from `offset` on. What lies behind the end is left out. */
export interface ByteRange {
  readonly offset: number
  readonly length: number
}

export class BlobNotFound extends Schema.TaggedError<BlobNotFound>()("BlobNotFound", { blobId: BlobId }) {
  override get message() {
    return `There are no bytes ${this.blobId}.`
  }
}

export class BlobStore extends Context.Service<
  BlobStore,
  {
    /**
     * MUST store all bytes of the stream in their order, and show none of them before the last one is stored. When the stream fails, or
     * the caller is interrupted, MUST store nothing and leave nothing behind. MUST NOT hold more than a few pieces in memory. A new blob
     * has a new id; an id that is taken is a defect.
     */
    readonly put: <E, R>(
      id: BlobId,
      bytes: Stream.Stream<Uint8Array, E, R>
    ) => Effect.Effect<StoredBytes, E | StoreUnavailable, R | Principal>
    /** MUST answer none for an id that is unknown or another owner's, without a difference. */
    readonly head: (id: BlobId) => Effect.Effect<Option.Option<{ readonly size: number }>, StoreUnavailable, Principal>
    /**
     * MUST give the bytes as they were put, or those of the range. MUST fail with `BlobNotFound` before the first byte for an id that is
     * unknown or another owner's; and MUST fail, not end early, when the blob is removed meanwhile and cannot be read to its end.
     */
    readonly get: (
      id: BlobId,
      range?: ByteRange
    ) => Stream.Stream<Uint8Array, BlobNotFound | StoreUnavailable, Principal>
    /** MUST delete all bytes; answers false when there are none. */
    readonly remove: (id: BlobId) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * Looks at the blobs of all owners that were stored before a moment, asks in groups which of them nobody needs, and MUST delete those
     * and no others. MUST also delete what uploads have left that began before the moment and were never finished, because their process
     * died. Answers how many blobs were deleted.
     */
    readonly sweep: <E, R>(
      before: Date,
      unneeded: (ids: ReadonlyArray<BlobId>) => Effect.Effect<ReadonlyArray<BlobId>, E, R>
    ) => Effect.Effect<number, E | StoreUnavailable, R>
  }
>()("@colloquy/core/documents/BlobStore") {}
