/**
 * `/openapi.json`, `/asyncapi.json` for the streams, and `/docs` where the host gave a page for it. They are made when they are first asked
 * for, and hold nothing of an owner.
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Scope from "effect/Scope"
import { Api } from "../Api.ts"
import { describe, schemaOfWings, withWings } from "./ApiDescription.ts"
import { packed } from "./Packed.ts"
import { streamDescription } from "./StreamDescription.ts"
import type { Wing } from "../wings/Wing.ts"

/** Makes the page that reads the description of this API. `docsPage` of `@colloquy/http/docs-page` is one. */
export type DocsPage = (api: typeof Api) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>

/** The mounted API, with the additions of the host's wings. */
const mountedAt = (basePath: string, wings: ReadonlyArray<Wing>) => {
  const servers = [{ url: basePath === "" ? "/" : basePath, description: "This server" }]
  const own: typeof Api = Api.annotate(OpenApi.Servers, servers)
  const api = wings.reduce((described, { endpoints }) => endpoints?.describe?.(described) ?? described, own)
  return api
    .annotate(HttpApi.AdditionalSchemas, [schemaOfWings(wings)])
    .annotate(OpenApi.Transform, (document) => withWings(describe(document)))
}

export const docsRoutes = (basePath: string, page: DocsPage | true, wings: ReadonlyArray<Wing>) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const api = mountedAt(basePath, wings)
      const scope = yield* Scope.Scope
      const description = yield* Effect.cached(
        Effect.suspend(() => packed(HttpServerResponse.jsonUnsafe(OpenApi.fromApi(api))))
      )
      yield* router.add("GET", "/openapi.json", Effect.flatten(description))
      const streams = yield* Effect.cached(
        Effect.suspend(() => packed(HttpServerResponse.jsonUnsafe(streamDescription(OpenApi.fromApi(api)))))
      )
      yield* router.add("GET", "/asyncapi.json", Effect.flatten(streams))
      if (page === true) return
      const shown = yield* Effect.cached(Effect.suspend(() => Effect.flatMap(Scope.provide(page(api), scope), packed)))
      yield* router.add("GET", "/docs", Effect.flatten(shown))
    })
  )
