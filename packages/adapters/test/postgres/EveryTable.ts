/** A row in every table that has an owner, for tests of what happens to everything of an owner. */
import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"

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

/** Rows of one assistant, of one thread and of one run belong together. */
const sampleValue = ({ name, table, type }: Column, owner: string): string => {
  if (name === "owner") return `'${owner}'`
  if (name === "assistant_id" || (table === "assistants" && name === "id")) return "md5('assistant')::uuid"
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

/** Writes a row for each of the owners, and returns the names of the tables. */
export const fillEveryTable = Effect.fnUntraced(function* (schema: string, owners: ReadonlyArray<string>) {
  const columns = Map.groupBy(yield* requiredColumns(schema), ({ table }) => table)
  const client = yield* PgClient
  yield* client.withTransaction(
    Effect.gen(function* () {
      // Without foreign keys and triggers: a row is written as if all that it refers to were there.
      yield* client.unsafe("set local session_replication_role = replica")
      for (const [table, required] of columns) {
        for (const owner of owners) yield* client.unsafe(insert(schema, table, required, owner))
      }
    })
  )
  return [...columns.keys()]
})
