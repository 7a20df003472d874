/** The rate limiter over one database: what one process takes is taken for all. */
import { RateLimiter } from "@colloquy/core"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

const rate = { limit: 3, window: "1 hour" } as const
const take = (key: string) => RateLimiter.use((limiter) => limiter.take(key, rate))

const promise = Effect.gen(function* () {
  const answers = yield* Effect.forEach(Array.from({ length: 12 }), () => take("ada"), { concurrency: "unbounded" })
  assert.strictEqual(answers.filter((answer) => answer === null).length, 3)
  const waits = answers.filter((answer) => answer !== null)
  for (const wait of waits)
    assert.isTrue(wait > 0 && wait <= 20 * 60 * 1000, `${wait} ms until the next of three an hour`)
  assert.isNull(yield* take("bob"), "another key has places of its own")
  assert.isNotNull(yield* take("ada"))
})

const oneMillisecond = Effect.gen(function* () {
  const limiter = yield* RateLimiter
  const quick = { limit: 1, window: "1 nano" } as const
  assert.isNull(yield* limiter.take("quick", quick))
  assert.isNull(yield* limiter.take("quick", quick), "a window that has passed gives its place back")
})

onPostgres((url) => {
  it.live("lets no more than the limit through, also from two pools, and says how long to wait", () =>
    Effect.gen(function* () {
      yield* promise
      yield* oneMillisecond
    }).pipe(
      Effect.provide(
        onScratchSchema(url, (schema) => Postgres.layerRateLimiter({ schema }).pipe(Layer.provide(hostClient(url))))
      )
    )
  )
})

onEmbedded("PGlite", () => {
  it.live("lets no more than the limit through, and says how long to wait", () =>
    Effect.andThen(promise, oneMillisecond).pipe(
      Effect.provide(Postgres.layerRateLimiter().pipe(Layer.provide(Pglite.layerClient())))
    )
  )
})
