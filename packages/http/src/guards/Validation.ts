/**
 * Turns findings of the endpoint's schemas into one 422 with every problem of the whole request: path, query, headers and body, FastAPI
 * style. The first finding stops the endpoint, so the other parts are looked at here; a good request pays nothing for it.
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest, ParsedSearchParams } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type { HttpApiSchemaError } from "effect/http-api/HttpApiError"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import type { TurnParts } from "@colloquy/core"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Validation } from "../wire/Middleware.ts"
import { HTTPValidationError, type ValidationError } from "../wire/Errors.ts"
import type { Wings } from "../wings/Wings.ts"
import { bodyContext } from "../wings/BodyReader.ts"
import { dropFiles } from "../bodies/KeepFiles.ts"
import { toProblems } from "../bodies/Problems.ts"
import {
  type Body,
  type BodyContext,
  DeclaredBody,
  jsonOrFormBody,
  readBody,
  type UnreadableBody
} from "../bodies/RequestBody.ts"

export const layer: Layer.Layer<Validation, never, TurnParts | Wings> = Layer.unwrap(
  Effect.map(bodyContext, (found) =>
    HttpApiMiddleware.layerSchemaErrorTransform(Validation, (error, { endpoint }) =>
      isOurs(error) ? Effect.die(error) : Effect.flatMap(Effect.result(findProblems(error, endpoint, found)), answer)
    )
  )
)

/** The response does not fit its own schema: a fault of this service. */
const isOurs = ({ kind }: HttpApiSchemaError): boolean => kind === "Body" || kind === "ResponseHeaders"

const answer = (found: Result.Result<ReadonlyArray<ValidationError>, UnreadableBody>) =>
  Result.isSuccess(found)
    ? Effect.fail(new HTTPValidationError({ detail: found.success }))
    : Effect.succeed(HttpServerResponse.jsonUnsafe({ detail: found.failure.detail }, { status: found.failure.status }))

const findProblems = Effect.fnUntraced(function* (
  error: HttpApiSchemaError,
  endpoint: HttpApiEndpoint.Top,
  { bounds, parts }: BodyContext
) {
  const request = yield* HttpServerRequest
  const { params } = yield* HttpRouter.RouteContext
  const query = yield* ParsedSearchParams
  const body = Context.get(endpoint.annotations, DeclaredBody) ?? bodyOfHost(endpoint)
  const decodedBody =
    body === null
      ? Result.void
      : body.decode(
          yield* readBody(request, endpoint.payload, bounds, { fields: body.files, keep: dropFiles(body.files) }),
          parts()
        )
  const problems = [
    ...problemsInPart(endpoint.params, params, "path"),
    ...problemsInPart(
      endpoint.query === undefined ? undefined : Schema.toCodecArrayFromSingle(endpoint.query),
      query,
      "query"
    ),
    ...problemsInPart(endpoint.headers, request.headers, "header"),
    ...(Result.isFailure(decodedBody) ? decodedBody.failure : [])
  ]
  // A body that is no JSON, of a host's endpoint: only its builder can decode it.
  return problems.length > 0 ? problems : toProblems(error.cause.issue, ["body"])
})

const bodyOfHost = ({ payload }: HttpApiEndpoint.Top): Body<unknown> | null => {
  const json = payload.get("application/json")
  return json === undefined ? null : jsonOrFormBody(asServiceFree(Schema.Union(json.schemas)))
}

/** Parts of endpoints decode without services; the common type of all endpoints does not say so. */
const asServiceFree = (schema: Schema.ConstraintDecoder<unknown, unknown>) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  schema as Schema.ConstraintDecoder<unknown>

const problemsInPart = (
  schema: Schema.Top | undefined,
  value: unknown,
  part: string
): ReadonlyArray<ValidationError> => {
  if (schema === undefined) return []
  const decoded = Schema.decodeUnknownResult(asServiceFree(schema), { errors: "all" })(value)
  return Result.isSuccess(decoded) ? [] : toProblems(decoded.failure.issue, [part])
}
