/**
 * Counts each principal's requests against the quota. A refusal is a 429 or 402 with `Retry-After`; a 503 with `retry_after` gets that
 * header too.
 */
import { Allowances, Principal } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { PaymentRequired, ServiceUnavailable, TooManyRequests } from "../wire/Errors.ts"
import { RateLimit } from "../wire/Middleware.ts"
import { toWireError } from "../wire/ErrorStatus.ts"

export const layer = Layer.effect(
  RateLimit,
  Effect.gen(function* () {
    const { takeRequest } = yield* Allowances
    return RateLimit.of((app) => {
      const counted = Principal.use((principal) =>
        Effect.flatMapEager(Effect.mapErrorEager(takeRequest(principal), toWireError), () => app)
      )
      return Effect.catchIf(counted, isByLimit, withRetryAfter)
    })
  })
)

type ByLimit = (PaymentRequired | ServiceUnavailable | TooManyRequests) & { readonly retry_after: number }

const isByLimit = (error: unknown): error is ByLimit =>
  (error instanceof TooManyRequests || error instanceof PaymentRequired || error instanceof ServiceUnavailable) &&
  error.retry_after !== undefined

const withRetryAfter = ({ detail, retry_after, status }: ByLimit) =>
  Effect.succeed(
    HttpServerResponse.jsonUnsafe({ detail, retry_after }, { status, headers: { "retry-after": String(retry_after) } })
  )

export const tooMany = (millis: number) =>
  HttpServerResponse.jsonUnsafe(
    { detail: "Too many requests. Come back after the time in Retry-After." },
    { status: 429, headers: { "retry-after": String(Math.ceil(millis / 1000)) } }
  )
