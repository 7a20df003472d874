/**
 * Recordings for a message that is not sent yet. Their bytes are stored as they arrive, and refused if there are too many or if they are
 * not sound, which their content decides and not their name. The message then names the recording (`VoiceOptions`). A recording without a
 * message is a blob without a document, which the search for orphans deletes.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import { BlobStore } from "../documents/BlobStore.ts"
import { DocumentStore } from "../documents/DocumentStore.ts"
import { recognise } from "../documents/FileContent.ts"
import { FileEmpty, type FileType, fileTypeForExtension, FileTypeUnsupported } from "../documents/FileType.ts"
import { type FileRefused, inspectUpload } from "../documents/Upload.ts"
import { BlobId, DocumentId, newId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { Recorded } from "./VoiceOptions.ts"
import { VoiceSettings } from "./VoiceSettings.ts"

/** A recording whose bytes come before its message. */
export interface NewRecording<E, R> {
  readonly filename: string
  readonly bytes: Stream.Stream<Uint8Array, E, R>
}

export class Recordings extends Context.Service<
  Recordings,
  {
    readonly put: <E, R>(
      recording: NewRecording<E, R>
    ) => Effect.Effect<Recorded, E | FileRefused | StoreUnavailable, R | Principal>
    /** For a recording whose message was not sent. A recording that is already a document is kept. */
    readonly discard: (recorded: Recorded) => Effect.Effect<void, StoreUnavailable, Principal>
  }
>()("@colloquy/core/voice/Recordings") {
  static readonly layer: Layer.Layer<Recordings, never, BlobStore | DocumentStore> = Layer.effect(
    Recordings,
    Effect.gen(function* () {
      const blobs = yield* BlobStore
      const documents = yield* DocumentStore
      const { maxRecordingBytes } = yield* VoiceSettings
      return Recordings.of({
        put: tracedFn("Recordings.put")(function* <E, R>(recording: NewRecording<E, R>) {
          const { filename } = recording
          const inspected = inspectUpload(recording, maxRecordingBytes, (head) => recordingType(filename, head))
          const blobId = yield* newId(BlobId)
          const { sha256, size } = yield* blobs.put(blobId, inspected.bytes)
          const { extension, mimeType } = yield* inspected.type
          return { documentId: yield* newId(DocumentId), blobId, filename, extension, mimeType, size, sha256 }
        }),
        discard: Effect.fnUntraced(function* ({ blobId, documentId }) {
          if (Option.isNone(yield* documents.get(documentId))) yield* blobs.remove(blobId)
        })
      })
    })
  )
}

/** Browsers record sound in containers that may also contain pictures. */
const containers: Readonly<Record<string, FileType>> = {
  mp4: { extension: "m4a", mimeType: "audio/mp4", family: "audio" },
  webm: { extension: "webm", mimeType: "audio/webm", family: "audio" }
}

/** The type is determined by the content only. */
const recordingType = (
  filename: string,
  head: Uint8Array
): Result.Result<FileType, FileEmpty | FileTypeUnsupported> => {
  if (head.length === 0) return Result.fail(new FileEmpty({ filename }))
  const content = recognise(head)
  const [found = ""] = content._tag === "Known" ? content.extensions : content._tag === "Container" ? content.holds : []
  const type = Object.hasOwn(containers, found) ? containers[found] : fileTypeForExtension(found)
  return type?.family === "audio"
    ? Result.succeed(type)
    : Result.fail(new FileTypeUnsupported({ filename, reason: "content" }))
}
