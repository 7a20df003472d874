/** `/openapi.json` and `/docs`. The page is loaded when somebody asks for it. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Scope from "effect/Scope"
import { Api } from "../Api.ts"

/** The document of the service as it is mounted. */
const mountedAt = (basePath: string) =>
  Api.annotate(OpenApi.Servers, [{ url: basePath === "" ? "/" : basePath, description: "This server" }])

export const docsRoutes = (basePath: string) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const api = mountedAt(basePath)
      const scope = yield* Scope.Scope
      const page = yield* Effect.cached(
        Effect.flatMap(
          Effect.promise(() => import("./DocsPage.ts")),
          ({ page: pageOf }) => Scope.provide(pageOf(api), scope)
        )
      )
      const document = yield* Effect.cached(Effect.sync(() => HttpServerResponse.jsonUnsafe(OpenApi.fromApi(api))))
      yield* router.add("GET", "/openapi.json", document)
      yield* router.add("GET", "/docs", page)
    })
  )
