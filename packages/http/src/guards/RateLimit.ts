/** Counts each principal's requests by the kernel's port; without an adapter of the host, in this process: 429, `Retry-After`. */
import { Principal } from "@colloquy/core"
import { rateLimiter } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { RateLimit } from "../endpoints/Middleware.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { HttpSettings } from "../HttpSettings.ts"

export const layer = Layer.effect(
  RateLimit,
  Effect.gen(function* () {
    const { rate } = yield* HttpSettings
    const limiter = yield* rateLimiter
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
