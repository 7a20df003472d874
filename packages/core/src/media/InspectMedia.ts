/**
 * Checks the bytes of a generated medium while they pass. The stream fails as soon as there are too many, or when they are certainly not of
 * the requested kind.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { recognise } from "../documents/FileContent.ts"
import { type FileType, fileTypeForExtension } from "../documents/FileType.ts"
import { MediaType } from "./GeneratedMedia.ts"

/** The provider sent something else than the requested medium. */
export class MediaRefused extends Schema.TaggedError<MediaRefused>()("MediaRefused", {
  mediaType: MediaType,
  reason: Schema.Literals(["too_large", "wrong_type", "empty", "no_room"]),
  /** The maximum of bytes for a medium of this kind; for `no_room`, of all documents of the owner. */
  limit: Schema.Int
}) {
  override get message() {
    switch (this.reason) {
      case "too_large":
        return `The provider sent a file of more than ${this.limit} bytes, which is more than this server keeps.`
      case "wrong_type":
        return `The provider sent something that is no ${this.mediaType} of a known type.`
      case "empty":
        return "The provider sent an empty file."
      case "no_room":
        return "The user has used up the room for documents, so no medium can be kept. Some must be deleted first."
    }
  }
}

export interface InspectedMedia<E, R> {
  readonly bytes: Stream.Stream<Uint8Array, E | MediaRefused, R>
  /** Known when the stream has ended successfully. */
  readonly type: Effect.Effect<FileType>
}

/** Enough to recognise every kind of medium that this kernel knows. */
const headLength = 64

export const inspectMedia = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  mediaType: MediaType,
  limit: number,
  /** The only accepted type; absent: every type of the kind. */
  mimeType?: string
): InspectedMedia<E, R> => {
  const head = new Uint8Array(headLength)
  let size = 0
  let type: FileType | null = null
  const refuse = (reason: MediaRefused["reason"]) => Effect.fail(new MediaRefused({ mediaType, reason, limit }))

  const decide = Effect.suspend(() => {
    if (type !== null) return Effect.void
    if (size === 0) return refuse("empty")
    const found = detectType(head.subarray(0, size))
    if (found?.family !== mediaType || (mimeType !== undefined && found.mimeType !== mimeType))
      return refuse("wrong_type")
    type = found
    return Effect.void
  })

  const look = (piece: Uint8Array) => {
    if (size < headLength) head.set(piece.subarray(0, headLength - size), size)
    size += piece.length
    if (size > limit) return refuse("too_large")
    return size < headLength ? Effect.void : decide
  }

  return {
    bytes: Stream.concat(Stream.tap(bytes, look), Stream.fromEffectDrain(decide)),
    type: Effect.suspend(() =>
      type === null
        ? Effect.die(new Error("The type of a medium is known when all of it was read."))
        : Effect.succeed(type)
    )
  }
}

/** Undefined if the bytes do not determine the type. */
const detectType = (head: Uint8Array): FileType | undefined => {
  const content = recognise(head)
  if (content._tag === "Known") return fileTypeForExtension(content.extensions[0] ?? "")
  return content._tag === "Container" ? fileTypeForExtension(content.holds[0] ?? "") : undefined
}
