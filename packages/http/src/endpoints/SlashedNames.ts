/**
 * Names of models with slashes in them, written into a path as they are: `/models/acme/m-1` means `/models/acme%2Fm-1`. Routes accept one
 * segment only. So a request that no route has taken is rewritten here with one segment, and sent to the routes again.
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"

const before = /^\/models\/(?:(?:embedding|video|provider)\/)?/u

/** The same address with one segment for the name; null when it is not of this kind. */
export const inOneSegment = (url: string): string | null => {
  const [start] = before.exec(url) ?? []
  const [path = ""] = url.split("?", 1)
  if (start === undefined || path.includes("#")) return null
  const name = path.slice(start.length).split("/")
  while (name.at(-1) === "") name.pop()
  return name.length < 2 ? null : `${start}${name.join("%2F")}${url.slice(path.length)}`
}

/** The new address has no slash left in the name, so it is not rewritten twice. */
export const withSlashedNames = Effect.fnUntraced(function* (
  router: HttpRouter.HttpRouter,
  otherwise: Effect.Effect<HttpServerResponse, never, HttpServerRequest>
) {
  const request = yield* HttpServerRequest
  const url = inOneSegment(request.url)
  if (url === null) return yield* otherwise
  const { route } = yield* HttpRouter.RouteContext
  const prefix = Option.getOrElse(route.prefix, () => "")
  const known = request.modify({ url: prefix + url })
  return yield* Effect.orDie(Effect.provideService(router.asHttpEffect(), HttpServerRequest, known))
})
