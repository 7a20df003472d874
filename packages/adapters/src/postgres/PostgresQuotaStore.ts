/** `QuotaStore` on PostgreSQL: requests taken ahead, and the figures of an owner. Each method sends one statement. */
import { Principal } from "@colloquy/core"
import { QuotaStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import { call, type Database } from "./Database.ts"
import { toText } from "./StoredText.ts"

interface UsedRow {
  readonly requests_free_in: number
  readonly turns_free_in: number
  readonly input_tokens: bigint
  readonly output_tokens: bigint
  readonly cost_usd: number
  readonly bytes: bigint
  readonly documents: bigint
  readonly memories: bigint
  readonly sessions: bigint
}

export const quotaStore = (database: Database): typeof QuotaStore.Service => {
  const { query, schema } = database
  const freeIn = (rate: "requests" | "turns") =>
    `coalesce((select greatest(extract(epoch from free_at - clock_timestamp()) * 1000, 0)::double precision
       from ${schema}.owner_rates where owner = $1 and rate = '${rate}'), 0)`
  const used = `
    select ${freeIn("requests")} as requests_free_in, ${freeIn("turns")} as turns_free_in,
      day.input_tokens, day.output_tokens, day.cost_usd, stored.bytes, stored.documents,
      (select count(*) from ${schema}.memories where owner = $1) as memories,
      (select count(*) from ${schema}.realtime_sessions where owner = $1 and lease_until > clock_timestamp()) as sessions
    from (
      select coalesce(sum(input_tokens), 0)::bigint as input_tokens, coalesce(sum(output_tokens), 0)::bigint as output_tokens,
        coalesce(sum(cost_usd), 0) as cost_usd
      from ${schema}.usage_days where owner = $1 and day = $2::date
    ) day cross join (
      select coalesce(sum(size), 0)::bigint as bytes, count(*) as documents from ${schema}.documents where owner = $1
    ) stored`

  return QuotaStore.of({
    takeRequests: (perMinute, wanted) =>
      Principal.use(({ ownerId }) => {
        const args = { owner: toText(ownerId), per_minute: perMinute, wanted }
        return Effect.map(
          query<{ readonly taken: number; readonly wait: number }>(
            "QuotaStore.takeRequests",
            `select o_taken as taken, o_wait as wait from ${call(database, "take_requests", args)}`,
            Object.values(args)
          ),
          ([row]) => ({ taken: row?.taken ?? 0, waitMillis: row?.wait ?? 0 })
        )
      }),

    used: ({ day, requestsPerMinute, turnsPerMinute }) =>
      Principal.use(({ ownerId }) =>
        Effect.map(query<UsedRow>("QuotaStore.used", used, [toText(ownerId), day]), ([row]) => ({
          requests: rateOf(row?.requests_free_in, requestsPerMinute),
          turns: rateOf(row?.turns_free_in, turnsPerMinute),
          inputTokens: Number(row?.input_tokens ?? 0),
          outputTokens: Number(row?.output_tokens ?? 0),
          costUsd: row?.cost_usd ?? 0,
          bytes: Number(row?.bytes ?? 0),
          documents: Number(row?.documents ?? 0),
          memories: Number(row?.memories ?? 0),
          sessions: Number(row?.sessions ?? 0)
        }))
      )
  })
}

/** Rounded up: a part of a place is not free yet. */
const rateOf = (freeInMillis = 0, perMinute: number | null) => ({
  used: perMinute === null ? 0 : Math.ceil((freeInMillis * perMinute) / 60_000),
  freeInMillis
})
