/**
 * Endpoints of rooms that this server does not have: the routes exist, ask for a key like all others, and answer 501 with a sentence. They
 * stand outside of `Api`, so that descriptions and clients do not promise them.
 */
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Layer from "effect/Layer"
import { Authorization, RateLimit } from "../endpoints/Middleware.ts"
import { NotImplemented } from "../wire/Errors.ts"
import { absentEndpoints, type AbsentEndpoint } from "../wings/Wings.ts"

const refusing = ({ method, path, title }: AbsentEndpoint) => {
  const endpoint = HttpApiEndpoint.make(method)("refuse", path, { error: NotImplemented })
  const api = HttpApi.make("absent")
    .add(HttpApiGroup.make("room").add(endpoint))
    .middleware(RateLimit)
    .middleware(Authorization)
  const detail = `${title} are not available on this server: its host has not installed them.`
  return HttpApiBuilder.layer(api).pipe(
    Layer.provide(
      HttpApiBuilder.group(api, "room", (handlers) =>
        handlers.handle("refuse", () => Effect.fail(new NotImplemented({ detail })))
      )
    )
  )
}

const [first, ...rest] = absentEndpoints.map(refusing)

export const absentRooms = first === undefined ? Layer.empty : Layer.mergeAll(first, ...rest)
