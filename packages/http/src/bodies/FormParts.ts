/**
 * A multipart body as a queue of its parts: whole fields, and files in pieces. The bytes of the body are written to it as they arrive;
 * parts that wait never come from more than one piece of the body. The limits of a whole body are kept here.
 */
import * as MultipartParser from "effect/http/MultipartParser"
import { BadRequest, HTTPValidationError, PayloadTooLarge } from "../wire/Errors.ts"
import type { Limits } from "../HttpSettings.ts"

export type FormPart =
  | { readonly _tag: "Field"; readonly name: string; readonly value: Uint8Array }
  | { readonly _tag: "File"; readonly name: string; readonly filename: string }
  /** Bytes of the file that came last. */
  | { readonly _tag: "Piece"; readonly bytes: Uint8Array }
  | { readonly _tag: "FileEnd" }

export type FormFault = BadRequest | HTTPValidationError | PayloadTooLarge

export class FormParts {
  private readonly parser: MultipartParser.Parser
  private readonly limits: Limits
  private queue: Array<FormPart> = []
  private files = 0
  private fieldBytes = 0
  private isWhole = false
  /** Once it is set, parts that were not taken yet are no longer valid. */
  fault: FormFault | null = null

  constructor(headers: Readonly<Record<string, string>>, limits: Limits) {
    this.limits = limits
    this.parser = MultipartParser.make({
      headers,
      maxParts: limits.parts,
      maxFieldSize: limits.body,
      maxTotalSize: limits.upload,
      onField: (info: MultipartParser.PartInfo | undefined, value) => this.addField(info, value),
      onFile: (info) => this.addFile(info),
      // Bytes behind the end of a form are not a part of it.
      onError: (error) => {
        if (!this.isWhole) this.fault ??= faultFromParser(error)
      },
      onDone: () => {
        this.isWhole = true
      }
    })
  }

  /** For a body whose `Content-Length` is over the limit. */
  refuseSize(): void {
    this.fault ??= over("body is")
  }

  write(bytes: Uint8Array): void {
    if (this.fault === null && !this.isWhole) this.parser.write(bytes)
  }

  /** The body has ended. */
  end(): void {
    if (this.fault === null && !this.isWhole) this.parser.end()
  }

  /** Undefined: more must be written first, unless the form is over. */
  take(): FormPart | undefined {
    return this.queue.shift()
  }

  /** All of the form has been written, and all of it was taken. */
  get isOver(): boolean {
    return this.isWhole && this.queue.length === 0
  }

  /** Without headers (`info`), the body broke off inside of the field. */
  private addField(info: MultipartParser.PartInfo | undefined, value: Uint8Array): void {
    if (info === undefined) {
      this.fault ??= malformed()
      return
    }
    const { name } = info
    if (name === "") this.fault ??= nameless()
    this.fieldBytes += value.length
    if (this.fieldBytes > this.limits.body) this.fault ??= over("fields are")
    else this.queue.push({ _tag: "Field", name, value })
  }

  private addFile(info: MultipartParser.PartInfo): (bytes: Uint8Array | null) => void {
    const { name } = info
    if (name === "") this.fault ??= nameless()
    if (++this.files > this.limits.files) this.fault ??= over("number of files is")
    this.queue.push({ _tag: "File", name, filename: plainFilename(info) })
    let size = 0
    return (bytes) => {
      if (bytes === null) this.queue.push({ _tag: "FileEnd" })
      else if ((size += bytes.length) > this.limits.file) this.fault ??= over("file is")
      else this.queue.push({ _tag: "Piece", bytes })
    }
  }
}

/** Browsers and most clients write a quotation mark or a line break as `%22`, `%0D`, `%0A`; some write a quotation mark as `\"`. */
const plainFilename = ({ contentDispositionParameters, filename = "" }: MultipartParser.PartInfo): string =>
  "filename*" in contentDispositionParameters
    ? filename
    : filename.replaceAll('\\"', '"').replaceAll(/%(?:22|0d|0a)/giu, (code) => decodeURIComponent(code))

const over = (what: string) => new PayloadTooLarge({ detail: `The ${what} over the limit of this server` })

const nameless = () =>
  new HTTPValidationError({
    detail: [{ loc: ["body"], msg: "A part of the form has no name that can be read", type: "missing" }]
  })

const faultFromParser = (error: MultipartParser.MultipartError): FormFault => {
  if (error._tag === "InvalidDisposition") return nameless()
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

export const malformed = () => new BadRequest({ detail: "The multipart body is malformed" })
