/**
 * What a web handler runs, kept beside it: the routes as one effect, and the kernel's services. The glue to a server that has requests of
 * its own finds it here by the handler and runs it without making web requests of them. A function that is not found here is called.
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

/** Rejects when the kernel could not be built. */
type Built = Promise<App>

const apps = new WeakMap<Handler, Built>()

export const remember = (handler: Handler, app: Built): void => {
  apps.set(handler, app)
}

export const appOf = (handler: Handler): Built | undefined => apps.get(handler)

export const notStarted = { status: 503, detail: "The service could not be started" }
