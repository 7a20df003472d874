/**
 * Checks an upload while its bytes pass: their number, and the first of them, from which `findType` determines the type. The stream fails as
 * soon as the file is refused, so that nothing of it is stored.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { joinBytes } from "../primitives/Pcm.ts"
import { type FileEmpty, type FileType, type FileTypeUnsupported, headLength } from "./FileType.ts"

/** The file has more bytes than `limit`. */
export class FileTooLarge extends Schema.TaggedError<FileTooLarge>()("FileTooLarge", {
  filename: Schema.String,
  limit: Schema.Int
}) {
  override get message() {
    return `The file "${this.filename.slice(-100)}" has more than ${this.limit} bytes. Send a smaller one.`
  }
}

/** Why a file is not taken. */
export type FileRefused = FileEmpty | FileTooLarge | FileTypeUnsupported

export interface InspectedUpload<E, R> {
  readonly bytes: Stream.Stream<Uint8Array, E | FileRefused, R>
  /** Known when the stream has ended successfully. */
  readonly type: Effect.Effect<FileType>
}

export const inspectUpload = <E, R>(
  file: { readonly filename: string; readonly bytes: Stream.Stream<Uint8Array, E, R> },
  limit: number,
  findType: (head: Uint8Array) => Result.Result<FileType, FileEmpty | FileTypeUnsupported>
): InspectedUpload<E, R> => {
  const { filename } = file
  const head: Array<Uint8Array> = []
  let headSize = 0
  let size = 0
  let type: FileType | null = null

  const decide = Effect.suspend((): Effect.Effect<void, FileRefused> => {
    if (type !== null) return Effect.void
    const decided = findType(joinBytes(head))
    if (Result.isFailure(decided)) return Effect.fail(decided.failure)
    type = decided.success
    head.length = 0
    return Effect.void
  })

  const look = (bytes: Uint8Array): Effect.Effect<void, FileRefused> => {
    size += bytes.length
    if (size > limit) return Effect.fail(new FileTooLarge({ filename, limit }))
    if (type !== null) return Effect.void
    const wanted = bytes.slice(0, headLength - headSize)
    head.push(wanted)
    headSize += wanted.length
    return headSize < headLength ? Effect.void : decide
  }

  return {
    bytes: Stream.concat(Stream.tap(file.bytes, look), Stream.fromEffectDrain(decide)),
    type: Effect.suspend(() =>
      type === null
        ? Effect.die(new Error("The type of a file is known when all of it was read."))
        : Effect.succeed(type)
    )
  }
}
