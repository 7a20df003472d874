/** The body of a request as JSON, or its first problem in OpenAI's form. */
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { holdsMoreThan, isRecord } from "../wire/Json.ts"
import { dropFiles } from "../bodies/KeepFiles.ts"
import { toProblems } from "../bodies/Problems.ts"
import type { LiftedBody } from "../bodies/LiftedMedia.ts"
import { readLifted } from "../bodies/ReadLifted.ts"
import { type JsonReader, readBody } from "../bodies/RequestBody.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { hasTextOver, textOverLimit } from "../bodies/Text.ts"
import { fromWire, invalid, OpenAiError, paramFromLocation } from "./Errors.ts"

export type Fields = Readonly<Record<string, unknown>>

const accepts = new Set(["application/json"])

/** The fields of a body, and the media that stand in them by marks. */
export interface ReadRequest {
  readonly fields: Fields
  readonly media: Media
}

export type Media = LiftedBody["media"]

/** The body contains pictures and sound: each may be as large as a file, and the rest as large as any body. No body is an empty object. */
export const readRequest: Effect.Effect<ReadRequest, OpenAiError, HttpServerRequest> = Effect.gen(function* () {
  const bounds = yield* HttpSettings
  const request = yield* HttpServerRequest
  let media: Media = new Map()
  const json = (...[asked, within]: Parameters<JsonReader>) =>
    readLifted(asked, within, (lifted) => {
      media = lifted
    })
  const { value } = yield* Effect.mapError(
    readBody(request, accepts, bounds, { fields: {}, keep: dropFiles({}), json }),
    fromWire
  )
  if (value === undefined) return { fields: {}, media }
  if (hasTextOver(value, bounds.limits.text))
    return yield* new OpenAiError({ status: 413, message: textOverLimit(bounds.limits.text) })
  return isRecord(value) ? { fields: value, media } : yield* invalid("The body must be a JSON object.", null)
})

export const readFields: Effect.Effect<Fields, OpenAiError, HttpServerRequest> = Effect.map(
  readRequest,
  ({ fields }) => fields
)

/** The number of values that are decoded before other requests run. */
const many = 2_000

/** Fields that the schema does not have are left to `ignoredOptions`. */
export const makeDecoder = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S
): ((fields: Fields) => Effect.Effect<S["Type"], OpenAiError>) => {
  // Only the first problem is told.
  const decode = Schema.decodeUnknownResult(schema, { errors: "first", onExcessProperty: "ignore" })
  return (fields) => {
    const decoded = decode(fields)
    if (Result.isSuccess(decoded))
      return holdsMoreThan(fields, many) ? Effect.as(Effect.yieldNow, decoded.success) : Effect.succeed(decoded.success)
    const [problem] = toProblems(decoded.failure.issue, [])
    if (problem === undefined) return Effect.fail(invalid("The body is not valid.", null))
    const param = paramFromLocation(problem.loc)
    return problem.type === "missing"
      ? Effect.fail(invalid(`Missing required parameter: '${param}'.`, param, "missing_required_parameter"))
      : Effect.fail(invalid(`Invalid value for '${param}': ${problem.msg}`, param, "invalid_value"))
  }
}
