/**
 * Citus: one database on several nodes, in which the rows of an owner stand together on one of them. All differences from PostgreSQL are in
 * this file: how the tables are distributed, how the functions are changed when they are created, and the statements that look at the rows
 * of all owners. `docs/scale.md` tells when it is worth it.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Database, Query } from "./Database.ts"
import { quote } from "./Names.ts"
import type { SqlFunction } from "./schema/SchemaPart.ts"

/** Tables that stay on the coordinator, because their rows are found before an owner is known, or belong to no owner. */
const localTables = ["keys", "realtime_tickets", "rate_limits", "migrations", "function_versions"]

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
    const changed = onCitus(definition)
    if (changed !== definition) yield* client.unsafe(changed).unprepared
  }
})

/**
 * The text of a function or statement for Citus. Citus makes a plan for each owner, so no plan is forced for all owners. It also refuses
 * functions whose result changes within a statement, if it has to send the statement to another node.
 */
const onCitus = (text: string): string =>
  text
    .replaceAll(/ set plan_cache_mode = force_\w+_plan| SET plan_cache_mode TO 'force_\w+_plan'\n/gu, "")
    .replaceAll(/(?<!:= )clock_timestamp\(\)/gu, "statement_timestamp()")
    .replaceAll(/ for (?:no key )?update skip locked/gu, "")

/** Functions whose statements must all see the same snapshot. The node of the owner runs them. */
const runByNodes = ["search_chunks"]

export const delegateFunctions = Effect.fnUntraced(function* (
  client: PgClient,
  schema: string,
  names: ReadonlyMap<string, string>
) {
  for (const name of runByNodes) {
    yield* client.unsafe(
      `select create_distributed_function(oid::regprocedure, 'p_owner', colocate_with => $1) from pg_proc
       where pronamespace = $2::regnamespace and proname = $3`,
      [`${quote(schema)}.${firstTable}`, quote(schema), names.get(name) ?? name]
    )
  }
})

/** A function of the schema as it is created on Citus. */
export const functionOnCitus = ({ definition, name }: SqlFunction): SqlFunction => ({
  name,
  definition: onCitus(name === "append_many" ? appendMany : definition)
})

/** Writes one run after the other, because the runs' owners are on several nodes. */
const appendMany = `(
  p_runs uuid[], p_owners text[], p_tokens bigint[], p_of integer[], p_firsts integer[], p_lasts integer[], p_events text[]
) returns table (o_run uuid, o_later boolean) language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  for v_at in 1 .. cardinality(p_runs) loop
    select * into v_run from {schema}.runs
      where id = p_runs[v_at] and owner = p_owners[v_at] and token = p_tokens[v_at] and status = 'IN_PROGRESS'
      for no key update skip locked;
    if not found then
      o_run := p_runs[v_at];
      o_later := exists (
        select from {schema}.runs
          where id = p_runs[v_at] and owner = p_owners[v_at] and token = p_tokens[v_at] and status = 'IN_PROGRESS'
      );
      return next;
      continue;
    end if;
    insert into {schema}.run_log (owner, run_id, first_sequence, last_sequence, events)
      select p_owners[v_at], p_runs[v_at], greatest(batch.first, v_run.last_sequence + 1), batch.last, batch.events
      from unnest(p_of, p_firsts, p_lasts, p_events) batch (of, first, last, events)
      where batch.of = v_at and batch.last > v_run.last_sequence;
    update {schema}.runs set last_sequence = greatest(
        v_run.last_sequence, (select max(batch.last) from unnest(p_of, p_lasts) batch (of, last) where batch.of = v_at))
      where id = p_runs[v_at] and owner = p_owners[v_at];
    perform {schema}.notify_waiting(v_run);
  end loop;
end $$`

/**
 * Statements that lock rows of many owners, without an order of locks. Citus detects a deadlock between nodes and ends one of the
 * transactions.
 */
const statements: { readonly [operation: string]: (schema: string) => string } = {
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

/** The database with its statements changed for Citus. */
export const overCitus = (database: Database): Database => {
  const translated = new Map<string, string>()
  const translate = (operation: string, text: string): string => {
    const known = translated.get(text) ?? statements[operation]?.(database.schema) ?? onCitus(text)
    translated.set(text, known)
    return known
  }
  const through =
    (query: Query): Query =>
    (operation, text, parameters) =>
      query(operation, translate(operation, text), parameters)
  return {
    schema: database.schema,
    distributed: true,
    query: through(database.query),
    brief: through(database.brief),
    lockingWrite: through(database.lockingWrite)
  }
}
