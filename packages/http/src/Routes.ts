/**
 * All routes as a layer for a router: the endpoints of `Api.ts` with their handlers and guards, the documents, and an answer in JSON for
 * everything else under the base path. Other routes of the host's router are not touched.
 */
import type { Kernel } from "@colloquy/core"
import type { Authenticate, ClientAddress } from "@colloquy/core/adapters"
import * as ByteSize from "effect/ByteSize"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Api } from "./Api.ts"
import * as Authorization from "./guards/Authorization.ts"
import { type DocsPage, docsRoutes } from "./docs-page/DocsRoutes.ts"
import { errorResponse, notFound, withEnvelope } from "./guards/Envelope.ts"
import * as AnswersHandlers from "./handlers/AnswersHandlers.ts"
import * as AssistantsHandlers from "./handlers/AssistantsHandlers.ts"
import * as BillingHandlers from "./handlers/BillingHandlers.ts"
import * as InboxHandlers from "./handlers/InboxHandlers.ts"
import * as MemoriesHandlers from "./handlers/MemoriesHandlers.ts"
import * as DocumentsHandlers from "./handlers/DocumentsHandlers.ts"
import * as MessagesHandlers from "./handlers/MessagesHandlers.ts"
import * as ModelsHandlers from "./handlers/ModelsHandlers.ts"
import * as OwnersHandlers from "./handlers/OwnersHandlers.ts"
import * as RealtimeHandlers from "./handlers/RealtimeHandlers.ts"
import * as ConversationsHandlers from "./handlers/ConversationsHandlers.ts"
import * as RunsHandlers from "./handlers/RunsHandlers.ts"
import * as EvalsHandlers from "./handlers/EvalsHandlers.ts"
import * as SchedulesHandlers from "./handlers/SchedulesHandlers.ts"
import * as WebhooksHandlers from "./handlers/WebhooksHandlers.ts"
import * as ServiceHandlers from "./handlers/ServiceHandlers.ts"
import { ThreadLists } from "./handlers/ThreadLists.ts"
import * as ThreadsHandlers from "./handlers/ThreadsHandlers.ts"
import { socketPath } from "./handlers/SocketPath.ts"
import { defaultHttpSettings, HttpSettings } from "./HttpSettings.ts"
import { methodsAmong, reflectApi } from "./Methods.ts"
import * as Links from "./links/Links.ts"
import * as RateLimit from "./guards/RateLimit.ts"
import { inOneSegment, withSlashedNames } from "./endpoints/SlashedNames.ts"
import * as Validation from "./guards/Validation.ts"
import type { Wing } from "./wings/Wing.ts"
import { withoutFiles } from "./wings/WingEndpoints.ts"
import { Wings } from "./wings/Wings.ts"

/** `Source` is the type of the host's own request, as `authenticate` gets it. */
export interface RoutesOptions<Source = unknown> extends Partial<
  Omit<HttpSettings, "limits" | "authenticate" | "clientAddress">
> {
  readonly authenticate?: Authenticate<Source> | null
  readonly clientAddress?: ClientAddress<Source> | null
  /** Where the routes begin, such as `/ai`. Absent: at the root. */
  readonly basePath?: string
  readonly limits?: Partial<HttpSettings["limits"]>
  /**
   * The host's additions to the API: fields, events and endpoints of its own parts of turns, and `openai` of `@colloquy/http/openai`, with
   * the endpoints of OpenAI's clients under `/v1`.
   */
  readonly wings?: ReadonlyArray<Wing>
  /**
   * `docsPage` of `@colloquy/http/docs-page`: `/docs`, `/openapi.json` and `/asyncapi.json` are served. True, or absent: the last two. False:
   * neither.
   */
  readonly docs?: boolean | DocsPage
}

const { limits: defaultLimits, ...defaults } = defaultHttpSettings

const httpSettings = <Source>({
  basePath: _,
  docs: __,
  limits,
  wings: ___,
  ...options
}: RoutesOptions<Source>): HttpSettings => ({
  ...defaults,
  ...options,
  bodyTimeout: Duration.fromInputUnsafe(options.bodyTimeout ?? defaults.bodyTimeout),
  limits: { ...defaultLimits, ...limits }
})

