/** A request that limits the time of its body itself, as Node's do: the wait needs no fiber of its own, as that for a web request does. */
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
