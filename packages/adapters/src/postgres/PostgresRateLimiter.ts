/**
 * The rate limiter for several processes on one PostgreSQL server. Each key has one row with the moment at which its whole allowance is
 * available again (`free_at`). One statement takes one request from the allowance, by the database's clock; a second one computes the
 * waiting time if the allowance is used up. The row's lock makes concurrent callers wait for each other.
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
    select greatest(1, ceil(extract(epoch from free_at - clock_timestamp()) * 1000 + $2 - $3))::float8 as millis
    from ${schema}.rate_limits where key = $1`
  /** A row whose allowance is full again means the same as no row. Old rows are deleted, so that the table does not grow with every caller. */
  const removeOld = `
    delete from ${schema}.rate_limits where key in
      (select key from ${schema}.rate_limits where free_at < clock_timestamp() - interval '1 hour' limit 100)`
  let calls = 0

  return RateLimiter.of({
    take: Effect.fnUntraced(function* (key, { limit, window }) {
      const span = Duration.toMillis(window)
      const parameters = [toKey(key), span / limit, span]
      if (++calls % callsBetweenRemovals === 0) yield* query("RateLimiter.take", removeOld, [])
      const taken = yield* query("RateLimiter.take", take, parameters)
      if (taken.length > 0) return null
      const [row] = yield* query<{ readonly millis: number }>("RateLimiter.take", wait, parameters)
      // Only a row whose allowance has been full for an hour is deleted, so the next attempt will succeed.
      return row?.millis ?? 1
    })
  })
}

const callsBetweenRemovals = 1000
