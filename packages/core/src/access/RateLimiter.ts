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

/** The places of a key that were taken since all of them were free, or since the limit was another one. */
interface Taken {
  readonly since: number
  readonly places: number
  readonly limit: number
  readonly span: number
}

/** When all places are free again. They are counted and then divided, because sums of fractions are not exact. */
const freeAt = ({ limit, places, since, span }: Taken): number => since + (places * span) / limit

/** A key whose places are all free is at rest, and removing it changes nothing. */
const makeInProcess = (): typeof RateLimiter.Service => {
  const keys = new Map<string, Taken>()
  const tidy = (now: number) => {
    for (const [key, taken] of keys) if (freeAt(taken) <= now) keys.delete(key)
  }
  return {
    take: (key, { limit, window }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const span = Duration.toMillis(window)
        const known = keys.get(key)
        const busy = known === undefined ? 0 : Math.max(freeAt(known) - now, 0)
        const goesOn = busy > 0 && known?.limit === limit && known.span === span
        const before = goesOn ? known : { since: now, places: (busy * limit) / span, limit, span }
        const taken = { ...before, places: before.places + 1 }
        const wait = freeAt(taken) - span - now
        if (wait > 0) return Math.ceil(wait)
        if (keys.size >= tidyAt) tidy(now)
        keys.set(key, taken)
        return null
      })
  }
}
