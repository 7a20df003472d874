/** The contract of `RateLimiter`. The layer is built for each case, so that nothing was taken before. */
import { RateLimiter, RunId } from "@colloquy/core"
import { newId, type Rate } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

const rate: Rate = { limit: 3, window: "1 hour" }
const placeAgain = 20 * 60_000

/** A key that no other test of a shared store takes. */
const newKey = newId(RunId)

const take = (key: string, wanted = rate) => RateLimiter.use((limiter) => limiter.take(key, wanted))

/** What every limiter of rates must do. */
export const rateLimiterSuite = (name: string, limiter: Layer.Layer<RateLimiter, unknown>): void => {
  describe(`the contract of RateLimiter: ${name}`, () => {
    it.live("MUST let no more than the limit of concurrent callers through, and tell the others how long to wait", () =>
      Effect.gen(function* () {
        const key = yield* newKey
        const callers = Array.from({ length: 12 }, () => take(key))
        const waits = yield* Effect.all(callers, { concurrency: "unbounded" })
        assert.strictEqual(waits.filter((wait) => wait === null).length, 3)
        for (const wait of waits) if (wait !== null) assert.isTrue(wait > 0 && wait <= placeAgain, `${wait} ms`)
        assert.isNotNull(yield* take(key))
      }).pipe(Effect.provide(limiter))
    )

    it.live("MUST keep the places of two keys apart", () =>
      Effect.gen(function* () {
        const [first, second] = [yield* newKey, yield* newKey]
        for (const key of [first, second]) {
          for (const _ of [1, 2, 3]) assert.isNull(yield* take(key))
          assert.isNotNull(yield* take(key))
        }
      }).pipe(Effect.provide(limiter))
    )

    it.live("MUST give a place back when its window has passed", () =>
      Effect.gen(function* () {
        const key = yield* newKey
        let places = 0
        // A limiter that counts in longer times than this window says for how long.
        for (let looks = 0; looks < 10 && places < 3; looks++) {
          const wait = yield* take(key, { limit: 1, window: "1 nano" })
          if (wait === null) places++
          else yield* Effect.sleep(wait)
        }
        assert.strictEqual(places, 3, "No place was free after the time that the limiter told.")
      }).pipe(Effect.provide(limiter))
    )
  })
}
