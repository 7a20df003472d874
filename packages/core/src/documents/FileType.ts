/**
 * Which files are accepted, and the type of a file, determined by its name and its first bytes together. A damaged file of a known type is
 * accepted here; its indexing reports the damage.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Content, looksLikeText, recognise } from "./FileContent.ts"

/** The kind of content that a type of files has. */
export type FileFamily = "document" | "text" | "code" | "image" | "audio" | "video"

export interface FileType {
  readonly extension: string
  readonly mimeType: string
  readonly family: FileFamily
}

/** A document may be of the first four families; an attachment of a message may also be sound or video. */
export type UploadPurpose = "document" | "attachment"

/** The type is not on the list of accepted types. */
export class FileTypeUnsupported extends Schema.TaggedError<FileTypeUnsupported>()("FileTypeUnsupported", {
  filename: Schema.String,
  reason: Schema.Literals(["extension", "content"])
}) {
  override get message() {
    const name = this.filename.slice(-100)
    return this.reason === "extension"
      ? `Files like "${name}" are not supported.`
      : `The content of "${name}" is not what its name says, and is not supported.`
  }
}

/** The upload had no bytes. Nothing is stored. */
export class FileEmpty extends Schema.TaggedError<FileEmpty>()("FileEmpty", { filename: Schema.String }) {
  override get message() {
    return `The file "${this.filename.slice(-100)}" is empty.`
  }
}

const word = "application/vnd.openxmlformats-officedocument."

const families: Readonly<Record<FileFamily, Readonly<Record<string, string>>>> = {
  document: {
    pdf: "application/pdf",
    doc: "application/msword",
    docx: `${word}wordprocessingml.document`,
    ppt: "application/vnd.ms-powerpoint",
    pptx: `${word}presentationml.presentation`,
    xls: "application/vnd.ms-excel",
    xlsx: `${word}spreadsheetml.sheet`
  },
  text: {
    txt: "text/plain",
    csv: "text/csv",
    md: "text/markdown",
    markdown: "text/markdown",
    json: "application/json",
    jsonl: "application/x-ndjson",
    xml: "application/xml"
  },
  code: {
    py: "text/x-python",
    js: "text/javascript",
    ts: "text/x-typescript",
    jsx: "text/jsx",
    tsx: "text/tsx",
    html: "text/html",
    css: "text/css",
    cpp: "text/x-c++src",
    c: "text/x-csrc",
    h: "text/x-chdr",
    java: "text/x-java",
    go: "text/x-go",
    rs: "text/x-rust",
    rb: "text/x-ruby",
    php: "text/x-php",
    sql: "application/sql"
  },
  image: {
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    webp: "image/webp",
    gif: "image/gif",
    bmp: "image/bmp",
    tiff: "image/tiff",
    tif: "image/tiff"
  },
  audio: {
    mp3: "audio/mpeg",
    wav: "audio/wav",
    m4a: "audio/mp4",
    ogg: "audio/ogg",
    flac: "audio/flac",
    aac: "audio/aac"
  },
  video: {
    mp4: "video/mp4",
    mov: "video/quicktime",
    avi: "video/x-msvideo",
    mkv: "video/x-matroska",
    mpeg: "video/mpeg",
    mpg: "video/mpeg",
    webm: "video/webm"
  }
}

const isFamily = (name: string): name is FileFamily => name in families

const types: ReadonlyMap<string, FileType> = new Map(
  Object.entries(families).flatMap(([family, members]) =>
    isFamily(family)
      ? Object.entries(members).map(([extension, mimeType]) => [extension, { extension, mimeType, family }] as const)
      : []
  )
)

const isFor = (purpose: UploadPurpose, { family }: FileType): boolean =>
  purpose === "attachment" || (family !== "audio" && family !== "video")

/** Which file names may be uploaded for a purpose, by extension and without the dot: `["pdf", "md", …]`. */
export const acceptedExtensions = (purpose: UploadPurpose): ReadonlyArray<string> =>
  [...types.values()].filter((type) => isFor(purpose, type)).map(({ extension }) => extension)

/** `fileTypeForExtension("pdf")` gives the media type and how the file is read; undefined for an extension that is not supported. */
export const fileTypeForExtension = (extension: string): FileType | undefined => types.get(extension)

/** The text after the last dot of a name, in lower case; empty without a dot. */
export const readExtension = (name: string): string => /[^./\\]\.([^./\\]+)$/u.exec(name)?.[1]?.toLowerCase() ?? ""

/** The number of bytes from the beginning of a file that are enough to determine its type. */
export const headLength = 65_536

/**
 * The type of a file, from its name and its first bytes (`headLength`, or all if there are fewer). A certain content overrides the name; a
 * name without an extension is sufficient if the content is certain.
 */
export const decideFileType = (
  filename: string,
  head: Uint8Array,
  purpose: UploadPurpose = "document"
): Result.Result<FileType, FileTypeUnsupported | FileEmpty> => {
  if (head.length === 0) return Result.fail(new FileEmpty({ filename }))
  const refuse = (reason: FileTypeUnsupported["reason"]) => Result.fail(new FileTypeUnsupported({ filename, reason }))
  const extension = readExtension(filename)
  const named = types.get(extension)
  if (extension !== "" && (named === undefined || !isFor(purpose, named))) return refuse("extension")
  const found = judge(named, recognise(head), head)
  if (found === undefined) return refuse(named === undefined ? "extension" : "content")
  return isFor(purpose, found) ? Result.succeed(found) : refuse("content")
}

const judge = (named: FileType | undefined, content: Content, head: Uint8Array): FileType | undefined => {
  switch (content._tag) {
    case "Known":
      return named !== undefined && content.extensions.includes(named.extension)
        ? named
        : types.get(content.extensions[0] ?? "")
    case "Container":
      return named !== undefined && content.holds.includes(named.extension) ? named : undefined
    case "Foreign":
      return undefined
    case "Unknown":
      return named !== undefined && (isBinary(named) || looksLikeText(head)) ? named : undefined
  }
}

/** A file of a binary type that is not recognised is damaged, or of a kind without a mark at the beginning. */
const isBinary = ({ family }: FileType): boolean => family !== "text" && family !== "code"
