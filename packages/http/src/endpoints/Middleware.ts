/** What guards every endpoint: who asks, how often, and the form in which problems of a request are told. Specification part 5. */
import type { Principal } from "@colloquy/core"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import {
  HTTPValidationError,
  InternalServerError,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized
} from "../wire/Errors.ts"

/** Finds the principal by the API key, or by what the host makes of his own headers. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Principal }>()(
  "@colloquy/http/Authorization",
  {
    error: [Unauthorized, ServiceUnavailable],
    security: { apiKey: HttpApiSecurity.apiKey({ in: "header", key: "X-API-Key" }) }
  }
) {}

/** Counts the principal's requests. */
export class RateLimit extends HttpApiMiddleware.Service<RateLimit, { requires: Principal }>()(
  "@colloquy/http/RateLimit",
  {
    error: [TooManyRequests, ServiceUnavailable]
  }
) {}

/** Tells every problem of a request at once, and nothing of a fault of our own. */
export class Validation extends HttpApiMiddleware.Service<Validation>()("@colloquy/http/Validation", {
  error: [HTTPValidationError, InternalServerError]
}) {}
