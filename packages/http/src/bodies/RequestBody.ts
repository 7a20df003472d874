/**
 * Reads and decodes request bodies: JSON everywhere, forms where the endpoint declares them. What cannot be read is 400, 413 or 415; what
 * can be read but is wrong is a list of every problem (422). Bounded in bytes and in depth.
 */
import type { Principal } from "@colloquy/core"
import { limitedTo, runSteps, type Steps } from "@colloquy/core/adapters"
import * as ByteSize from "effect/ByteSize"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import {
  BadRequest,
  HTTPValidationError,
  PayloadTooLarge,
  UnsupportedMediaType,
  type ValidationError
} from "../wire/Errors.ts"
import { tooSlow, unreadable } from "./BodyErrors.ts"
import { exactFields } from "../wire/MessageBody.ts"
import { readForm } from "./FormFields.ts"
import type { Bounds } from "../HttpSettings.ts"
import { holdsMoreThan, type JsonFault, maximumDepth, maximumValues, parsingJson } from "../wire/Json.ts"
import { fileKeeper, type FileRooms } from "./KeepFiles.ts"
import { type MultipartForm, readMultipart } from "./Multipart.ts"
import type { Installed, RawFields } from "./RawFields.ts"
import { toProblems } from "./Problems.ts"
import { decodingFormText, decodingText, hasTextOver, textOverLimit } from "./Text.ts"
import { hasTimedBody } from "./TimedBody.ts"
import {
  type BodyFault,
  dropFile,
  type FileFields,
  type KeepFile,
  problemsOfFiles,
  refuseTypes,
  type UploadedFile
} from "./UploadedFile.ts"

export type UnreadableBody = BodyFault | UnsupportedMediaType

/** A body as it was sent, in the shape of JSON, whatever its encoding. */
export interface RawBody {
  /** Undefined: the request had no body, or one of lines. */
  readonly value: unknown
  /** The text of a body of lines, in the pieces in which it was decoded. */
  readonly lines?: ReadonlyArray<string>
  readonly files: ReadonlyArray<UploadedFile>
  /** Problems of single form fields, found while reading. */
  readonly problems: ReadonlyArray<ValidationError>
}

/** Rules between fields, checked on the raw body, so that their problems are listed together with all others. */
export type BodyRules = (raw: RawBody, server: ServerParts) => ReadonlyArray<ValidationError>

/** The parts of this server's turns, for the fields of bodies that are for them. */
export interface ServerParts {
  readonly installed: Installed
  /** The problems of the fields of a message that are for parts. */
  readonly problems: (fields: RawFields, raw: RawBody) => ReadonlyArray<ValidationError>
}

/** The content types that an endpoint takes. */
export type Accepts = Pick<ReadonlyMap<string, unknown>, "has">

/** How an endpoint's body is decoded. */
export interface Body<A> {
  /** The form fields in which it takes files. */
  readonly files: FileFields
  /** The most bytes of JSON or of lines, if fewer than the limit of the server. */
  readonly most?: number
  readonly decode: (raw: RawBody, server: ServerParts) => Result.Result<A, ReadonlyArray<ValidationError>>
}

export const jsonOrFormBody = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  rules: BodyRules = () => [],
  files: FileFields = {}
): Body<S["Type"]> => bodyFor(schema, { rules, files, isExact: false })

/** A body in which an unknown field is refused, in whatever place. */
export const exactBody = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  rules: BodyRules = () => []
): Body<S["Type"]> => bodyFor(schema, { rules, files: {}, isExact: true })

interface BodyOptions {
  readonly rules: BodyRules
  readonly files: FileFields
  readonly isExact: boolean
}

