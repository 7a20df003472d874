/**
 * Nothing of an owner is forgotten by an erasure: read from the database as it was really made, so that a table that is added later is held
 * to it, too.
 */
import { PgClient } from "@effect/sql-pg/PgClient"
import { Principal } from "@colloquy/core"
import { OwnerStore } from "@colloquy/core/adapters"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { erasedTables, keptTables, tablesOfThreads } from "../../src/postgres/schema/Owners.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
}

/** The columns that a row must have, of all tables with an owner. */
const requiredColumns = (schema: string) =>
  PgClient.use((client) =>
    client.unsafe<Column>(
      `select t.relname::text as table, a.attname::text as name, a.atttypid::regtype::text as type
       from pg_class t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
       where t.relnamespace = $1::regnamespace and t.relkind in ('r', 'p')
         and exists (select from pg_attribute o where o.attrelid = t.oid and o.attname = 'owner')
         and (a.attnotnull and not a.atthasdef and a.attidentity = '' or t.relname = 'documents' and a.attname = 'thread_id')
       order by 1, a.attnum`,
      [schema]
    )
  )

const values: Readonly<Record<string, string>> = {
  text: "md5(random()::text)",
  uuid: "gen_random_uuid()",
  "timestamp with time zone": "now() + interval '1 hour'",
  date: "current_date",
  bytea: "'\\x00'",
  boolean: "false",
  halfvec: "'[1,2,3]'"
}

/** Rows of one thread and of one run belong together. */
const sampleValue = ({ name, table, type }: Column, owner: string): string => {
  if (name === "owner") return `'${owner}'`
  if (name === "thread_id" || (table === "threads" && name === "id")) return "md5('thread')::uuid"
  if (name === "run_id" || (table === "runs" && name === "id")) return "md5('run')::uuid"
  if (type.endsWith("[]")) return "'{}'"
  return values[type] ?? "1"
}

const insert = (schema: string, table: string, columns: ReadonlyArray<Column>, owner: string) => {
  const named = table === "messages" ? [...columns, { table, name: "run_id", type: "uuid" }] : columns
  const list = named.map(({ name }) => name).join(", ")
  return `insert into ${schema}.${table} (${list}) values (${named.map((column) => sampleValue(column, owner)).join(", ")})`
}

onPostgres((url) => {
  it.live("every table with an owner is empty of the owner afterwards, or is listed with a reason", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      const stores = yield* Layer.build(Postgres.layer({ url: Redacted.make(url), schema }))
      const columns = Map.groupBy(yield* requiredColumns(schema), ({ table }) => table)
      const tables = [...columns.keys()]
      assert.isAbove(tables.length, 25)
      const client = yield* PgClient
      const rows = (table: string, owner: string) =>
        Effect.map(
          client.unsafe<{ readonly n: number }>(
            `select count(*)::integer as n from ${schema}.${table} where owner = $1`,
            [owner]
          ),
          ([row]) => row?.n
        )
      yield* client.withTransaction(
        Effect.gen(function* () {
          // Without foreign keys and triggers: a row is written as if all that it refers to were there.
          yield* client.unsafe("set local session_replication_role = replica")
          for (const [table, of] of columns) {
            for (const owner of ["gone", "stays"]) yield* client.unsafe(insert(schema, table, of, owner))
          }
        })
      )
      const known = new Set<string>([...erasedTables, ...tablesOfThreads, ...Object.keys(keptTables)])
      assert.deepStrictEqual(
        tables.filter((table) => !known.has(table)),
        [],
        "a table with an owner stands in no list of schema/Owners.ts"
      )
      const erase = Effect.gen(function* () {
        const store = yield* OwnerStore
        assert.isAbove(Object.keys(yield* store.left("kept")).length, 15)
        while ((yield* store.eraseSome(10, "kept")) > 0);
        assert.deepStrictEqual(yield* store.left("kept"), {})
      })
      yield* erase.pipe(Principal.provide("gone"), Effect.provideContext(stores))
      for (const table of tables) {
        assert.strictEqual(yield* rows(table, "gone"), table in keptTables ? 1 : 0, table)
        assert.strictEqual(yield* rows(table, "stays"), 1, table)
      }
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )
})
