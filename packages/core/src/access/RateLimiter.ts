/**
 * Port: how often one caller may do something. `http` asks it once a request, with the principal as the key and the rate that the host
 * chose. `layerInProcess` counts in this process alone; a host with several processes provides an adapter over what they share.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** So many within each window. They may come at once; after that, one becomes free every `window / limit`. */
export interface Rate {
  readonly limit: number
  readonly window: Duration.Input
}

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /**
     * Takes one place of `key` and answers null, or takes none and answers in how many milliseconds one becomes free. MUST be atomic:
     * of concurrent callers no more than `limit` are let through. Keys do not touch each other.
     */
    readonly take: (key: string, rate: Rate) => Effect.Effect<number | null, StoreUnavailable>
  }
>()("@colloquy/core/access/RateLimiter") {
  static readonly layerInProcess: Layer.Layer<RateLimiter> = Layer.sync(RateLimiter, () => makeInProcess())
}

/** How many keys are remembered before those that are at rest are dropped. */
const tidyAt = 10_000

/**
 * One number a key: the moment at which all its places are free again. A key at rest is one whose moment has passed; forgetting it
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
