/**
 * Blobs that no document has: the process died between the two writes, or an assistant was removed with its documents. They are deleted
 * once they are older than any upload that may still be on its way. A host, or the kernel's sweep, calls this now and then.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { tracedFn } from "../primitives/Traced.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { BlobStore } from "./BlobStore.ts"
import { DocumentStore } from "./DocumentStore.ts"

/** Deletes orphans that are older than `age` (a day, unless told otherwise), and answers how many. */
export const sweepOrphanedBlobs = tracedFn("OrphanedBlobs.sweep")(function* (
  age: Duration.Input = Duration.days(1)
): Effect.fn.Return<number, StoreUnavailable, BlobStore | DocumentStore> {
  const blobs = yield* BlobStore
  const documents = yield* DocumentStore
  const now = yield* Clock.currentTimeMillis
  return yield* blobs.sweep(new Date(now - Duration.toMillis(age)), documents.blobsWithoutDocument)
})
