/** Gives handlers the decoded body of their request, under the limits of the host. */
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { HttpSettings } from "../HttpSettings.ts"
import { type Accepts, type Body, decodeBody } from "./RequestBody.ts"

interface RawRequest {
  readonly request: HttpServerRequest
  readonly endpoint: { readonly payload: Accepts }
}

export const bodyReader = Effect.map(
  HttpSettings,
  (bounds) =>
    <A>(body: Body<A>, { endpoint, request }: RawRequest) =>
      decodeBody(body, request, endpoint.payload, bounds)
)
