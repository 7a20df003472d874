/**
 * Reads a multipart body piece by piece. Fields are kept as text; the bytes of a file are handed on while they come, no faster than
 * their reader takes them, so that a body of any size costs the memory of some pieces.
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpServerError } from "effect/http/HttpServerError"
import * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { BadRequest } from "../wire/Errors.ts"
import type { Bounds } from "../HttpSettings.ts"
import { tooSlow } from "./BodyErrors.ts"
import { type FormPart, FormParts, malformed } from "./FormParts.ts"
import { decodeText } from "./Text.ts"
import { type BodyFault, type KeepFile, dropped, type Outcome, type UploadedFile } from "./UploadedFile.ts"

export interface MultipartForm {
  readonly fields: ReadonlyArray<readonly [string, string]>
  readonly files: ReadonlyArray<UploadedFile>
}

export const readMultipart = Effect.fnUntraced(function* (
  headers: Readonly<Record<string, string>>,
  body: Stream.Stream<Uint8Array, HttpServerError>,
  { bodyTimeout, limits }: Bounds,
  keep: KeepFile
): Effect.fn.Return<MultipartForm, BodyFault, Scope.Scope> {
  const parts = new FormParts(headers, limits)
  if (Number(headers["content-length"] ?? 0) > limits.upload) parts.refuseSize()
  const pull = yield* Stream.toPull(Stream.mapError(body, malformed))
  return yield* readForm(formParts(parts, pull, bodyTimeout), keep)
}, Effect.scoped)

type NextPart = Effect.Effect<FormPart | null, BodyFault>

/** The next part; null at the end of the form. The time that a client has is counted while nothing else is waited for. */
const formParts = (
  parts: FormParts,
  pull: Pull.Pull<ReadonlyArray<Uint8Array>, BodyFault>,
  bodyTimeout: Duration.Input
): NextPart => {
  const more = pull.pipe(
    Effect.timeoutOrElse({ duration: bodyTimeout, orElse: () => Effect.fail(tooSlow()) }),
    Effect.map((pieces) => {
      for (const piece of pieces) parts.write(piece)
    }),
    Pull.catchDone(() => Effect.sync(() => parts.end()))
  )
  const next: NextPart = Effect.suspend(() => {
    if (parts.fault !== null) return Effect.fail(parts.fault)
    const part = parts.take()
    if (part !== undefined) return Effect.succeed(part)
    return parts.isOver ? Effect.succeed(null) : Effect.andThen(more, next)
  })
  return next
}

const readForm = Effect.fnUntraced(function* (next: NextPart, keep: KeepFile) {
  const fields: Array<readonly [string, string]> = []
  const files: Array<UploadedFile> = []
  for (let part = yield* next; part !== null; part = yield* next) {
    if (part._tag === "Field") fields.push([part.name, yield* decodeFieldText(part)])
    else if (part._tag === "File") {
      const file = yield* readFile(part, next, keep)
      if (file !== null) files.push(file)
    }
  }
  return { fields, files }
})

const decodeFieldText = ({
  name,
  value
}: Extract<FormPart, { readonly _tag: "Field" }>): Effect.Effect<string, BadRequest> =>
  Result.match(decodeText(value), {
    onSuccess: (text) => Effect.succeed(text),
    onFailure: () => Effect.fail(new BadRequest({ detail: `The form field "${name.slice(0, 100)}" is not UTF-8` }))
  })

/** Null: a field for files that was left empty, which browsers send as a file without a name and without bytes. */
const readFile = Effect.fnUntraced(function* (
  { filename, name: field }: Extract<FormPart, { readonly _tag: "File" }>,
  next: NextPart,
  keep: KeepFile
) {
  let size = 0
  let isOver = false
  const nextPiece: Effect.Effect<readonly [Uint8Array], BodyFault | Cause.Done> = Effect.suspend(() => {
    if (isOver) return Cause.done()
    return Effect.flatMap(next, (part) => {
      if (part?._tag === "Piece") {
        size += part.bytes.length
        return Effect.succeed([part.bytes] as const)
      }
      isOver = true
      return Cause.done()
    })
  })
  const rest = Stream.fromPull(Effect.succeed(nextPiece))
  const outcome: Outcome = filename.trim() === "" ? dropped : yield* keep({ field, name: filename, bytes: rest })
  yield* Stream.runDrain(rest)
  const file = { field, name: filename, size }
  if (filename.trim() !== "") return { ...file, outcome } satisfies UploadedFile
  return size === 0 ? null : ({ ...file, outcome: nameless } satisfies UploadedFile)
})

const nameless: Outcome = { _tag: "Nameless" }
