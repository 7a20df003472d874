/**
 * The error bodies of the wire, one class a status. All are `{"detail": …}`; the comments say which is used when, and `ErrorStatus.ts`
 * turns the kernel's errors into these. Endpoints declare those that they can answer with, so the description of the API and the clients
 * know them. `_tag`, `status` and `message` are for those who catch them; the wire has `detail` alone.
 */
import * as Schema from "effect/Schema"

const detail = { detail: Schema.String }

/** 400: the request cannot be carried out as it is. */
export class BadRequest extends Schema.Error<BadRequest>("BadRequest")(
  {
    ...detail,
    /** The thread that has the files of the refused message. */
    thread_id: Schema.optionalKey(Schema.String),
    /** Its files: named as `attachments`, they need not be sent again. */
    document_ids: Schema.optionalKey(Schema.Array(Schema.String))
  },
  {
    httpApiStatus: 400,
    description:
      "The body cannot be read: malformed JSON, form or text. Or a document that the message needs is still processed"
  }
) {
  readonly _tag = "BadRequest"
  readonly status = 400
  override get message() {
    return this.detail
  }
}

/** 401: no valid proof came with the request. */
export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(detail, {
  httpApiStatus: 401,
  description: "The API key is missing or not valid"
}) {
  readonly _tag = "Unauthorized"
  readonly status = 401
  override get message() {
    return this.detail
  }
}

/** Seconds; the header `Retry-After` says the same. */
const retryAfter = { retry_after: Schema.optionalKey(Schema.Int) }

/** 402: the owner has no credit for it. */
export class PaymentRequired extends Schema.Error<PaymentRequired>("PaymentRequired")(
  { ...detail, ...retryAfter },
  {
    httpApiStatus: 402,
    description: "There is not enough credit, or the dollars of the day are used; nothing was charged"
  }
) {
  readonly _tag = "PaymentRequired"
  readonly status = 402
  override get message() {
    return this.detail
  }
}

/** 403: the scope of the key does not allow this request, or the page of another site sent it with a session. Nothing was done. */
export class Forbidden extends Schema.Error<Forbidden>("Forbidden")(detail, {
  httpApiStatus: 403,
  description:
    "The key does not have the scope for this, or the page of another site sent the request with its user's session"
}) {
  readonly _tag = "Forbidden"
  readonly status = 403
  override get message() {
    return this.detail
  }
}

/** 404: the owner has no such record. */
export class NotFound extends Schema.Error<NotFound>("NotFound")(detail, {
  httpApiStatus: 404,
  description: "There is no such thing, or it belongs to another user"
}) {
  readonly _tag = "NotFound"
  readonly status = 404
  override get message() {
    return this.detail
  }
}

/** 408: the client stopped sending before the end of the body. */
export class RequestTimeout extends Schema.Error<RequestTimeout>("RequestTimeout")(detail, {
  httpApiStatus: 408,
  description: "The client stopped sending before the end of the body"
}) {
  readonly _tag = "RequestTimeout"
  readonly status = 408
  override get message() {
    return this.detail
  }
}

/** 409: the request does not fit the present state of the record. */
export class Conflict extends Schema.Error<Conflict>("Conflict")(
  { ...detail, run_id: Schema.optionalKey(Schema.String) },
  { httpApiStatus: 409, description: "The thread is busy, or the idempotency key was used for another request" }
) {
  readonly _tag = "Conflict"
  readonly status = 409
  override get message() {
    return this.detail
  }
}

/** 412: the record has changed since it was read. */
export class PreconditionFailed extends Schema.Error<PreconditionFailed>("PreconditionFailed")(detail, {
  httpApiStatus: 412,
  description: "The record has been changed: its `ETag` is none of those in `If-Match`"
}) {
  readonly _tag = "PreconditionFailed"
  readonly status = 412
  override get message() {
    return this.detail
  }
}

/** 413: the body has too many bytes. */
export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(detail, {
  httpApiStatus: 413,
  description: "The body, a file or the text is over the limit"
}) {
  readonly _tag = "PayloadTooLarge"
  readonly status = 413
  override get message() {
    return this.detail
  }
}

