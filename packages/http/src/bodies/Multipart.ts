/**
 * Reads a multipart body piece by piece. Fields are kept as text; of files only name and size are kept, their bytes are counted against the
 * limit and let go, so that a body of any size costs the memory of one piece.
 */
import * as Effect from "effect/Effect"
import type { HttpServerError } from "effect/http/HttpServerError"
import * as MultipartParser from "effect/http/MultipartParser"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { BadRequest, PayloadTooLarge, RequestTimeout } from "../wire/Errors.ts"
import type { Bounds, Limits } from "../HttpSettings.ts"
import { decodeText } from "./Text.ts"

export interface UploadedFile {
  readonly field: string
  readonly name: string
  readonly contentType: string
  readonly size: number
}

export interface MultipartForm {
  readonly fields: ReadonlyArray<readonly [string, string]>
  readonly files: ReadonlyArray<UploadedFile>
}

type Fault = BadRequest | RequestTimeout | PayloadTooLarge

const malformed = () => new BadRequest({ detail: "The multipart body is malformed" })

/** The client has stopped sending before the end. */
export const tooSlow = () => new RequestTimeout({ detail: "The rest of the body did not come in time" })

const over = (what: string) => new PayloadTooLarge({ detail: `The ${what} over the limit of this server` })

const faultOf = (error: MultipartParser.MultipartError): Fault => {
  if (error._tag !== "ReachedLimit") return malformed()
  switch (error.limit) {
    case "MaxFieldSize":
      return over("field is")
    case "MaxParts":
      return over("number of parts is")
    case "MaxPartSize":
    case "MaxTotalSize":
      return over("body is")
  }
}

export const readMultipart = (
  headers: Readonly<Record<string, string>>,
  body: Stream.Stream<Uint8Array, HttpServerError>,
  { bodyTimeout, limits }: Bounds
): Effect.Effect<MultipartForm, Fault> =>
  Effect.suspend(() => {
    const form = new FormReader(headers, limits)
    const pieces = body.pipe(
      Stream.mapError(malformed),
      Stream.timeoutOrElse({ duration: bodyTimeout, orElse: () => Stream.fail<Fault>(tooSlow()) })
    )
    return Stream.runForEachWhile(pieces, (piece) => Effect.sync(() => form.write(piece))).pipe(
      Effect.flatMap(() => Effect.fromResult(form.end()))
    )
  })

class FormReader {
  private readonly fields: Array<readonly [string, string]> = []
  private readonly files: Array<UploadedFile> = []
  private readonly parser: MultipartParser.Parser
  private readonly maximumFile: number
  private fault: Fault | null = null

  constructor(headers: Readonly<Record<string, string>>, limits: Limits) {
    this.maximumFile = limits.file
    this.parser = MultipartParser.make({
      headers,
      maxParts: limits.parts,
      maxFieldSize: limits.body,
      maxTotalSize: limits.upload,
      onField: (info, value) => this.keep(info.name, value),
      onFile: (info) => this.count(info),
      onError: (error) => {
        this.fault ??= faultOf(error)
      },
      onDone: () => {}
    })
  }

  /** False: the rest need not be read. */
  write(piece: Uint8Array): boolean {
    if (this.fault === null) this.parser.write(piece)
    return this.fault === null
  }

  end(): Result.Result<MultipartForm, Fault> {
    if (this.fault === null) this.parser.end()
    return this.fault === null ? Result.succeed({ fields: this.fields, files: this.files }) : Result.fail(this.fault)
  }

  private keep(name: string, value: Uint8Array): void {
    const text = decodeText(value)
    if (Result.isSuccess(text)) this.fields.push([name, text.success])
    else this.fault ??= new BadRequest({ detail: `The form field "${name}" is not UTF-8` })
  }

  private count({ contentType, filename, name }: MultipartParser.PartInfo): (piece: Uint8Array | null) => void {
    let size = 0
    return (piece) => {
      if (piece === null) this.files.push({ field: name, name: filename ?? "", contentType, size })
      else if ((size += piece.length) > this.maximumFile) this.fault ??= over("file is")
    }
  }
}
