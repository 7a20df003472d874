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

/** The places of a key that were taken since all of them were free, and when all are free again. */
interface Taken {
  readonly since: number
  readonly places: number
  readonly freeAt: number
}

/** A key whose places are all free is at rest, and removing it changes nothing. Places are counted, because sums of fractions are not exact. */
const makeInProcess = (): typeof RateLimiter.Service => {
  const keys = new Map<string, Taken>()
  const tidy = (now: number) => {
    for (const [key, { freeAt }] of keys) if (freeAt <= now) keys.delete(key)
  }
  return {
    take: (key, { limit, window }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const span = Duration.toMillis(window)
        const known = keys.get(key)
        const { places: before, since } = known === undefined || known.freeAt <= now ? { places: 0, since: now } : known
        const places = before + 1
        const used = (places * span) / limit
        const wait = used - span - (now - since)
        if (wait > 0) return Math.ceil(wait)
        if (keys.size >= tidyAt) tidy(now)
        keys.set(key, { since, places, freeAt: since + used })
        return null
      })
  }
}