/** 415: a body or a file of this type is not taken. */
export class UnsupportedMediaType extends Schema.Error<UnsupportedMediaType>("UnsupportedMediaType")(detail, {
  httpApiStatus: 415,
  description: "The content type or a file type is not supported"
}) {
  readonly _tag = "UnsupportedMediaType"
  readonly status = 415
  override get message() {
    return this.detail
  }
}

/** 416: the file has no such range of bytes. */
export class RangeNotSatisfiable extends Schema.Error<RangeNotSatisfiable>("RangeNotSatisfiable")(detail, {
  httpApiStatus: 416,
  description: "The range lies behind the last byte; `Content-Range` tells how many there are"
}) {
  readonly _tag = "RangeNotSatisfiable"
  readonly status = 416
  override get message() {
    return this.detail
  }
}

/** One problem of a request: where it is, what it is in words, and what kind it is. */
export const ValidationError = Schema.Struct({
  loc: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  msg: Schema.String,
  type: Schema.String
}).annotate({ identifier: "ValidationError" })
export type ValidationError = typeof ValidationError.Type

/** `body.content: Field required; query.limit: …` */
const inWords = (problems: ReadonlyArray<ValidationError>): string =>
  problems.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ")

/** 422: fields are wrong; each with its path. */
export class HTTPValidationError extends Schema.Error<HTTPValidationError>("HTTPValidationError")(
  { detail: Schema.Array(ValidationError) },
  { httpApiStatus: 422, description: "Every problem of the request" }
) {
  readonly _tag = "HTTPValidationError"
  readonly status = 422
  override get message() {
    return inWords(this.detail)
  }
}

/** 429: a limit of the owner is reached for now. */
export class TooManyRequests extends Schema.Error<TooManyRequests>("TooManyRequests")(
  { ...detail, ...retryAfter },
  {
    httpApiStatus: 429,
    description: "Over a limit: `detail` tells which and what is left, `Retry-After` when to come back"
  }
) {
  readonly _tag = "TooManyRequests"
  readonly status = 429
  override get message() {
    return this.detail
  }
}

/** 500: a fault of the server, whose reason is in its log. */
export class InternalServerError extends Schema.Error<InternalServerError>("InternalServerError")(detail, {
  httpApiStatus: 500,
  description: "A fault of the server"
}) {
  readonly _tag = "InternalServerError"
  readonly status = 500
  override get message() {
    return this.detail
  }
}

/** 501: the host has not added what this needs. */
export class NotImplemented extends Schema.Error<NotImplemented>("NotImplemented")(detail, {
  httpApiStatus: 501,
  description: "The host of this server has not installed what the endpoint belongs to"
}) {
  readonly _tag = "NotImplemented"
  readonly status = 501
  override get message() {
    return this.detail
  }
}

/** 502: a vendor failed or refused. */
export class BadGateway extends Schema.Error<BadGateway>("BadGateway")(detail, {
  httpApiStatus: 502,
  description: "A provider failed before anything was stored"
}) {
  readonly _tag = "BadGateway"
  readonly status = 502
  override get message() {
    return this.detail
  }
}

/** 504: a vendor was too slow. */
export class GatewayTimeout extends Schema.Error<GatewayTimeout>("GatewayTimeout")(detail, {
  httpApiStatus: 504,
  description: "A provider did not answer in time, and nothing was stored"
}) {
  readonly _tag = "GatewayTimeout"
  readonly status = 504
  override get message() {
    return this.detail
  }
}

/** 503: the store does not answer, or the server ends. */
export class ServiceUnavailable extends Schema.Error<ServiceUnavailable>("ServiceUnavailable")(
  { ...detail, ...retryAfter },
  {
    httpApiStatus: 503,
    description: "The store cannot be reached, the server is shutting down, or a part of the turn took too long"
  }
) {
  readonly _tag = "ServiceUnavailable"
  readonly status = 503
  override get message() {
    return this.detail
  }
}

/** Thrown by clients only: the answer was not written by this service, but for instance by a proxy. */
export class UnexpectedAnswer extends Schema.Error<UnexpectedAnswer>("UnexpectedAnswer")({
  ...detail,
  status: Schema.Int
}) {
  readonly _tag = "UnexpectedAnswer"
  override get message() {
    return this.detail
  }
}
