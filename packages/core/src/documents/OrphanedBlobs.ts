/**
 * Deletes blobs without a document. They exist when a process died between the two writes, or when an assistant was removed with its
 * documents. They are deleted when they are older than any upload that may still be running. Every process with `Documents` does this
 * periodically; one process is enough.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { tracedFn } from "../primitives/Traced.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { BlobStore } from "./BlobStore.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import { DocumentStore } from "./DocumentStore.ts"

/** Deletes orphans that are older than `age` (default: a day), and returns how many. */
export const sweepOrphanedBlobs = tracedFn("OrphanedBlobs.sweep")(function* (
  age: Duration.Input = Duration.days(1)
): Effect.fn.Return<number, StoreUnavailable, BlobStore | DocumentStore> {
  const blobs = yield* BlobStore
  const documents = yield* DocumentStore
  const now = yield* Clock.currentTimeMillis
  return yield* blobs.sweep(new Date(now - Duration.toMillis(age)), documents.blobsWithoutDocument)
})

/** Repeats the deletion as the settings say, until the scope closes. If the store is unavailable, the next round tries again. */
export const sweepPeriodically = Effect.gen(function* () {
  const { orphanAge, orphanSweep } = yield* DocumentSettings
  yield* sweepOrphanedBlobs(orphanAge).pipe(
    Effect.tap((count) =>
      count === 0 ? Effect.void : Effect.logInfo(`${count} files without a document were deleted`)
    ),
    Effect.catchCause((cause) =>
      Effect.logWarning("The search for files without a document failed; the next round tries again", cause)
    ),
    Effect.delay(orphanSweep),
    Effect.forever,
    Effect.forkScoped
  )
})
