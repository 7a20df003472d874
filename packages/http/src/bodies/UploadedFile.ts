/**
 * The files of a multipart body: what became of each, and the problems that a client is told. Names are kept as the client wrote them, and
 * never used as paths.
 */
import {
  acceptedExtensions,
  readExtension,
  type FileRefused,
  FileTypeUnsupported,
  type ReceivedFile,
  type Recorded
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import { isRecord } from "../wire/Json.ts"
import {
  type BadRequest,
  type HTTPValidationError,
  type PayloadTooLarge,
  type RequestTimeout,
  type ServiceUnavailable,
  UnsupportedMediaType,
  type ValidationError
} from "../wire/Errors.ts"

/** A form field for files. */
export interface FileField {
  /** The records that the kernel makes of the files. */
  readonly as: "document" | "attachment" | "recording"
  readonly many: boolean
  /** The part of turns that the files are for: without it in the kernel they are dropped. Null: they are for none. */
  readonly part: string | null
}

export type FileFields = Readonly<Record<string, FileField>>

/** The errors that stop the reading of a body. */
export type BodyFault = BadRequest | HTTPValidationError | RequestTimeout | PayloadTooLarge | ServiceUnavailable

export interface FileOfForm {
  readonly field: string
  readonly name: string
  readonly bytes: Stream.Stream<Uint8Array, BodyFault>
}

/** The outcome for a file of a body. */
export type Outcome =
  | { readonly _tag: "Kept"; readonly file: ReceivedFile }
  | { readonly _tag: "Recorded"; readonly recorded: Recorded }
  /** The endpoint takes no files, or none in this field: only its size is known. */
  | { readonly _tag: "Dropped" }
  | { readonly _tag: "Refused"; readonly refusal: Exclude<FileRefused, { readonly _tag: "FileTooLarge" }> }
  /** A file with bytes and without a name. */
  | { readonly _tag: "Nameless" }

export interface UploadedFile {
  readonly field: string
  readonly name: string
  readonly size: number
  readonly outcome: Outcome
}

/** Takes the bytes of a file, or leaves them unread. */
export type KeepFile = (file: FileOfForm) => Effect.Effect<Outcome, BodyFault>

export const dropped: Outcome = { _tag: "Dropped" }

const known: ReadonlySet<string> = new Set(acceptedExtensions("attachment"))

/** Checks only the name of a file that is dropped. */
export const dropFile: KeepFile = ({ name }) =>
  Effect.succeed(
    known.has(readExtension(name))
      ? dropped
      : { _tag: "Refused", refusal: new FileTypeUnsupported({ filename: name, reason: "extension" }) }
  )

/** All files whose types are not on the list, in one answer. */
export const refuseTypes = (files: ReadonlyArray<UploadedFile>): Effect.Effect<void, UnsupportedMediaType> => {
  const details = files.flatMap(({ outcome }) =>
    outcome._tag === "Refused" && outcome.refusal._tag === "FileTypeUnsupported" ? [outcome.refusal.message] : []
  )
  return details.length === 0 ? Effect.void : Effect.fail(new UnsupportedMediaType({ detail: details.join(" ") }))
}

const longestName = 1024

/** All other problems of the files of a form. In a field for several files, a problem names the index of its file, from 0. */
export const problemsOfFiles = (
  values: unknown,
  files: ReadonlyArray<UploadedFile>,
  fields: FileFields
): ReadonlyArray<ValidationError> =>
  Object.entries(fields).flatMap(([field, { many }]) => {
    const filesInField = files.filter((file) => file.field === field)
    const single = filesInField.flatMap((file, index) => {
      const found = fileProblem(file)
      return found === null ? [] : [{ loc: ["body", field, ...(many ? [index] : [])], ...found }]
    })
    return [
      ...single,
      ...(isRecord(values) && field in values ? [{ loc: ["body", field], ...noFile }] : []),
      ...(!many && filesInField.length > 1 ? [{ loc: ["body", field], ...tooMany }] : [])
    ]
  })

const noFile = { msg: "Expected a file; this part of the form has no filename", type: "file_type" }
const tooMany = { msg: "Expected one file", type: "too_many" }

const fileProblem = ({ name, outcome }: UploadedFile): Omit<ValidationError, "loc"> | null => {
  if (outcome._tag === "Nameless") return { msg: "The file has no name", type: "missing" }
  if (name.length > longestName) {
    return { msg: `The name of the file has more than ${longestName} characters`, type: "too_long" }
  }
  return outcome._tag === "Refused" && outcome.refusal._tag === "FileEmpty"
    ? { msg: outcome.refusal.message, type: "file_empty" }
    : null
}
