/**
 * Blobs that no document has: the process died between the two writes, or an assistant was removed with its documents. They are deleted
 * once they are older than any upload that may still be on its way. Every process that has `Documents` does it now and then; one is enough.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { tracedFn } from "../primitives/Traced.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { BlobStore } from "./BlobStore.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
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

/** As the settings say, until the scope closes. A store that is away is asked again the next time. */
export const sweepNowAndThen = Effect.gen(function* () {
  const { orphanAge, orphanSweep } = yield* DocumentSettings
  yield* sweepOrphanedBlobs(orphanAge).pipe(
    Effect.tap((count) =>
      count === 0 ? Effect.void : Effect.logInfo(`${count} files without a document were deleted`)
    ),
    Effect.catchCause((cause) => Effect.logWarning("Files without a document could not be looked for", cause)),
    Effect.delay(orphanSweep),
    Effect.forever,
    Effect.forkScoped
  )
})
