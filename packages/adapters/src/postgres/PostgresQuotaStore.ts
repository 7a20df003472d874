/** `QuotaStore` on PostgreSQL: requests taken ahead, and the figures of an owner. Each method sends one statement. */
import { Principal } from "@colloquy/core"
import { QuotaStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Duration from "effect/Duration"
import { call, type Database } from "./Database.ts"
import { decodeGranted } from "./RunOutcomes.ts"
import { limitsArgument } from "./RunStarts.ts"
import { countedCost } from "./schema/Quotas.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { toText } from "./StoredText.ts"

interface UsedRow {
  readonly requests: number
  readonly requests_left: number
  readonly turns: number
  readonly turns_left: number
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
  const own = ownedStatements(database, "QuotaStore")
  const rate = (name: "requests" | "turns") => `left join lateral (
      select used, ceil(extract(epoch from ends_at - clock_timestamp()) * 1000)::double precision as left_over
      from ${schema}.owner_rates where owner = $1 and rate = '${name}' and ends_at > clock_timestamp()
    ) ${name} on true`
  const used = `
    select coalesce(requests.used, 0) as requests, coalesce(requests.left_over, 0) as requests_left,
      coalesce(turns.used, 0) as turns, coalesce(turns.left_over, 0) as turns_left,
      day.input_tokens, day.output_tokens, day.cost_usd, stored.bytes, stored.documents,
      (select count(*) from ${schema}.memories where owner = $1) as memories,
      (select count(*) from ${schema}.realtime_sessions where owner = $1 and lease_until > clock_timestamp()) as sessions
    from (
      select coalesce(sum(input_tokens), 0)::bigint as input_tokens, coalesce(sum(output_tokens), 0)::bigint as output_tokens,
        coalesce(sum(${countedCost({ input: "$4::double precision", output: "$5::double precision", embedding: "$6::double precision" })}), 0) as cost_usd
      from ${schema}.usage_days where owner = $1 and day = $2::date and ($3::text is null or assistant::text = $3)
    ) day cross join (
      select coalesce(sum(size), 0)::bigint as bytes, count(*) as documents from ${schema}.documents where owner = $1
    ) stored ${rate("requests")} ${rate("turns")}`

  return QuotaStore.of({
    takeRequests: (perMinute, wanted) =>
      Principal.use(({ ownerId }) => {
        const args = { owner: toText(ownerId), per_minute: perMinute, wanted }
        return Effect.map(
          query<{ readonly taken: number; readonly wait: number }>(
            "QuotaStore.takeRequests",
            `select o_taken as taken, o_left as wait from ${call(database, "take_requests", args)}`,
            Object.values(args)
          ),
          ([row]) => ({ taken: row?.taken ?? 0, waitMillis: row?.wait ?? 0 })
        )
      }),

    memories: Effect.map(
      own.rows<{ readonly count: bigint }>(
        "memories",
        `select count(*) as count from ${schema}.memories where owner = $1`,
        []
      ),
      ([row]) => Number(row?.count ?? 0)
    ),

    hold: (id, request, lifetime) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<string>("hold", "hold_budget", {
            id: newRowId(id),
            request: limitsArgument(request),
            millis: Duration.toMillis(lifetime)
          }),
          (granted) => decodeGranted(granted ?? "{}")
        )
      ),

    release: (id) =>
      Effect.asVoid(
        own.rows("release", `delete from ${schema}.budget_holds where owner = $1 and id = $2`, [knownId(id)])
      ),

    used: ({ assistantId, assumedPrices, day, requestsPerMinute, turnsPerMinute }) =>
      Principal.use(({ ownerId }) => {
        const prices = [
          assumedPrices?.inputCostPerMillionTokens ?? 0,
          assumedPrices?.outputCostPerMillionTokens ?? 0,
          assumedPrices?.embeddingCostPerMillionTokens ?? 0
        ]
        const args = [toText(ownerId), day, assistantId, ...prices]
        return Effect.map(query<UsedRow>("QuotaStore.used", used, args), ([row]) => ({
          requests: readRate(row?.requests, row?.requests_left, requestsPerMinute),
          turns: readRate(row?.turns, row?.turns_left, turnsPerMinute),
          inputTokens: Number(row?.input_tokens ?? 0),
          outputTokens: Number(row?.output_tokens ?? 0),
          costUsd: row?.cost_usd ?? 0,
          bytes: Number(row?.bytes ?? 0),
          documents: Number(row?.documents ?? 0),
          memories: Number(row?.memories ?? 0),
          sessions: Number(row?.sessions ?? 0)
        }))
      })
  })
}

const readRate = (used = 0, freeInMillis = 0, perMinute: number | null) => ({
  used: perMinute === null ? 0 : used,
  freeInMillis
})
