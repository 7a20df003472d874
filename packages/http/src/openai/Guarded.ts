/**
 * The guards around each of OpenAI's endpoints: those of the native API (who asks, how often), so that one key and one rate hold for all
 * endpoints, with every refusal in OpenAI's form.
 */
import { type KeyScope, Principal } from "@colloquy/core"
import * as Effect from "effect/Effect"
import type * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Redacted from "effect/Redacted"
import { withBearerKey } from "../guards/BearerKey.ts"
import { Authorization, NeedsScope, RateLimit } from "../wire/Middleware.ts"
import { errorResponse, fromWire, OpenAiError } from "./Errors.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The endpoint as the guards get it: they read its annotations. */
const endpointFor = (scope: KeyScope) => ({
  // An endpoint differs from this type only in how its handlers are called, and no handler is called here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  endpoint: HttpApiEndpoint.get("openai", "/v1").annotate(NeedsScope, scope) as unknown as HttpApiEndpoint.Top,
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  group: HttpApiGroup.make("openai") as unknown as HttpApiGroup.Top
})

const tooMany = (seconds: string | undefined): Response => {
  const message = `Too many requests. Come back in ${seconds ?? "some"} seconds.`
  const response = errorResponse(new OpenAiError({ status: 429, message }))
  return seconds === undefined ? response : HttpServerResponse.setHeader(response, "retry-after", seconds)
}

const isWireFault = (error: unknown): error is { readonly status: number; readonly detail: string } =>
  typeof error === "object" &&
  error !== null &&
  "status" in error &&
  "detail" in error &&
  typeof error.status === "number" &&
  typeof error.detail === "string"

export const makeGuarded = Effect.gen(function* () {
  const authorization = yield* Authorization
  const rateLimit = yield* RateLimit

  return <R>(scope: KeyScope, handler: Effect.Effect<Response, OpenAiError, R | Principal>) => {
    const endpoint = endpointFor(scope)
    return Effect.gen(function* () {
      const request = withBearerKey(yield* HttpServerRequest)
      const context = yield* Effect.context<Exclude<R, Principal> | HttpRouter.Provided>()
      let isAdmitted = false
      const inside = Effect.suspend(() => {
        isAdmitted = true
        return Effect.catchTag(handler, "OpenAiError", (error) => Effect.succeed(errorResponse(error)))
      })
      const counted = Effect.flatMap(Principal, (principal) =>
        rateLimit(Effect.provideContext(Effect.provideService(inside, Principal, principal), context), endpoint).pipe(
          Effect.catch(refused),
          Effect.provideService(Principal, principal),
          Effect.provideContext(context)
        )
      )
      const answer = yield* Effect.catch(
        authorization.apiKey(counted, { ...endpoint, credential: Redacted.make(request.headers["x-api-key"] ?? "") }),
        refused
      ).pipe(Effect.provideService(HttpServerRequest, request))
      return isAdmitted || answer.status !== 429 ? answer : tooMany(answer.headers["retry-after"])
    })
  }
})

const refused = (error: unknown): Effect.Effect<Response> =>
  Effect.succeed(isWireFault(error) ? errorResponse(fromWire(error)) : broken)

const broken = errorResponse(new OpenAiError({ status: 500, message: "The server met a fault. Its log says which." }))