const bodyFor = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  { files, isExact, rules }: BodyOptions
): Body<S["Type"]> => {
  const decodeExactly = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  const decodeHuge = Schema.decodeUnknownResult(schema, { onExcessProperty: isExact ? "error" : "ignore" })
  const decodeLoosely = Schema.decodeUnknownResult(schema, { errors: "all" })
  const isOptional = Result.isSuccess(decodeExactly(null))
  return {
    files,
    decode: (raw, server): Result.Result<S["Type"], ReadonlyArray<ValidationError>> => {
      const found = [...raw.problems, ...rules(raw, server)]
      if (raw.value === undefined && !isOptional)
        return Result.fail([{ loc: ["body"], msg: "Field required", type: "missing" }])
      if (holdsMoreThan(raw.value, many)) {
        const read = Result.mapError(decodeHuge(raw.value), ({ issue }) => toProblems(issue, ["body"]))
        return found.length === 0 || Result.isFailure(read) ? read : Result.fail(found.slice(0, mostTold))
      }
      const exact = decodeExactly(raw.value ?? null)
      if (Result.isSuccess(exact)) return found.length === 0 ? Result.succeed(exact.success) : Result.fail(found)
      const issues = toProblems(exact.failure.issue, ["body"]).filter((issue) => isExact || isReported(issue))
      const problems = [...issues.filter((issue) => !found.some((each) => isSameLoc(each, issue))), ...found]
      return problems.length > 0
        ? Result.fail(problems)
        : Result.mapError(decodeLoosely(raw.value ?? null), ({ issue }) => toProblems(issue, ["body"]))
    }
  }
}

/**
 * Values of a body. When it holds more, it is decoded up to its first problem: to find and list all of them would hold up every other
 * request.
 */
const many = 2_000
/** The most problems that are told of such a body. */
export const mostTold = 100

/** The body of a search: its limit is lower than that of other bodies. */
export const searchBody = <S extends Schema.ConstraintDecoder<unknown>>(schema: S): Body<S["Type"]> => ({
  ...jsonOrFormBody(schema),
  most: 32 * 1024
})

export const linesBody: Body<ReadonlyArray<string>> = {
  files: {},
  decode: ({ lines: pieces = [] }) => Result.succeed(pieces)
}

/** Where a body is not exact, unknown fields are ignored, except inside the option objects. */
const isReported = ({ loc, type }: ValidationError): boolean =>
  type !== "extra_forbidden" || (loc.length > 2 && exactFields.has(String(loc[1])))

const isSameLoc = (a: ValidationError, b: ValidationError): boolean => a.loc.join("\0") === b.loc.join("\0")

/** An annotation of endpoints: how the body is decoded, for the guard that reports problems of the whole request. */
export const DeclaredBody = Context.Reference<Body<unknown> | null>("@colloquy/http/DeclaredBody", {
  defaultValue: () => null
})

/** The services that decoding a body needs. */
export interface BodyContext {
  readonly bounds: Bounds
  readonly parts: () => ServerParts
  readonly rooms: FileRooms
}

export interface DecodedBody<A> {
  readonly value: A
  readonly raw: RawBody
  /** Deletes the files of this body of which no document was made: for a request that fails. */
  readonly discard: Effect.Effect<void>
}

type Decoded<A> = Effect.Effect<DecodedBody<A>, UnreadableBody | HTTPValidationError>

/** Decodes the body of a request, or fails with every problem that it has. */
export const decodeBody = <A>(
  body: Body<A>,
  request: HttpServerRequest,
  accepts: Accepts,
  { bounds, parts: partsNow, rooms }: BodyContext
): Effect.Effect<DecodedBody<A>, UnreadableBody | HTTPValidationError, Principal | Scope.Scope> => {
  const parts = partsNow()
  const { limits } = bounds
  const { most = Number.POSITIVE_INFINITY } = body
  const within = {
    ...bounds,
    limits: { ...limits, body: Math.min(limits.body, most), file: Math.min(limits.file, most) }
  }
  const read = (keep: KeepFile, discard: Effect.Effect<void>) =>
    Effect.flatMap(readBody(request, accepts, within, { fields: body.files, keep }), (raw): Decoded<A> => {
      if (hasTextOver(raw.value, limits.text))
        return Effect.fail(new PayloadTooLarge({ detail: textOverLimit(limits.text) }))
      const decoded = body.decode(raw, parts)
      return Result.isSuccess(decoded)
        ? Effect.succeed({ value: decoded.success, raw, discard })
        : Effect.fail(new HTTPValidationError({ detail: decoded.failure }))
    })
  return mayHaveFiles(request)
    ? Effect.flatMap(fileKeeper(body.files, rooms, parts.installed), ({ discard, keep }) =>
        Effect.onError(read(keep, discard), () => discard)
      )
    : read(dropFile, Effect.void)
}

