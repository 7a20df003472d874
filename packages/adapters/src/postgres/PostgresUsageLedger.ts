/** `UsageLedger` on PostgreSQL: adds charges outside of a turn, and reads the sums. `settle_run` adds the charges of turns. */
import { Principal } from "@colloquy/core"
import { UsageLedger } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { call, type Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromText, toText } from "./StoredText.ts"
import { chargesArgument, decodeUsage, type UsageRow } from "./UsageColumns.ts"

/** A page after the last day is one row that contains only the total. */
type LedgerRow = { readonly total: bigint } & (
  | ({ readonly date: string; readonly model: string; readonly purpose: string } & UsageRow)
  | { readonly date: null }
)

export const usageLedger = (database: Database): typeof UsageLedger.Service => {
  const { query, schema } = database
  const own = ownedStatements(database, "UsageLedger")
  return UsageLedger.of({
    begin: (id, charges, assistantId) =>
      Effect.suspend(() => {
        const begun = chargesArgument(charges)
        if (begun === null) return Effect.void
        return Effect.asVoid(
          own.rows(
            "begin",
            `insert into ${schema}.usage_receipts (owner, id, begun, assistant) values ($1, $2, $3, $4) on conflict do nothing`,
            [newRowId(id), begun, assistantId && knownId(assistantId)]
          )
        )
      }),
    add: (id, charges, assistantId) =>
      Effect.suspend(() => {
        const args = {
          id: newRowId(id),
          charges: chargesArgument(charges),
          assistant: assistantId && knownId(assistantId)
        }
        return Effect.asVoid(own.call("add", "add_charges_once", args))
      }),
    endBegun: (age, limit) => {
      const args = { millis: Duration.toMillis(age), limit }
      return Effect.map(
        query<{ readonly ended: number }>(
          "UsageLedger.endBegun",
          `select ${call(database, "end_begun_charges", args)} as ended`,
          Object.values(args)
        ),
        ([row]) => row?.ended ?? 0
      )
    },
    recent: ({ limit, skip }) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<LedgerRow>(
            "UsageLedger.recent",
            `with days as (
               select day, model, purpose, sum(input_tokens)::bigint as input_tokens, sum(output_tokens)::bigint as output_tokens,
                 sum(cached_input_tokens)::bigint as cached_input_tokens, sum(cache_write_tokens)::bigint as cache_write_tokens,
                 sum(reasoning_tokens)::bigint as reasoning_tokens, sum(cost_usd) as cost_usd, bool_or(estimated) as estimated
               from ${schema}.usage_days where owner = $1 group by day, model, purpose
             ), page as (select * from days order by day desc, model, purpose offset $2 limit $3)
             select counted.total, to_char(page.day, 'YYYY-MM-DD') as date, page.model, page.purpose, page.input_tokens, page.output_tokens,
               page.cached_input_tokens, page.cache_write_tokens, page.reasoning_tokens, page.cost_usd, page.estimated
             from (select count(*) as total from days) counted left join page on true
             order by page.day desc, page.model, page.purpose`,
            [toText(ownerId), skip, limit]
          ),
          (rows) => ({
            total: Number(rows[0]?.total ?? 0),
            days: rows.flatMap((row) =>
              row.date === null
                ? []
                : [
                    {
                      date: row.date,
                      model: fromText(row.model),
                      purpose: fromText(row.purpose),
                      usage: decodeUsage(row)
                    }
                  ]
            )
          })
        )
      )
  })
}
