/**
 * Gives handlers the decoded body of their request, under the limits of the host and with the options that the kernel's parts take. Files
 * that came with it are kept until the request ends, unless the handler makes documents of them.
 */
import { TurnParts } from "@colloquy/core"
import { Documents, Recordings } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { HttpSettings } from "../HttpSettings.ts"
import { type Accepts, type Body, decodeBody, type BodyContext, type ServerParts } from "../bodies/RequestBody.ts"
import { HTTPValidationError, type ValidationError } from "../wire/Errors.ts"
import { isRecord } from "../wire/Json.ts"
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

/**
 * As `bodyReader`, for a body whose values the kernel checks as well: what does not fit the schema is listed together with what `check` says
 * about the fields that fit. `partial` decodes some of the fields.
 */
export const checkedBodyReader = Effect.gen(function* () {
  const found = yield* bodyContext
  return Effect.fnUntraced(function* <A, B, E, R>(
    body: Body<A>,
    partial: Body<B>,
    { endpoint, request }: RawRequest,
    check: (fields: B) => Effect.Effect<ReadonlyArray<ValidationError>, E, R>
  ) {
    const both: Body<ReturnType<Body<A>["decode"]>> = {
      ...body,
      decode: (raw, server) => Result.succeed(body.decode(raw, server))
    }
    const { raw, value: decoded } = yield* decodeBody(both, request, endpoint.payload, found)
    if (Result.isSuccess(decoded)) return decoded.success
    const wrong = new Set(decoded.failure.map(({ loc }) => loc[1]))
    const rest = Object.entries(isRecord(raw.value) ? raw.value : {}).filter(([name]) => !wrong.has(name))
    const fields = partial.decode({ ...raw, value: Object.fromEntries(rest), problems: [] }, found.parts())
    const more = Result.isSuccess(fields) ? yield* check(fields.success) : []
    return yield* new HTTPValidationError({ detail: [...decoded.failure, ...more] })
  })
})

export const bodyReader = Effect.map(
  bodyContext,
  (found) =>
    <A>(body: Body<A>, { endpoint, request }: RawRequest) =>
      decodeBody(body, request, endpoint.payload, found)
)
