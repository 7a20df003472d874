/** The guards of every endpoint: authentication, rates, and the form in which problems of a request are listed. */
import type { KeyScope, Principal } from "@colloquy/core"
import * as Context from "effect/Context"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import {
  Forbidden,
  HTTPValidationError,
  InternalServerError,
  PaymentRequired,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized
} from "./Errors.ts"

/**
 * On an endpoint: the scope that a key needs for it. Each endpoint names its own; one that names none is for keys with the scope `admin`
 * alone.
 */
export const NeedsScope = Context.Reference<KeyScope | null>("@colloquy/http/NeedsScope", { defaultValue: () => null })

/** Finds the principal by the API key, or by the host's own function. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Principal }>()(
  "@colloquy/http/Authorization",
  {
    error: [Unauthorized, Forbidden, ServiceUnavailable],
    security: { apiKey: HttpApiSecurity.apiKey({ in: "header", key: "X-API-Key" }) }
  }
) {}

/** Counts the principal's requests against the quota. Each endpoint may be refused by a limit. */
export class RateLimit extends HttpApiMiddleware.Service<RateLimit, { requires: Principal }>()(
  "@colloquy/http/RateLimit",
  {
    error: [PaymentRequired, TooManyRequests, ServiceUnavailable]
  }
) {}

/** Lists every problem of a request at once, and says nothing about a fault of the server. */
export class Validation extends HttpApiMiddleware.Service<Validation>()("@colloquy/http/Validation", {
  error: [HTTPValidationError, InternalServerError]
}) {}
