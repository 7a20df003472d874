/** The rate limiter over one database: what one process takes is taken for all. */
import { RateLimiter } from "@colloquy/core"
import { rateLimiterSuite } from "@colloquy/testing/contracts"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

const take = RateLimiter.use((limiter) => limiter.take("ada", { limit: 3, window: "1 hour" }))

onPostgres((url) => {
  const limiter = onScratchSchema(url, (schema) =>
    Postgres.layerRateLimiter({ schema }).pipe(Layer.provide(hostClient(url)))
  )
  rateLimiterSuite("Postgres", limiter)

  it.live("tells a wait that is longer than 2 ** 31 milliseconds", () =>
    Effect.gen(function* () {
      const takeOne = RateLimiter.use((store) => store.take("monthly", { limit: 1, window: "30 days" }))
      assert.isNull(yield* takeOne)
      assert.isAbove((yield* takeOne) ?? 0, 2 ** 31)
    }).pipe(Effect.provide(limiter))
  )

  it.live("lets no more than the limit through from two pools together", () =>
    Effect.gen(function* () {
      const both = onScratchSchema(url, (schema) =>
        Layer.effect(
          RateLimiter,
          Effect.gen(function* () {
            const pool = Layer.build(
              Layer.fresh(Postgres.layerRateLimiter({ schema }).pipe(Layer.provide(hostClient(url))))
            )
            const [first, second] = [
              yield* Effect.provide(RateLimiter, yield* pool),
              yield* Effect.provide(RateLimiter, yield* pool)
            ]
            let calls = 0
            return { take: (key, rate) => (calls++ % 2 === 0 ? first : second).take(key, rate) }
          })
        )
      )
      const waits = yield* Effect.all(
        Array.from({ length: 12 }, () => take),
        { concurrency: "unbounded" }
      ).pipe(Effect.provide(both))
      assert.strictEqual(waits.filter((wait) => wait === null).length, 3)
    })
  )
})

onEmbedded("PGlite", () => {
  rateLimiterSuite("PGlite", Postgres.layerRateLimiter().pipe(Layer.provide(Pglite.layerClient())))
})
