/** The in-process rate limiter: no more than the limit at once, and one more with each part of the window that passes. */
import { assert, describe, layer } from "@effect/vitest"
import { RateLimiter } from "@colloquy/core"
import { rateLimiterSuite } from "@colloquy/testing/contracts"
import { type Rate } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

const rate: Rate = { limit: 3, window: "30 seconds" }

rateLimiterSuite("in process", RateLimiter.layerInProcess)

describe("in process", () => {
  layer(RateLimiter.layerInProcess)((it) => {
    it.effect("lets the limit through at once, and then one for each part of the window", () =>
      Effect.gen(function* () {
        const limiter = yield* RateLimiter
        const take = (times: number) =>
          Effect.replicateEffect(limiter.take("a", rate), times, { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* take(5), [null, null, null, 10_000, 10_000])
        yield* TestClock.adjust("9 seconds")
        assert.deepStrictEqual(yield* take(1), [1000])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* take(2), [null, 10_000])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* take(4), [null, null, null, 10_000])
      })
    )

    it.effect("lets the whole limit through also where its parts of the window are no whole milliseconds", () =>
      Effect.gen(function* () {
        const limiter = yield* RateLimiter
        // Sums are less exact on a day of today than at the beginning of a test.
        yield* TestClock.setTime(Date.parse("2026-11-30T10:00:00.123Z"))
        for (const limit of [7, 9, 28, 97, 3000]) {
          for (const window of ["1 second", "1 minute"] as const) {
            const take = limiter.take(`${limit} in ${window}`, { limit, window })
            const taken = yield* Effect.replicateEffect(take, limit + 2)
            assert.strictEqual(taken.filter((wait) => wait === null).length, limit, `${limit} in ${window}`)
          }
        }
      })
    )

    it.effect("goes on with another limit as if the time until all is free had been used up with it", () =>
      Effect.gen(function* () {
        const limiter = yield* RateLimiter
        const take = (limit: number) => limiter.take("changed", { limit, window: "1 minute" })
        for (let second = 0; second < 600; second++) {
          assert.isNull(yield* take(60))
          yield* TestClock.adjust(second < 59 ? "1 milli" : "1 second")
        }
        // Almost a minute is used up, of which the lower limit has ten seconds for each place.
        assert.isAtMost((yield* take(6)) ?? Infinity, 10_000)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(
          (yield* Effect.replicateEffect(take(6000), 6002)).filter((wait) => wait === null).length,
          6000
        )
      })
    )

    it.effect("keeps keys apart", () =>
      Effect.gen(function* () {
        const limiter = yield* RateLimiter
        for (const key of ["b", "c"]) {
          for (const _ of [1, 2, 3]) assert.isNull(yield* limiter.take(key, rate))
          assert.isNotNull(yield* limiter.take(key, rate))
        }
      })
    )
  })
})
