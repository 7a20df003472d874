/**
 * The service as one function from a web `Request` to a web `Response`: what Hono, Next, Bun, Deno and tests call as it is, and what
 * `@colloquy/http/node` wraps for Express, Fastify and plain `node:http`. The kernel lives as long as the handler.
 */
import { type Kernel, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { withEnvelope } from "./Envelope.ts"
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
  const runtime = ManagedRuntime.make(kernel)
  // Merged, so that requests run with the kernel's logger, tracer and clock too.
  const app = Layer.merge(routes(options), unknownMethods).pipe(
    Layer.provideMerge(Layer.effectContext(runtime.contextEffect))
  )
  const web = HttpRouter.toWebHandler(app, { disableLogger: true, routerConfig: { ignoreTrailingSlash: true } })
  return {
    // The only way to fail is a kernel that could not be built.
    handler: (request) => web.handler(request).catch(() => notStarted()),
    ready: () => runtime.runPromise(Effect.void),
    drain: () => runtime.runPromise(Turns.use((turns) => turns.drain)),
    dispose: async () => {
      await web.dispose()
      await runtime.dispose()
    }
  }
}

const notStarted = () => Response.json({ detail: "The service could not be started" }, { status: 503 })

/** Paths outside the base path and methods that no route has. */
const unknownMethods = HttpRouter.middleware((app) => withEnvelope(null)(app), { global: true })
