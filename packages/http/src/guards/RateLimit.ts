/** Counts each principal's requests by the kernel's port; without an adapter of the host, in this process: 429, `Retry-After`. */
import { Principal, RateLimiter } from "@colloquy/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { RateLimit } from "../endpoints/Middleware.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { HttpSettings } from "../HttpSettings.ts"

/** The host's, when the kernel's layer carries one. */
export const requestLimiter = Effect.gen(function* () {
  const hosts = yield* Effect.serviceOption(RateLimiter)
  return Option.isSome(hosts) ? hosts.value : Context.get(yield* Layer.build(RateLimiter.layerInProcess), RateLimiter)
})

export const layer = Layer.effect(
  RateLimit,
  Effect.gen(function* () {
    const { rate } = yield* HttpSettings
    const limiter = yield* requestLimiter
    if (rate === null) return RateLimit.of((app) => app)
    return RateLimit.of((app) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const wait = yield* Effect.mapError(limiter.take(ownerId, rate), toWireError)
        return wait === null ? yield* app : tooMany(wait)
      })
    )
  })
)

export const tooMany = (millis: number) =>
  HttpServerResponse.jsonUnsafe(
    { detail: "Too many requests. Come back after the time in Retry-After." },
    { status: 429, headers: { "retry-after": String(Math.ceil(millis / 1000)) } }
  )