/** `/ai/` and `ai` are `/ai`; the root is the empty text. */
export const plainPath = (path = ""): string => {
  const inner = path.replace(/^\/+|\/+$/gu, "")
  return inner === "" ? "" : `/${inner}`
}

const guards = Layer.mergeAll(Authorization.layer, RateLimit.layer, Validation.layer)

const handlers = Layer.mergeAll(
  AssistantsHandlers.layer,
  ThreadsHandlers.layer,
  MessagesHandlers.layer,
  RunsHandlers.layer,
  ConversationsHandlers.layer,
  InboxHandlers.layer,
  AnswersHandlers.layer,
  RealtimeHandlers.layer,
  MemoriesHandlers.layer,
  DocumentsHandlers.layer,
  ModelsHandlers.layer,
  BillingHandlers.layer,
  OwnersHandlers.layer,
  SchedulesHandlers.layer,
  WebhooksHandlers.layer,
  EvalsHandlers.layer,
  ServiceHandlers.layer
).pipe(Layer.provide([guards, ThreadLists.layer]))

const endpoints = withoutFiles(Layer.provide(HttpApiBuilder.layer(Api), handlers))

/** HEAD is missing on purpose: the router answers it from the GET route. */
const otherMethods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

const everythingElse = (wings: ReadonlyArray<Wing>) => {
  const methodsAt = methodsAmong(wings.flatMap(({ endpoints: own }) => own?.reflect ?? []))
  /**
   * The answer is 404 also for a path that exists with this method, if no route took the request: then no route accepts a value in the
   * path.
   */
  const refuse = Effect.map(HttpServerRequest, ({ method, url }) => {
    const path = (inOneSegment(url) ?? url).split("?", 1)[0] ?? ""
    const allowed = methodsAt(path)
    if (allowed.length === 0) return underOther(path) ?? notFound
    if (allowed.includes(method)) return notFound
    return HttpServerResponse.setHeader(errorResponse(405, "Method Not Allowed"), "allow", allowed.join(", "))
  })
  /** The answer if the API is mounted under a path, but has another `basePath` or none. */
  const underOther = (path: string) => {
    const [, first = "", second = ""] = path.split("/")
    const mounts = [`/${first}`, `/${first}/${second}`]
    const mount = mounts.find((each) => methodsAt(path.slice(each.length)).length > 0)
    if (mount === undefined) return null
    return errorResponse(
      404,
      `Not Found. If this API is mounted under "${mount}", give its handler \`basePath: "${mount}"\`.`
    )
  }
  return HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      for (const method of otherMethods) yield* router.add(method, "/*", withSlashedNames(router, refuse))
    })
  )
}

const under = (basePath: string) =>
  Layer.effect(
    HttpRouter.HttpRouter,
    Effect.map(HttpRouter.HttpRouter, (router) => (basePath === "" ? router : router.prefixed(basePath)))
  )

/** The routes of the service, for a router of the host: `HttpRouter.serve(routes({ basePath: "/ai" }))`. */
export const routes = <Source = unknown>(
  options: RoutesOptions<Source> = {}
): Layer.Layer<never, never, Kernel.Kernel | HttpRouter.HttpRouter> => {
  const settings = httpSettings(options)
  const basePath = plainPath(options.basePath)
  const envelope = HttpRouter.middleware((app) => withEnvelope(settings.cors)(app))
  const { docs: page = true, wings = [] } = options
  const docs = page === false ? Layer.empty : docsRoutes(basePath, page, wings)
  const wingRoutes = wings.flatMap(({ endpoints: own }) => (own === undefined ? [] : Layer.provide(own.routes, guards)))
  return Layer.mergeAll(endpoints, socketPath, docs, everythingElse(wings), ...wingRoutes).pipe(
    Layer.provide(envelope.layer),
    Layer.provide(Wings.layer(wings, reflectApi)),
    Layer.provide(Links.layer(basePath)),
    Layer.provide([
      Layer.succeed(HttpSettings, settings),
      // For the endpoints of a host's wings; those of the API have limits of their own.
      Layer.succeed(MaxBodySize, ByteSize.bytes(settings.limits.body)),
      under(basePath)
    ])
  )
}
