/**
 * Stores the bytes of files while a body is read: as documents or recordings of the kernel, for the fields in which an endpoint takes
 * files. Received files are deleted when the request ends, unless a handler makes documents of them.
 */
import { Principal, type StoreUnavailable } from "@colloquy/core"
import type { Documents, FileRefused, Recordings } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { PayloadTooLarge } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import type { Installed } from "./RawFields.ts"
import {
  type BodyFault,
  dropFile,
  dropped,
  type FileField,
  type FileFields,
  type FileOfForm,
  type KeepFile,
  type Outcome
} from "./UploadedFile.ts"

/** Drops all files, for a body that is read only to find its problems. */
export const dropFiles =
  (fields: FileFields): KeepFile =>
  (file) =>
    Object.hasOwn(fields, file.field) ? dropFile(file) : Effect.succeed(dropped)

/** Rooms that take files; null where the kernel does not have them. */
export interface FileRooms {
  readonly documents: typeof Documents.Service | null
  readonly recordings: typeof Recordings.Service | null
}

export interface FileKeeper {
  readonly keep: KeepFile
  /** Deletes at once the files of which no document was made: for a request that fails. */
  readonly discard: Effect.Effect<void>
}

export const fileKeeper = Effect.fnUntraced(function* (
  fields: FileFields,
  { documents, recordings }: FileRooms,
  installed: Installed
): Effect.fn.Return<FileKeeper, never, Principal | Scope.Scope> {
  const principal = yield* Principal
  const request = yield* Scope.Scope
  /** A scope inside of the request's, so that a request that fails can close it early. */
  let received: Scope.Closeable | null = null
  let discardRecordings: Effect.Effect<void, unknown, Principal> = Effect.void

  const scopeOfFiles = Effect.suspend(() =>
    received === null ? Effect.map(Scope.fork(request), (made) => (received = made)) : Effect.succeed(received)
  )

  const receive = (use: typeof Documents.Service, { as }: FileField, file: FileOfForm) => {
    const purpose: "document" | "attachment" = as === "document" ? "document" : "attachment"
    const incoming = { filename: file.name, bytes: file.bytes, purpose }
    return Effect.flatMap(scopeOfFiles, (scope) =>
      Effect.provideService(use.receive(incoming), Scope.Scope, scope)
    ).pipe(Effect.map((kept): Outcome => ({ _tag: "Kept", file: kept })))
  }

  const record = (use: typeof Recordings.Service, file: FileOfForm) =>
    Effect.map(use.put({ filename: file.name, bytes: file.bytes }), (recorded): Outcome => {
      discardRecordings = Effect.andThen(discardRecordings, use.discard(recorded))
      return { _tag: "Recorded", recorded }
    })

  type Taken = Effect.Effect<Outcome, BodyFault | FileRefused | StoreUnavailable, Principal>

  const takenBy = (field: FileField, file: FileOfForm): Taken | null => {
    if (field.part !== null && !installed.has(field.part)) return null
    if (field.as === "recording") return recordings === null ? null : record(recordings, file)
    return documents === null ? null : receive(documents, field, file)
  }

  return {
    keep: (file) => {
      const field = Object.hasOwn(fields, file.field) ? fields[file.field] : undefined
      if (field === undefined) return Effect.succeed(dropped)
      const taken = takenBy(field, file)
      if (taken === null) return dropFile(file)
      return taken.pipe(
        Effect.catchTags({
          FileEmpty: (refusal) => Effect.succeed<Outcome>({ _tag: "Refused", refusal }),
          FileTypeUnsupported: (refusal) => Effect.succeed<Outcome>({ _tag: "Refused", refusal }),
          FileTooLarge: ({ message }) => Effect.fail(new PayloadTooLarge({ detail: message })),
          StoreUnavailable: (error) => Effect.fail(toWireError(error))
        }),
        Effect.provideService(Principal, principal)
      )
    },
    discard: Effect.suspend(() => (received === null ? Effect.void : Scope.close(received, Exit.void))).pipe(
      Effect.andThen(Effect.suspend(() => Effect.ignore(discardRecordings))),
      Effect.provideService(Principal, principal)
    )
  }
})