/** Only a form brings files. */
const mayHaveFiles = ({ headers }: HttpServerRequest): boolean => mediaType(headers["content-type"]) === multipart

const json = "application/json"
const urlEncoded = "application/x-www-form-urlencoded"
const multipart = "multipart/form-data"
const lines = "application/x-ndjson"

export interface BodyFields {
  readonly fields: FileFields
  readonly keep: KeepFile
  /** Replaces the usual reading of JSON, which takes the whole body at once. */
  readonly json?: JsonReader
}

export type JsonReader = (request: HttpServerRequest, bounds: Bounds) => Effect.Effect<RawBody, UnreadableBody>

export const readBody = (
  request: HttpServerRequest,
  accepts: Accepts,
  bounds: Bounds,
  how: BodyFields
): Effect.Effect<RawBody, UnreadableBody> => {
  const read = readPlain(request, accepts, bounds, how)
  if (/^(?:identity)?$/iu.test(request.headers["content-encoding"] ?? "")) return read
  // The host may have unpacked it: then it can be read.
  return Effect.catchTag(read, "BadRequest", () => Effect.fail(new UnsupportedMediaType({ detail: packed })))
}

const packed = "The body is compressed. Send it without Content-Encoding."

const readPlain = (
  request: HttpServerRequest,
  accepts: Accepts,
  bounds: Bounds,
  { fields, json: read = wholeJson, keep }: BodyFields
): Effect.Effect<RawBody, UnreadableBody> => {
  const type = mediaType(request.headers["content-type"])
  if (isUnnamed(request)) return refuseType(request, unnamed, bounds)
  if (!accepts.has(type))
    return refuseType(request, `The content type ${type.slice(0, 100)} is not supported here`, bounds)
  switch (type) {
    case multipart:
      return readMultipart(request.headers, request.stream, bounds, keep).pipe(
        Effect.tap(({ files }) => refuseTypes(files)),
        Effect.map((form) => withFiles(form, fields))
      )
    case urlEncoded:
      return Effect.flatMap(readBytes(request, bounds, bounds.limits.body), (bytes) =>
        inSteps(readingForm(new Uint8Array(bytes)))
      )
    case lines:
      // A body of lines is a file, so it may be as large as one.
      return Effect.map(
        Effect.flatMap(readBytes(request, bounds, bounds.limits.file), (bytes) => inSteps(readingText(bytes))),
        (pieces) => ({ ...nothing, lines: pieces })
      )
    default:
      return read(request, bounds)
  }
}

const mediaType = (header: string | undefined): string => header?.split(";")[0]?.trim().toLowerCase() || json

/**
 * A browser asks for no permission before it sends a body without a content type to another site. So JSON without one is taken from
 * programs only.
 */
const isUnnamed = ({ headers }: HttpServerRequest): boolean =>
  !headers["content-type"] && (headers["origin"] !== undefined || headers["sec-fetch-site"] !== undefined)

const unnamed = "A browser must name the content type of a body, such as application/json"

/** An empty body may have any content type. */
const refuseType = (request: HttpServerRequest, detail: string, bounds: Bounds) =>
  Effect.flatMap(readBytes(request, bounds, bounds.limits.body), (bytes) =>
    bytes.byteLength === 0 ? Effect.succeed(nothing) : Effect.fail(new UnsupportedMediaType({ detail }))
  )

const nothing: RawBody = { value: undefined, files: [], problems: [] }

