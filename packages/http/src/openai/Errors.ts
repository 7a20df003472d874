/**
 * Errors as OpenAI's clients know them: `{"error": {"message", "type", "param", "code"}}`, and a status by which the client chooses its
 * class. Refusals of the kernel and of the API's own guards come here through the table of the native API, so that no error is forgotten.
 */
import * as Schema from "effect/Schema"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { RunFault } from "@colloquy/core/adapters"
import type { ValidationError } from "../wire/Errors.ts"
import { compact } from "../wire/Fields.ts"
import { type BodyPath, type KernelError, toWireError } from "../wire/ErrorStatus.ts"
import { ownBodyPath } from "../wings/Wings.ts"

export class OpenAiError extends Schema.TaggedError<OpenAiError>()("OpenAiError", {
  status: Schema.Int,
  message: Schema.String,
  /** The field that is wrong, as a path. */
  param: Schema.optional(Schema.NullOr(Schema.String)),
  code: Schema.optional(Schema.NullOr(Schema.String)),
  /** Whether the client may send the same request again by itself. Absent: the client decides by the status. */
  mayRetry: Schema.optional(Schema.Boolean),
  /** Seconds. */
  retryAfter: Schema.optional(Schema.Number)
}) {}

const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error"
}

const codes: Readonly<Record<number, string>> = { 401: "invalid_api_key", 429: "rate_limit_exceeded" }

export const errorBody = ({ code, message, param, status }: OpenAiError) => ({
  message,
  type: types[status] ?? (status < 500 ? "invalid_request_error" : "server_error"),
  param: param ?? null,
  code: code ?? codes[status] ?? null
})

export const errorResponse = (error: OpenAiError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(
    { error: errorBody(error) },
    {
      status: error.status,
      headers: {
        ...(error.mayRetry === undefined ? {} : { "x-should-retry": String(error.mayRetry) }),
        ...(error.retryAfter === undefined ? {} : { "retry-after": String(error.retryAfter) })
      }
    }
  )

/** A request that cannot be done as it is. */
export const invalid = (message: string, param: string | null, code: string | null = null) =>
  new OpenAiError({ status: 400, message, param, code })

/** `messages[0].content` */
export const paramFromLocation = (loc: ValidationError["loc"]): string =>
  loc.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("")

/** Fields of the native API, by the names that a client of OpenAI has sent them under. */
const renamed: Readonly<Record<string, string | null>> = {
  llm_provider: "model",
  model_name: "model",
  tool_outputs: "input",
  // These are made of several fields, so it is not known which of the fields is wrong.
  content: null,
  files: null,
  transcript: null
}

const firstProblem = (problems: ReadonlyArray<ValidationError>) => {
  const [{ loc, msg } = { loc: [], msg: "The request is not valid." }] = problems
  const [field, ...rest] = loc[0] === "body" ? loc.slice(1) : loc
  const name = typeof field === "string" && Object.hasOwn(renamed, field) ? renamed[field] : field
  return { message: msg, param: name === undefined || name === null ? null : paramFromLocation([name, ...rest]) }
}

interface WireFault {
  readonly status: number
  readonly detail: string | ReadonlyArray<ValidationError>
  readonly retry_after?: number
}

/** The error of the native API in this form. Its 422 is a 400 here. */
export const fromWire = ({ detail, retry_after, status }: WireFault): OpenAiError =>
  typeof detail === "string"
    ? new OpenAiError({ status, message: detail, ...compact({ retryAfter: retry_after }) })
    : new OpenAiError({ status: 400, ...firstProblem(detail) })

/** Limits that do not reset soon. */
const perDay: ReadonlySet<string> = new Set(["tokensPerDay", "usdPerDay"])

export const fromKernel = (error: KernelError, bodyPath: BodyPath = ownBodyPath): OpenAiError => {
  switch (error._tag) {
    case "ContextTooLong":
      return invalid(error.message, null, "context_length_exceeded")
    case "InsufficientCredit":
      return new OpenAiError({ status: 429, message: error.message, code: "insufficient_quota", mayRetry: false })
    case "OverLimit": {
      const { detail, retry_after: retryAfter } = toWireError(error)
      const code = perDay.has(error.limit) ? "insufficient_quota" : "rate_limit_exceeded"
      const pause = retryAfter === undefined ? {} : { retryAfter }
      return new OpenAiError({ status: 429, message: detail, code, mayRetry: !perDay.has(error.limit), ...pause })
    }
    case "StoreUnavailable":
      return error.isErasing === true
        ? new OpenAiError({ status: 409, message: error.message, mayRetry: false })
        : fromWire(toWireError(error, bodyPath))
    case "ProviderNotFound":
    case "ModelNotNamed":
    case "AssistantNotFound":
      return new OpenAiError({ status: 404, message: error.message, param: "model", code: "model_not_found" })
    default:
      return fromWire(toWireError(error, bodyPath))
  }
}

const faults: Readonly<Record<string, { readonly status: number; readonly code?: string }>> = {
  rate_limited: { status: 429 },
  overloaded: { status: 503 },
  refused: { status: 400, code: "content_filter" },
  context_too_long: { status: 400, code: "context_length_exceeded" },
  invalid_request: { status: 400 },
  model_not_found: { status: 404, code: "model_not_found" },
  timeout: { status: 504 },
  output_not_supported: { status: 400, code: "output_not_supported" },
  too_many_tool_rounds: { status: 400, code: "too_many_tool_rounds" },
  budget_exceeded: { status: 429, code: "insufficient_quota" }
}

/** The error of a failed run. A client must not send a stored run again by itself, because the thread would then have its message twice. */
export const fromFault = ({ code, message, retryable }: RunFault, isStored: boolean): OpenAiError => {
  const known = faults[code] ?? { status: 502 }
  return new OpenAiError({
    status: known.status,
    message,
    code: known.code ?? code,
    ...(known.status === 404 ? { param: "model" } : {}),
    mayRetry: retryable && !isStored
  })
}
