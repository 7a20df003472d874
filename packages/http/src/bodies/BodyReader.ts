/**
 * Gives handlers the decoded body of their request, under the limits of the host and with the options that the kernel's parts take. Files
 * that came with it are kept until the request ends, unless the handler makes documents of them.
 */
import { TurnParts } from "@colloquy/core"
import { Documents, Recordings } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { HttpSettings } from "../HttpSettings.ts"
import { type Accepts, type Body, decodeBody, type BodyContext } from "./RequestBody.ts"

interface RawRequest {
  readonly request: HttpServerRequest
  readonly endpoint: { readonly payload: Accepts }
}

/** Parts may be registered at any time, so they are asked for at each request. */
export const bodyContext = Effect.gen(function* (): Effect.fn.Return<BodyContext, never, TurnParts> {
  const bounds = yield* HttpSettings
  const parts = yield* TurnParts
  const rooms = {
    documents: Option.getOrNull(yield* Effect.serviceOption(Documents)),
    recordings: Option.getOrNull(yield* Effect.serviceOption(Recordings))
  }
  return { bounds, rooms, installed: () => new Set(parts.all().map(({ name }) => name)) }
})

export const bodyReader = Effect.map(
  bodyContext,
  (found) =>
    <A>(body: Body<A>, { endpoint, request }: RawRequest) =>
      decodeBody(body, request, endpoint.payload, found)
)
