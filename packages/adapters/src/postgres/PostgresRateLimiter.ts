/**
 * The rate limiter for several processes on one Postgres: a row a key, holding the moment at which all its places are free again. One
 * statement takes a place or tells how long to wait, by the database's clock; the row's lock makes concurrent callers wait for each other.
 */
import { RateLimiter } from "@colloquy/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Database } from "./Database.ts"
import { toKey } from "./StoredText.ts"

export const rateLimiter = ({ query, schema }: Database): typeof RateLimiter.Service => {
  const take = `
    insert into ${schema}.rate_limits as kept (key, free_at)
    values ($1, clock_timestamp() + $2 * interval '1 millisecond')
    on conflict (key) do update
      set free_at = greatest(kept.free_at, clock_timestamp()) + $2 * interval '1 millisecond'
      where greatest(kept.free_at, clock_timestamp()) + ($2 - $3) * interval '1 millisecond' <= clock_timestamp()
    returning 1 as taken`
  const wait = `
    select greatest(1, ceil(extract(epoch from free_at - clock_timestamp()) * 1000 + $2 - $3))::int as millis
    from ${schema}.rate_limits where key = $1`
  /** A row at rest says nothing. Some go with each new window, so that callers who never come back leave no rows. */
  const tidy = `
    delete from ${schema}.rate_limits where key in
      (select key from ${schema}.rate_limits where free_at < clock_timestamp() - interval '1 hour' limit 100)`
  let calls = 0

  return RateLimiter.of({
    take: (key, { limit, window }) =>
      Effect.gen(function* () {
        const span = Duration.toMillis(window)
        const parameters = [toKey(key), span / limit, span]
        if (++calls % tidyEvery === 0) yield* query("RateLimiter.take", tidy, [])
        const taken = yield* query("RateLimiter.take", take, parameters)
        if (taken.length > 0) return null
        const [row] = yield* query<{ readonly millis: number }>("RateLimiter.take", wait, parameters)
        // The row can only be gone because it was at rest for an hour: the next try finds a place.
        return row?.millis ?? 1
      })
  })
}

const tidyEvery = 1000
