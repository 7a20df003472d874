/** A request that limits the time of its own body. Node's requests do so without a fiber; web requests need one. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"

export interface TimedBody {
  /** The whole body, or the error `late`. */
  readonly bytesWithin: (limit: number, time: Duration.Input) => Effect.Effect<ArrayBuffer, HttpServerError | "late">
}

export const hasTimedBody = (request: HttpServerRequest): request is HttpServerRequest & TimedBody =>
  "bytesWithin" in request
