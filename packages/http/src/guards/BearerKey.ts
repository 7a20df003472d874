/** Clients of other protocols send the key as a bearer token. It is copied to the header of the API's own clients, unless that header is set. */
import * as Headers from "effect/http/Headers"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"

export const withBearerKey = (request: HttpServerRequest): HttpServerRequest => {
  const [, bearer] = /^Bearer +(\S+)\s*$/iu.exec(request.headers["authorization"] ?? "") ?? []
  return bearer === undefined || request.headers["x-api-key"] !== undefined
    ? request
    : request.modify({ headers: Headers.set(request.headers, "x-api-key", bearer) })
}
