/** A file as a caller may have it, as a stream of bytes with a name. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** `File`, `Blob`, bytes (`Buffer`), the path of a file (Node, Bun, Deno), or a stream of bytes. */
export type FileInput = Blob | Uint8Array | string | URL | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/** A file of a message with its name: `files: [{ file: "uploads/x1", filename: "report.pdf" }]`. */
export interface NamedFile {
  readonly file: FileInput
  /** The user's name of the file. Absent: the name of a `File`, the last part of a path. */
  readonly filename?: string | undefined
}

export interface IncomingFile {
  readonly filename: string
  readonly bytes: Stream.Stream<Uint8Array, FileUnreadable>
}

/** The file that was given could not be read. */
export class FileUnreadable extends Schema.TaggedError<FileUnreadable>()("FileUnreadable", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export const incomingFile = ({ file, filename }: NamedFile): IncomingFile => ({
  filename: filename ?? inputName(file) ?? refuse("Give the `filename` of this file: its type is read from it."),
  bytes: inputBytes(file)
})

const refuse = (sentence: string): never => {
  throw new TypeError(sentence)
}

const inputName = (file: FileInput): string | undefined => {
  if (typeof file === "string" || file instanceof URL) {
    const path = typeof file === "string" ? file : decodeURIComponent(file.pathname)
    return path.split(/[/\\]/u).at(-1)
  }
  return "name" in file && typeof file.name === "string" ? file.name : undefined
}

const inputBytes = (file: FileInput): IncomingFile["bytes"] => {
  if (file instanceof Uint8Array) return Stream.make(file)
  if (typeof file === "string" || file instanceof URL) return bytesAt(file)
  if (file instanceof Blob) return bytesIn(() => file.stream())
  if (file instanceof ReadableStream) return bytesIn(() => file)
  if (Symbol.asyncIterator in file) return Stream.fromAsyncIterable(file, unreadable)
  return refuse("A file is a Blob, a File, bytes (Uint8Array), a path, or a stream of bytes.")
}

const bytesIn = (open: () => ReadableStream<Uint8Array>) =>
  Stream.fromReadableStream({ evaluate: open, onError: unreadable })

/** The module for files of the system is loaded when a path is given. */
const bytesAt = (path: string | URL) =>
  Stream.unwrap(
    Effect.tryPromise({
      try: async () => {
        const { open } = await import("node:fs/promises")
        const handle = await open(path)
        return Stream.fromAsyncIterable<Uint8Array, FileUnreadable>(handle.createReadStream(), unreadable)
      },
      catch: unreadable
    })
  )

const unreadable = (cause: unknown): FileUnreadable =>
  new FileUnreadable({
    message: `The file could not be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    cause
  })
