/**
 * The error bodies of the wire, one class a status. All are `{"detail": …}`; the comments say which is used when, and `ErrorStatus.ts`
 * turns the kernel's errors into these. Endpoints declare those that they can answer with, so documents and clients know them.
 */
import * as Schema from "effect/Schema"

const detail = { detail: Schema.String }

export class BadRequest extends Schema.Error<BadRequest>("BadRequest")(detail, {
  httpApiStatus: 400,
  description: "The body cannot be read: malformed JSON, form or text"
}) {
  readonly status = 400
}

export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(detail, {
  httpApiStatus: 401,
  description: "The API key is missing or not valid"
}) {
  readonly status = 401
}

export class PaymentRequired extends Schema.Error<PaymentRequired>("PaymentRequired")(detail, {
  httpApiStatus: 402,
  description: "There is not enough credit; nothing was charged"
}) {
  readonly status = 402
}

export class NotFound extends Schema.Error<NotFound>("NotFound")(detail, {
  httpApiStatus: 404,
  description: "There is no such thing, or it belongs to somebody else"
}) {
  readonly status = 404
}

export class Conflict extends Schema.Error<Conflict>("Conflict")(
  { ...detail, run_id: Schema.optionalKey(Schema.String) },
  { httpApiStatus: 409, description: "The thread is busy, or the idempotency key was used for another request" }
) {
  readonly status = 409
}

export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(detail, {
  httpApiStatus: 413,
  description: "The body, a file or the text is over the limit"
}) {
  readonly status = 413
}

export class UnsupportedMediaType extends Schema.Error<UnsupportedMediaType>("UnsupportedMediaType")(detail, {
  httpApiStatus: 415,
  description: "The content type or a file type is not supported"
}) {
  readonly status = 415
}

/** One problem of a request: where it is, what it is in words, and what kind it is. */
export const ValidationError = Schema.Struct({
  loc: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  msg: Schema.String,
  type: Schema.String
}).annotate({ identifier: "ValidationError" })
export type ValidationError = typeof ValidationError.Type

export class HTTPValidationError extends Schema.Error<HTTPValidationError>("HTTPValidationError")(
  { detail: Schema.Array(ValidationError) },
  { httpApiStatus: 422, description: "Every problem of the request" }
) {
  readonly status = 422
}

export class TooManyRequests extends Schema.Error<TooManyRequests>("TooManyRequests")(detail, {
  httpApiStatus: 429,
  description: "Over the rate limit; `Retry-After` tells when to come back"
}) {
  readonly status = 429
}

export class InternalServerError extends Schema.Error<InternalServerError>("InternalServerError")(detail, {
  httpApiStatus: 500,
  description: "A fault of the server"
}) {
  readonly status = 500
}

export class ServiceUnavailable extends Schema.Error<ServiceUnavailable>("ServiceUnavailable")(detail, {
  httpApiStatus: 503,
  description: "The store cannot be reached, or the server is shutting down"
}) {
  readonly status = 503
}
