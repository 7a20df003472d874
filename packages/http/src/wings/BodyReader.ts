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
import { type Accepts, type Body, decodeBody, type BodyContext, type ServerParts } from "../bodies/RequestBody.ts"
import { Wings } from "./Wings.ts"

interface RawRequest {
  readonly request: HttpServerRequest
  readonly endpoint: { readonly payload: Accepts }
}

/** Parts may be registered at any time, so each request asks for them. Their names are collected again only when the parts have changed. */
export const bodyContext = Effect.gen(function* (): Effect.fn.Return<BodyContext, never, TurnParts | Wings> {
  const bounds = yield* HttpSettings
  const parts = yield* TurnParts
  const rooms = {
    documents: Option.getOrNull(yield* Effect.serviceOption(Documents)),
    recordings: Option.getOrNull(yield* Effect.serviceOption(Recordings))
  }
  const wings = yield* Wings
  const among = (all: ReturnType<typeof parts.all>): ServerParts => {
    const installed = partNames(all)
    return { installed, problems: (fields, raw) => wings.problems(fields, raw, installed) }
  }
  let known = parts.all()
  let found = among(known)
  const now = () => {
    const all = parts.all()
    if (all !== known) [known, found] = [all, among(all)]
    return found
  }
  return { bounds, rooms, parts: now }
})

const partNames = (parts: ReturnType<typeof TurnParts.Service.all>): ReadonlySet<string> =>
  new Set(parts.map(({ name }) => name))

export const bodyReader = Effect.map(
  bodyContext,
  (found) =>
    <A>(body: Body<A>, { endpoint, request }: RawRequest) =>
      decodeBody(body, request, endpoint.payload, found)
)
