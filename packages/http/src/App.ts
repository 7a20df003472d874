/**
 * What `webHandler` runs: the routes as one effect, and the kernel's services. Both handlers, for web requests and for Node's messages,
 * are made from it; what both of them answer is here.
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"

export interface App {
  readonly answer: Effect.Effect<HttpServerResponse, unknown, HttpServerRequest | Scope.Scope>
  readonly services: Context.Context<never>
}

export type Handler = (request: Request) => Promise<Response>

/** The kernel that is built, or is built now because a request needs it. */
export interface Apps {
  /** Rejects when the kernel cannot be built. */
  readonly whenNeeded: () => Promise<App>
  /** Whole seconds after which a request will try that again. */
  readonly secondsToRetry: () => number
  /** Milliseconds that a client has for the rest of a body. */
  readonly bodyTimeout: number
}

/** The answer to requests while the kernel cannot be built. */
export const notStarted = { status: 503, detail: "The service could not be started" }

/** On every answer that names no other rule: it may hold the data of an owner, so nothing between here and the client may keep it. */
export const noStoring = "private, no-store"

/** On every answer: a browser takes it for nothing else than its content type says. */
export const noSniffing = { "x-content-type-options": "nosniff" }
