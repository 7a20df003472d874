/**
 * Citus: one database on several nodes, in which the rows of an owner stand together on one of them. All differences from PostgreSQL are in
 * this file and in `schema/CitusFunctions.ts`: how the tables are distributed, what the functions do, and the statements that call them or look
 * at the rows of all owners. `docs/scale.md` tells when it is worth it.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Database, Parameter, Query } from "./Database.ts"
import { quote } from "./Names.ts"
import { functionsOfNodes, textOnCitus, toldSetting } from "./schema/CitusFunctions.ts"
import { functionName } from "./schema/FunctionNames.ts"

/** Tables that stay on the coordinator, because their rows are found before an owner is known, or belong to no owner. */
const localTables = ["keys", "realtime_tickets", "rate_limits", "migrations", "function_versions", "owner_moves"]

/** The table by which all others are placed: each has the rows of an owner on the same node as this table. */
const firstTable = "assistants"

/** Whether the tables of the schema are distributed. */
export const isDistributed = (client: PgClient, schema: string): Effect.Effect<boolean, SqlError> =>
  Effect.gen(function* () {
    const [found] = yield* client.unsafe<{ readonly citus: boolean }>(
      "select to_regclass('pg_catalog.pg_dist_partition') is not null as citus",
      []
    ).withoutTransform
    if (found?.citus !== true) return false
    const rows = yield* client.unsafe("select 1 as found from pg_dist_partition where logicalrelid = to_regclass($1)", [
      `${quote(schema)}.${firstTable}`
    ])
    return rows.length > 0
  })

interface Table {
  readonly name: string
  readonly refers_to: ReadonlyArray<string>
  readonly is_distributed: boolean
}

/**
 * Must be the first statement of a transaction that changes tables. Each node then gets all changes over one connection, so that later
 * changes see earlier ones.
 */
export const changeInOrder = (client: PgClient): Effect.Effect<void, SqlError> =>
  Effect.asVoid(client.unsafe("set local citus.multi_shard_modify_mode to 'sequential'").unprepared)

const foreignKeys = /,\s*(foreign key \([^()]*\) references \S+ \([^()]*\)(?: on delete cascade)?)/gu

/**
 * The statements in place of one statement of a migration, if the schema is distributed already. Only a distributed table may refer to a
 * distributed table.
 */
export const migrationOnCitus = (statement: string): ReadonlyArray<string> => {
  const table = /^\s*create table \{schema\}\.(\w+)/u.exec(statement)?.[1]
  if (table === undefined || localTables.includes(table)) return [statement]
  return [
    statement.replaceAll(foreignKeys, ""),
    distributeTable("{schema}", table),
    ...[...statement.matchAll(foreignKeys)].map(([, key]) => `alter table {schema}.${table} add ${key}`)
  ]
}

/** Distributes every table that is not distributed yet. Must be called in a transaction that began with `changeInOrder`. */
export const distributeTables = (client: PgClient, schema: string): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    yield* changeTriggers(client, schema)
    const tables = yield* client.unsafe<Table>(
      `select t.relname::text as name,
         exists (select from pg_dist_partition where logicalrelid = t.oid) as is_distributed,
         coalesce((select array_agg(distinct r.relname::text) from pg_constraint c join pg_class r on r.oid = c.confrelid
           where c.conrelid = t.oid and c.contype = 'f' and c.confrelid <> t.oid), '{}') as refers_to
       from pg_class t where t.relnamespace = $1::regnamespace and t.relkind = 'r' order by t.relname <> '${firstTable}', 1`,
      [quote(schema)]
    ).withoutTransform
    const done = new Set(tables.filter((table) => table.is_distributed).map(({ name }) => name))
    let left = tables.filter(({ name }) => !done.has(name) && !localTables.includes(name))
    while (left.length > 0) {
      const next = left.filter(({ refers_to }) => refers_to.every((name) => done.has(name)))
      for (const { name } of next) {
        yield* client.unsafe(distributeTable(quote(schema), name)).unprepared
        done.add(name)
      }
      left = left.filter(({ name }) => !done.has(name))
    }
  })

const distributeTable = (schema: string, name: string): string => {
  const beside = name === firstTable ? "none" : `${schema}.${firstTable}`
  return `select create_distributed_table('${schema}.${name}', 'owner', colocate_with => '${beside}')`
}

/**
 * Replaces the functions of triggers, which run on the node of the row. Their text is read from the database, because migrations have
 * created them.
 */
const changeTriggers = Effect.fnUntraced(function* (client: PgClient, schema: string) {
  const found = yield* client.unsafe<{ readonly definition: string }>(
    `select pg_get_functiondef(oid) as definition from pg_proc
     where pronamespace = $1::regnamespace and prorettype = 'trigger'::regtype`,
    [quote(schema)]
  ).withoutTransform
  for (const { definition } of found) {
    const changed = textOnCitus(definition)
    if (changed !== definition) yield* client.unsafe(changed).unprepared
  }
})

