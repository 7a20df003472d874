/** The body of a request as JSON, and what of it is wrong: the first problem, in OpenAI's form. */
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isRecord } from "../wire/Json.ts"
import { dropFiles } from "../bodies/KeepFiles.ts"
import { toProblems } from "../bodies/Problems.ts"
import { readBody } from "../bodies/RequestBody.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { fromWire, invalid, type OpenAiError, pathOf } from "./Errors.ts"

export type Fields = Readonly<Record<string, unknown>>

const accepts = new Set(["application/json"])

/** Pictures stand in the body, so it may be as large as a file. No body is an empty object. */
export const readFields: Effect.Effect<Fields, OpenAiError, HttpServerRequest> = Effect.gen(function* () {
  const { bodyTimeout, limits } = yield* HttpSettings
  const request = yield* HttpServerRequest
  const bounds = { bodyTimeout, limits: { ...limits, body: Math.max(limits.body, limits.file) } }
  const { value } = yield* Effect.mapError(
    readBody(request, accepts, bounds, { fields: {}, keep: dropFiles({}) }),
    fromWire
  )
  if (value === undefined) return {}
  return isRecord(value) ? value : yield* invalid("The body must be a JSON object.", null)
})

/** Fields that the schema does not have are left to `ignoredOptions`. */
export const decoderOf = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S
): ((fields: Fields) => Effect.Effect<S["Type"], OpenAiError>) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "ignore" })
  return (fields) => {
    const decoded = decode(fields)
    if (Result.isSuccess(decoded)) return Effect.succeed(decoded.success)
    const [problem] = toProblems(decoded.failure.issue, [])
    if (problem === undefined) return Effect.fail(invalid("The body is not valid.", null))
    const param = pathOf(problem.loc)
    return problem.type === "missing"
      ? Effect.fail(invalid(`Missing required parameter: '${param}'.`, param, "missing_required_parameter"))
      : Effect.fail(invalid(`Invalid value for '${param}': ${problem.msg}`, param, "invalid_value"))
  }
}
