/**
 * Surrounds every request: gives it an id, answers other origins if the host wants this, and handles defects. A defect becomes a 500
 * without details; the details are in the host's log, with the request's id.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as HttpServerError from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { noSniffing, noStoring } from "../App.ts"
import { unreadable } from "../bodies/BodyErrors.ts"
import { Conflict } from "../wire/Errors.ts"
import type { Cors } from "../HttpSettings.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Headers that pages of other origins may read. */
const exposedHeaders = ["X-Request-Id", "Retry-After", "ETag", "Content-Range", "X-Should-Retry", "X-Ignored-Options"]

export const errorResponse = (status: number, detail: string): Response =>
  HttpServerResponse.jsonUnsafe({ detail }, { status })

export const notFound = errorResponse(404, "Not Found")

export const withEnvelope = (cors: Cors | null) => {
  const forOtherOrigins =
    cors === null || cors.allowedOrigins.length === 0 ? null : HttpMiddleware.cors({ ...cors, exposedHeaders })
  return <E, R>(app: Effect.Effect<Response, E, R>): Effect.Effect<Response, E, R | HttpServerRequest> => {
    const known = forOtherOrigins === null ? app : forOtherOrigins(app)
    return HttpServerRequest.use((request) => {
      const id = readRequestId(request)
      const answered = isWrittenOtherwise(request) ? Effect.succeed(notFound) : known
      return Effect.catchCause(answered, (cause) => answerFor(cause, id)).pipe(
        Effect.annotateLogs("request_id", id),
        Effect.map((answer) => {
          const response = inJson(answer)
          return HttpServerResponse.setHeaders(response, { ...headersFor(response), "x-request-id": id })
        })
      )
    })
  }
}

/** For requests that no route takes. A route has an envelope of its own, and a request gets one id only. */
export const withEnvelopeOutside = <E, R>(app: Effect.Effect<Response, E, R>) =>
  Effect.catchCause(app, (cause) => withEnvelope(null)(Effect.failCause(cause)))

/**
 * Whether a path is written in another way than the one that this server gives out: with empty segments, parameters of segments, or escapes
 * of characters that need none. The router would take it for the same path, and a proxy in front that guards paths would not.
 */
const isWrittenOtherwise = ({ originalUrl }: HttpServerRequest): boolean =>
  otherwise.test(originalUrl.replace(/^https?:\/\/[^/?#]*/u, "").split(/[?#]/u, 1)[0] ?? "")

const otherwise = /\/\/|;|%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/iu

/** The builder of a host's endpoint refuses a content type in plain text. */
const inJson = (response: Response): Response =>
  response.status === 415 && response.headers["content-type"]?.startsWith("text/plain") === true
    ? errorResponse(415, "This content type is not supported here")
    : response

/** For `Vary`: each of these headers may name the owner of the answer. */
const identifying = "X-API-Key, Authorization, X-Session-Token, Cookie"

const headersFor = ({ headers }: Response) => ({
  ...noSniffing,
  "cache-control": headers["cache-control"] ?? noStoring,
  vary: headers["vary"] === undefined ? identifying : `${headers["vary"]}, ${identifying}`
})

const plainId = /^[\w.:-]{1,128}$/u

/** The caller's own id, when it can be written into a log and a header as it is. */
const readRequestId = ({ headers }: HttpServerRequest): string => {
  const id = headers["x-request-id"]
  return id !== undefined && plainId.test(id) ? id : globalThis.crypto.randomUUID()
}

const answerFor = <E>(cause: Cause.Cause<E>, id: string): Effect.Effect<Response, E> => {
  if (cause.reasons.every(Cause.isInterruptReason)) return Effect.failCause(cause)
  if (cause.reasons.some((reason) => Cause.isFailReason(reason) && isRouteNotFound(reason.error))) {
    return Effect.succeed(notFound)
  }
  for (const reason of cause.reasons) {
    const error = Cause.isDieReason(reason) ? readDefect(reason.defect) : null
    if (error !== null) return Effect.succeed(errorResponse(error.status, error.detail))
  }
  return Effect.as(
    Effect.logError(`Request ${id} met a fault of the server`, cause),
    errorResponse(500, "Internal Server Error")
  )
}

/** The defects that a client is told of. The body of an endpoint of a host's wing, if it cannot be read, is one. */
const readDefect = (defect: unknown) => {
  if (defect instanceof Conflict) return defect
  return HttpServerError.isHttpServerError(defect) && defect.reason._tag === "RequestParseError"
    ? unreadable(defect)
    : null
}

const isRouteNotFound = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"
