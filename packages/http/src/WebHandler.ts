/**
 * The service, ready to be mounted: `handler` takes web requests (Hono, Next, Bun, Deno, tests), `node` takes the messages of `node:http`
 * (Express, Fastify, plain servers) without making web requests of them. The kernel is built at the first request of either and lives as
 * long as they do.
 */
import { type Kernel, Turns } from "@colloquy/core"
import { Deadlines } from "@colloquy/core/adapters"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type App, type Apps, type Handler, noSniffing, notStarted } from "./App.ts"
import { withEnvelopeOutside } from "./guards/Envelope.ts"
import { defaultHttpSettings } from "./HttpSettings.ts"
import { bodyTaken, type NodeHandler } from "./node/HostedMessage.ts"
import { nodeHandler } from "./node/NodeHandler.ts"
import { plainPath, routes, type RoutesOptions } from "./Routes.ts"
import { Startup } from "./Startup.ts"

/** The kernel, and how its API is mounted. */
export interface WebHandlerOptions<E = never, Source = unknown> extends RoutesOptions<Source> {
  /** The kernel over its stores and providers. It may carry an adapter of `RateLimiter` too. */
  readonly kernel: Layer.Layer<Kernel.Kernel, E>
}

export interface WebHandler {
  /** Where the routes begin, such as `/ai`; at the root the empty text. */
  readonly basePath: string
  /** The first request builds the kernel. */
  readonly handler: (request: Request) => Promise<Response>
  /** The same for Node's messages: `createServer(ai.node)`, `app.use("/ai", ai.node)`. */
  readonly node: NodeHandler
  /** Builds the kernel if no request has begun to. Resolves when the kernel is built, and fails with the reason why it could not be built. */
  readonly ready: () => Promise<void>
  /** From now on, a new turn is answered with 503. Resolves when all running turns have settled. Requests that only read are still answered. */
  readonly drain: () => Promise<void>
  /** Interrupts the turns that still run, and closes the kernel with everything that it opened. */
  readonly dispose: () => Promise<void>
}

interface WebApp extends App {
  readonly web: Handler
}

export const webHandler = <E = never, Source = unknown>({
  kernel,
  ...options
}: WebHandlerOptions<E, Source>): WebHandler => {
  // Merged, so that requests run with the kernel's logger, tracer and clock too, and all requests share one set of deadlines.
  const app = Layer.merge(routes(options), unknownMethods).pipe(
    Layer.provideMerge([kernel, Deadlines.layer]),
    Layer.provideMerge(router)
  )
  const startup = new Startup(app)
  let open: WebApp | null = null
  let isDraining = false

  const whenNeeded = async (): Promise<WebApp> => {
    const services = await (await startup.whenNeeded()).context()
    if (open !== null) return open
    if (isDraining) await Effect.runPromiseWith(services)(drainTurns)
    const response = Context.get(services, HttpRouter.HttpRouter).asHttpEffect()
    const web = HttpEffect.toWebHandlerWith<never, HttpServerRequest | Scope.Scope>(services)(response)
    open ??= { response, services, web }
    return open
  }
  const handler: Handler = (request) => {
    if (request.bodyUsed)
      return Promise.resolve(Response.json({ detail: bodyTaken }, { status: 500, headers: noSniffing }))
    return open === null
      ? whenNeeded().then(
          ({ web }) => web(request),
          () => refuse(startup.secondsToRetry)
        )
      : open.web(request)
  }
  const bodyTimeout = Duration.toMillis(options.bodyTimeout ?? defaultHttpSettings.bodyTimeout)
  const apps: Apps = { whenNeeded, secondsToRetry: () => startup.secondsToRetry, bodyTimeout }
  return {
    basePath: plainPath(options.basePath),
    handler,
    node: nodeHandler(apps),
    ready: async () => {
      await startup.build()
    },
    drain: async () => {
      isDraining = true
      const runtime = await startup.begun?.catch(() => null)
      await runtime?.runPromise(drainTurns)
    },
    dispose: startup.close
  }
}

/** One way to write a path, and the same with a slash at its end. */
const asWritten = { caseSensitive: true, ignoreDuplicateSlashes: false, ignoreTrailingSlash: true }

const router = Layer.provide(HttpRouter.layer, Layer.succeed(HttpRouter.RouterConfig)(asWritten))

const drainTurns = Turns.use((turns) => turns.drain)

const refuse = (seconds: number) =>
  Response.json(
    { detail: notStarted.detail },
    { status: notStarted.status, headers: { ...noSniffing, "retry-after": String(seconds) } }
  )

/** Paths outside the base path and methods that no route has. */
const unknownMethods = HttpRouter.middleware((app) => withEnvelopeOutside(app), { global: true })
