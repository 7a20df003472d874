/**
 * Wrong API keys, counted by the address of the client where the host tells it. An address over the rate gets 429 without a look-up of its
 * keys, so that guessing is slow and costs the store nothing. Keys that were found valid shortly before go on working from there.
 */
import type { Principal } from "@colloquy/core"
import * as Effect from "effect/Effect"
import { type ServiceUnavailable, Unauthorized } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { requestLimiter } from "./RateLimit.ts"

export type Found = typeof Principal.Service

/** Come back after so long. */
export interface Refused {
  readonly waitMillis: number
}

/** What looks a key up, and what surrounds that. */
export type LookUp = Effect.Effect<Found, Unauthorized | ServiceUnavailable>
export type Guard = (lookUp: LookUp) => Effect.Effect<Found | Refused, Unauthorized | ServiceUnavailable>

/** How many addresses are remembered before those that may come again are dropped. */
const tidyAt = 10_000

export const makeFailedKeys = Effect.gen(function* () {
  const { failedKeys } = yield* HttpSettings
  const limiter = yield* requestLimiter
  const refusedUntil = new Map<string, number>()

  const refuse = (address: string, waitMillis: number, now: number): Refused => {
    if (refusedUntil.size >= tidyAt)
      for (const [each, until] of refusedUntil) if (until <= now) refusedUntil.delete(each)
    refusedUntil.set(address, now + waitMillis)
    return { waitMillis }
  }

  const count = (address: string, error: Unauthorized, now: number) =>
    Effect.flatMap(Effect.mapError(limiter.take(`failed key from ${address}`, failedKeys), toWireError), (wait) =>
      wait === null ? Effect.fail(error) : Effect.succeed(refuse(address, wait, now))
    )

  return (address: string): Guard =>
    (lookUp) =>
      Effect.clockWith((clock) => {
        const now = clock.currentTimeMillisUnsafe()
        const until = refusedUntil.get(address)
        if (until !== undefined && until > now) return Effect.succeed({ waitMillis: until - now })
        refusedUntil.delete(address)
        return Effect.catchIf(
          lookUp,
          (error) => error instanceof Unauthorized,
          (error) => count(address, error, now)
        )
      })
})
