/**
 * Port: limits how often a caller may do something. `http` asks it once per request, with the principal as the key and the rate that the
 * host chose. `layerInProcess` counts in this process only; a host with several processes provides an adapter over a shared store.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** At most `limit` calls within a window. They may all come at once; after that, one more is permitted every `window / limit`. */
export interface Rate {
  readonly limit: number
  readonly window: Duration.Input
}

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /**
     * Takes one place of `key` and returns null, or takes none and returns the milliseconds until one becomes free. MUST be atomic: of
     * concurrent callers no more than `limit` succeed. Keys are independent of each other.
     */
    readonly take: (key: string, rate: Rate) => Effect.Effect<number | null, StoreUnavailable>
  }
>()("@colloquy/core/access/RateLimiter") {
  static readonly layerInProcess: Layer.Layer<RateLimiter> = Layer.sync(RateLimiter, () => makeInProcess())
}

/** Above this number of keys, those at rest are removed. */
const tidyAt = 10_000

/**
 * Keeps one number per key: the time at which all its places are free again. A key whose time has passed is at rest, and removing it
 * changes nothing.
 */
const makeInProcess = (): typeof RateLimiter.Service => {
  const freeAt = new Map<string, number>()
  const tidy = (now: number) => {
    for (const [key, at] of freeAt) if (at <= now) freeAt.delete(key)
  }
  return {
    take: (key, { limit, window }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const span = Duration.toMillis(window)
        const next = Math.max(freeAt.get(key) ?? now, now) + span / limit
        const wait = next - span - now
        if (wait > 0) return Math.ceil(wait)
        if (freeAt.size >= tidyAt) tidy(now)
        freeAt.set(key, next)
        return null
      })
  }
}
