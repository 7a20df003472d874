/**
 * The service as one function from a web `Request` to a web `Response`: what Hono, Next, Bun, Deno and tests call as it is, and what
 * `@colloquy/http/node` serves to Express, Fastify and plain `node:http`. The kernel lives as long as the handler.
 */
import { type Kernel, Turns } from "@colloquy/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type * as Scope from "effect/Scope"
import { type Handler, notStarted, remember } from "./App.ts"
import { withEnvelopeOutside } from "./Envelope.ts"
import { routes, type RoutesOptions } from "./Routes.ts"

export interface WebHandlerOptions<E = never> extends RoutesOptions {
  /** The kernel over its stores and providers. It may carry an adapter of `RateLimiter` too. */
  readonly kernel: Layer.Layer<Kernel.Kernel, E>
}

export interface WebHandler {
  readonly handler: (request: Request) => Promise<Response>
  /** Resolves when the kernel is built, and fails with what kept it from that. Requests wait for it. */
  readonly ready: () => Promise<void>
  /** From now on new turns are answered with 503; resolves when the running ones have settled. Reading goes on. */
  readonly drain: () => Promise<void>
  /** Ends what is left and closes the kernel with everything that it opened. */
  readonly dispose: () => Promise<void>
}

export const webHandler = <E = never>({ kernel, ...options }: WebHandlerOptions<E>): WebHandler => {
  // Merged, so that requests run with the kernel's logger, tracer and clock too.
  const app = Layer.merge(routes(options), unknownMethods).pipe(Layer.provideMerge(kernel), Layer.provideMerge(router))
  const runtime = ManagedRuntime.make(app)
  const built = runtime.context().then((services) => {
    const answer = Context.get(services, HttpRouter.HttpRouter).asHttpEffect()
    const web = HttpEffect.toWebHandlerWith<never, HttpServerRequest | Scope.Scope>(services)(answer)
    return { answer, services, web }
  })
  let web: Handler | null = null
  built.then(
    (ready) => (web = ready.web),
    () => {}
  )
  const handler: Handler = (request) =>
    web === null ? built.then((ready) => ready.web(request), refuse) : web(request)
  remember(handler, built)
  return {
    handler,
    ready: () => runtime.runPromise(Effect.void),
    drain: () => runtime.runPromise(Turns.use((turns) => turns.drain)),
    dispose: () => runtime.dispose()
  }
}

const router = Layer.provide(HttpRouter.layer, Layer.succeed(HttpRouter.RouterConfig)({ ignoreTrailingSlash: true }))

const refuse = () => Response.json({ detail: notStarted.detail }, { status: notStarted.status })

/** Paths outside the base path and methods that no route has. */
const unknownMethods = HttpRouter.middleware((app) => withEnvelopeOutside(app), { global: true })
