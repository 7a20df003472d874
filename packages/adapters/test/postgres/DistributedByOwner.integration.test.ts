/**
 * The schema can be spread over several servers by its owners (`docs/scale.md`): read from the database as it was really made, so that a
 * table that is added later is held to it, too.
 */
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

/** Tables that belong to no one owner, each with the reason why a copy of it may stand on every server. */
const elsewhere: Readonly<Record<string, string>> = {
  keys: "the look-up by a key's hash is what tells the owner; a row for each key, seldom written",
  realtime_tickets: "a ticket is looked up by its hash before its owner is known; it lives for a minute",
  rate_limits: "its keys are texts of the host's, not owners; may be forgotten",
  migrations: "the history of the schema itself",
  function_versions: "the versions of the schema's functions"
}

/** Functions that are not told one owner, each with the reason. */
const withoutOwner: Readonly<Record<string, string>> = {
  analyze_search: "brings statistics of the search tables up to date",
  append_many: "the logs of many runs, with the owner of each",
  claim_follow_ups: "goes through all owners in turns, and reads and changes one owner's rows at a time",
  end_begun_charges: "the sweep of paid calls without an end, of all owners",
  keep_search_vectors: "makes the table of vectors",
  notify_change: "tells the processes, and touches no table",
  notify_waiting: "the owner stands in the row that it is given",
  refuse_budget: "computes with what it is given, and touches no table",
  source_moved: "computes with what it is given, and touches no table"
}

interface Table {
  readonly name: string
  /** Whether it has a column `owner` that is never null. */
  readonly has_owner: boolean
  /** The columns of each primary key and unique index in order; null in the place of an expression. */
  readonly uniques: ReadonlyArray<ReadonlyArray<string | null>>
  readonly references: ReadonlyArray<{
    readonly table: string
    readonly pairs: ReadonlyArray<readonly [from: string, to: string]>
  }>
}

const tablesIn = (schema: string) =>
  PgClient.use((client) =>
    client.unsafe<Table>(
      `select t.relname::text as name,
         exists (select from pg_attribute where attrelid = t.oid and attname = 'owner' and attnotnull) as has_owner,
         (select coalesce(json_agg((
            select json_agg(a.attname order by key.place) from unnest(i.indkey::int2[]) with ordinality key (attnum, place)
            left join pg_attribute a on a.attrelid = t.oid and a.attnum = key.attnum and key.attnum > 0 where key.place <= i.indnkeyatts
          )), '[]') from pg_index i where i.indrelid = t.oid and i.indisunique) as uniques,
         (select coalesce(json_agg(json_build_object('table', c.confrelid::regclass::text, 'pairs', (
            select json_agg(json_build_array(f.attname, g.attname) order by pair.place)
            from unnest(c.conkey, c.confkey) with ordinality pair (one, other, place)
            join pg_attribute f on f.attrelid = t.oid and f.attnum = pair.one
            join pg_attribute g on g.attrelid = c.confrelid and g.attnum = pair.other
          ))), '[]') from pg_constraint c where c.conrelid = t.oid and c.contype = 'f') as references
       from pg_class t join pg_namespace n on n.oid = t.relnamespace
       where n.nspname = $1 and t.relkind in ('r', 'p') order by 1`,
      [schema]
    )
  )

onPostgres((url) => {
  it.live("every table can be distributed by its owner, or is listed with a reason", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* Effect.scoped(Layer.build(Postgres.layer({ url: Redacted.make(url), schema })))
      const tables = yield* tablesIn(schema)
      const ofOwners = tables.filter(({ name }) => !(name in elsewhere))
      assert.isAbove(ofOwners.length, 20)
      const names = new Set(tables.map(({ name }) => name))
      assert.deepStrictEqual(
        Object.keys(elsewhere).filter((name) => !names.has(name)),
        [],
        "the list of reasons names tables that are gone"
      )
      const faults = ofOwners.flatMap(({ has_owner, name, references, uniques }) => [
        ...(has_owner ? [] : [`${name} has no column "owner" that is never null`]),
        ...(uniques.length > 0 ? [] : [`${name} has no key`]),
        ...uniques
          .filter((columns) => !columns.includes("owner"))
          .map((columns) => `a key of ${name} has no owner: ${columns.join(", ")}`),
        ...references.flatMap(({ pairs, table }) => [
          ...(pairs.some(([from, to]) => from === "owner" && to === "owner")
            ? []
            : [`${name} refers to ${table} without the owner`]),
          ...((table.split(".").at(-1) ?? "") in elsewhere ? [`${name} refers to ${table}, which is of no owner`] : [])
        ])
      ])
      assert.deepStrictEqual(faults, [])
    }).pipe(Effect.provide(hostClient(url)))
  )

  it.live("every function of the schema is told its owner first, or is listed with a reason", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* Effect.scoped(Layer.build(Postgres.layer({ url: Redacted.make(url), schema })))
      const functions = yield* PgClient.use((client) =>
        client.unsafe<{ readonly name: string; readonly first: string | null }>(
          `select regexp_replace(p.proname, '_[0-9a-f]{10}$', '') as name, p.proargnames[1] as first from pg_proc p
           where p.pronamespace = $1::regnamespace and p.prorettype <> 'trigger'::regtype order by 1`,
          [schema]
        )
      )
      const others = functions.filter(({ first }) => first !== "p_owner").map(({ name }) => name)
      assert.deepStrictEqual(others, Object.keys(withoutOwner).toSorted())
    }).pipe(Effect.provide(hostClient(url)))
  )
})