const readBytes = (request: HttpServerRequest, { bodyTimeout }: Bounds, limit: number) => {
  const bytes = hasTimedBody(request)
    ? request.bytesWithin(limit, bodyTimeout)
    : limitedTo(
        bodyTimeout,
        Effect.provideService(request.arrayBuffer, HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)),
        () => Effect.fail("late" as const)
      )
  return Effect.mapError(bytes, (fault) => (fault === "late" ? tooSlow() : unreadable(fault)))
}

const wholeJson = (request: HttpServerRequest, bounds: Bounds) =>
  Effect.flatMap(readBytes(request, bounds, bounds.limits.body), readJson)

/** Runs the steps of a large body, and lets other requests run between any two of them. */
const inSteps = <A, E>(steps: Steps<Result.Result<A, E>>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const step = steps.next()
    return step.done === true ? Effect.fromResult(step.value) : Effect.andThen(Effect.yieldNow, inSteps(steps))
  })

type Read<A> = Result.Result<A, BadRequest>

const notUtf8 = () => new BadRequest({ detail: "The body is not UTF-8" })

/** Decodes a text in steps, into pieces. */
function* readingText(bytes: ArrayBuffer): Steps<Read<ReadonlyArray<string>>> {
  return Result.mapError(yield* decodingText(bytes), notUtf8)
}

/** Small enough to be read at once, like almost all bodies. In bytes. */
const small = 64 * 1024

export const readJson = (bytes: ArrayBuffer): Effect.Effect<RawBody, BadRequest> =>
  bytes.byteLength > small ? inSteps(readingJson(bytes)) : Effect.fromResult(runSteps(readingJson(bytes)))

function* readingJson(bytes: ArrayBuffer): Steps<Read<RawBody>> {
  const pieces = yield* readingText(bytes)
  if (Result.isFailure(pieces)) return Result.fail(pieces.failure)
  const text = pieces.success.join("")
  if (!/\S/u.test(text)) return Result.succeed(nothing)
  const parsed = yield* parsingJson(text)
  yield
  return Result.isSuccess(parsed)
    ? Result.succeed({ value: parsed.success, files: [], problems: [] })
    : Result.fail(new BadRequest({ detail: jsonFaults[parsed.failure] }))
}

const jsonFaults: { readonly [Fault in JsonFault]: string } = {
  malformed: "The body is not valid JSON",
  too_deep: `The JSON is nested more than ${maximumDepth} levels deep`,
  too_many: `The JSON holds more than ${maximumValues} values`
}

/** Real forms have some dozens of fields. */
const maximumFields = 1000

const ampersand = 38
const equals = 61

function* readingForm(bytes: Uint8Array): Steps<Read<RawBody>> {
  const fields: Array<readonly [string, string]> = []
  for (let start = 0; start < bytes.length; start++) {
    if (bytes[start] === ampersand) continue
    if (fields.length === maximumFields) return Result.fail(new BadRequest({ detail: "The form has too many fields" }))
    const found = bytes.indexOf(ampersand, start)
    const end = found === -1 ? bytes.length : found
    const pair = bytes.subarray(start, end)
    const at = pair.indexOf(equals)
    const name = yield* decodingFormText(at === -1 ? pair : pair.subarray(0, at))
    const value = yield* decodingFormText(at === -1 ? pair.subarray(0, 0) : pair.subarray(at + 1))
    if (Result.isFailure(name) || Result.isFailure(value)) {
      return Result.fail(new BadRequest({ detail: "The form is not UTF-8" }))
    }
    fields.push([name.success, value.success])
    if (pair.length > small) yield
    start = end
  }
  return Result.succeed(rawFormBody(fields))
}

const rawFormBody = (fields: Iterable<readonly [string, string]>): RawBody => {
  const { body, problems } = readForm(fields)
  return { value: body, files: [], problems }
}

const withFiles = ({ fields, files }: MultipartForm, taken: FileFields): RawBody => {
  const form = rawFormBody(fields)
  return { ...form, files, problems: [...form.problems, ...problemsOfFiles(form.value, files, taken)] }
}
