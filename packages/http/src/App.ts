/**
 * What `webHandler` runs: the routes as one effect, and the kernel's services. The handler of web requests and the handler of Node's
 * messages are both made from this effect. Headers and answers that both handlers send stand here.
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"

export interface App {
  readonly response: Effect.Effect<HttpServerResponse, unknown, HttpServerRequest | Scope.Scope>
  readonly services: Context.Context<never>
}

export type Handler = (request: Request) => Promise<Response>

/** The kernel, which is built at the latest when a request needs it. */
export interface Apps {
  /** Rejects when the kernel cannot be built. */
  readonly whenNeeded: () => Promise<App>
  /** The whole seconds after which a request tries again to build the kernel. */
  readonly secondsToRetry: () => number
  /** The milliseconds in which a client must send the rest of a body. */
  readonly bodyTimeout: number
}

/** The answer to requests while the kernel cannot be built. */
export const notStarted = { status: 503, detail: "The service could not be started" }

/** For every answer that sets no other rule: it may hold an owner's data, so no proxy or browser may store it. */
export const noStoring = "private, no-store"

/** For every answer: the browser must not guess another content type than the one that is sent. */
export const noSniffing = { "x-content-type-options": "nosniff" }