/** Drops the functions that the nodes will run: those of PostgreSQL with the same names have other parameters. */
export const dropForNodes = (client: PgClient, schema: string, version: string): Effect.Effect<void, SqlError> =>
  Effect.forEach(
    functionsOfNodes,
    (name) => client.unsafe(`drop function if exists ${quote(schema)}.${name}_${version}`).unprepared,
    { discard: true }
  )

/** Makes the nodes run the functions that are called for one owner. A function that has moved with its owner is found in its new place. */
export const delegateFunctions = (client: PgClient, schema: string, version: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(
    client.unsafe(
      `select create_distributed_function(oid::regprocedure, 'p_owner', colocate_with => $1) from pg_proc
       where pronamespace = $2::regnamespace and proname = any($3)`,
      [`${quote(schema)}.${firstTable}`, quote(schema), functionsOfNodes.map((name) => `${name}_${version}`)]
    )
  )

/** What the function has left to be told, beside its result. */
const told = `current_setting('${toldSetting}', true) as told`

/**
 * Operations with another statement. Renewals lock rows of many owners, without an order of locks: Citus detects a deadlock between nodes and
 * ends one of the transactions.
 */
const statements: { readonly [operation: string]: (schema: string) => string } = {
  "RunStore.append": (schema) => `
    select o_run as run, o_later as later, ${told}
    from ${schema}.${functionName("append_many")}(($2::text[])[1], $1::uuid[], $3::bigint[], $4, $5, $6, $7)`,
  "RunStore.renew": (schema) => `
    update ${schema}.runs r set lease_until = statement_timestamp() + $4 * interval '1 millisecond'
    from unnest($1::uuid[], $2::text[], $3::bigint[]) lease (run_id, owner, token)
    where r.id = lease.run_id and r.owner = lease.owner and r.token = lease.token and r.status in ('IN_PROGRESS', 'QUEUED')
    returning r.id, r.cancel_requested`,
  "FollowUpStore.renew": (schema) => `
    update ${schema}.follow_ups f set due_at = statement_timestamp() + $4 * interval '1 millisecond'
    from unnest($1::text[], $2::uuid[], $3::bigint[]) claim (owner, id, token)
    where f.owner = claim.owner and f.id = claim.id and f.token = claim.token and f.status = 'running'
    returning f.id`
}

/**
 * A call of one of the schema's functions, as a statement that Citus gives to the node of the owner: `select … from f(…)` with constants. Other
 * statements stay as they are.
 */
const onNode = (text: string): string =>
  text
    // A run is started and its history read: two calls, which one function does there.
    .replace(
      /^select [^]* from \(select (\S+?)\.(\w+)\(p_owner => \S+\(\$1, (\$\d+)\), ([^)]*)\) as r offset 0\) o\s+left join [^]*, (\$\d+)\) where [^]*$/u,
      `select *, ${told} from $1.read_$2(p_owner => $$1, p_wait => $3, p_budget => $5, $4)`
    )
    // All other calls: the limit of the wait for locks as a parameter, then the notifications as one more column.
    .replace(/p_owner => \S+\(\$1, (\$\d+)\)/u, "p_owner => $$1, p_wait => $1")
    .replace(/^select (\S+\(p_owner => \$1, p_wait => [^)]*\)) as (\w+)$/u, `select $2, ${told} from $1 $2`)
    .replace(/^select ([^()]*) (from \S+\(p_owner => \$1, p_wait => [^)]*\)(?: \w+)?)$/u, `select $1, ${told} $2`)

/** The database with its statements changed for Citus. */
export const overCitus = (database: Database): Database => {
  const { schema } = database
  const translated = new Map<string, string>()
  const translate = (operation: string, text: string): string => {
    const known = translated.get(text) ?? statements[operation]?.(schema) ?? textOnCitus(onNode(text))
    translated.set(text, known)
    return known
  }
  /** Every row of a result has the same. A notification that is lost is a delay: who waits asks the database from time to time. */
  const tell = ([row]: ReadonlyArray<object>): Effect.Effect<void> =>
    row !== undefined && "told" in row && typeof row.told === "string" && row.told !== ""
      ? Effect.ignore(
          database.brief(
            "RunStore.tell",
            `select ${schema}.${functionName("notify_change")}((run ->> 0)::uuid, (run ->> 1)::uuid, (run ->> 2)::boolean)::text
             from json_array_elements($1::json) run`,
            [`[${row.told}]`]
          )
        )
      : Effect.void
  const through =
    (query: Query): Query =>
    <Row extends object>(operation: string, text: string, parameters: ReadonlyArray<Parameter>) =>
      Effect.tap(query<Row>(operation, translate(operation, text), parameters), tell)
  return {
    schema,
    distributed: true,
    query: through(database.query),
    brief: through(database.brief),
    lockingWrite: through(database.lockingWrite)
  }
}
