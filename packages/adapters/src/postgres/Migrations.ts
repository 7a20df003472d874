/**
 * Brings the schema up to date, or refuses with the reason why it must not be changed. Each migration is applied once; the functions of this
 * version are created if they are missing. Everything happens in one transaction under one lock, so any number of processes may start at
 * the same time, and a process that dies half way leaves no change behind. Tables outside of the schema are never read.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { type StoreUnavailable } from "@colloquy/core"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import { createHash } from "node:crypto"
import {
  changeInOrder,
  delegateFunctions,
  distributeTables,
  dropForNodes,
  isDistributed,
  migrationOnCitus
} from "./Citus.ts"
import { channelName, quote } from "./Names.ts"
import { functionsOnCitus } from "./schema/CitusFunctions.ts"
import { type NamedFunctions, nameFunctions } from "./schema/FunctionNames.ts"
import { type Schema, schemaOfThisVersion } from "./schema/Schema.ts"
import { checkHistory, type Fingerprinted, type Recorded, SchemaRefused } from "./SchemaHistory.ts"
import { guard, inTransaction } from "./StoreFault.ts"

/** Applies the missing migrations and functions. Only tests of upgrades pass a `wanted` other than the schema of this version. */
export const migrate = (
  client: PgClient,
  schema: string,
  wanted: Schema = schemaOfThisVersion
): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  Effect.gen(function* () {
    const known = fingerprint(wanted)
    if (isUpToDate(yield* findMissing(client, schema, known))) return
    yield* inTransaction(client)(
      Effect.gen(function* () {
        yield* client.unsafe("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`colloquy schema ${schema}`])
        const missing = yield* findMissing(client, schema, known)
        if (!missing.hasRecord) yield* createSchema(client, schema)
        const distributed = yield* isDistributed(client, schema)
        if (distributed) yield* changeInOrder(client)
        for (const step of missing.migrations) yield* apply(client, schema, step, distributed)
        if (distributed) yield* distributeSchema(client, schema, wanted)
        else if (missing.functions) yield* writeFunctions(client, schema, known.functions)
      })
    )
  }).pipe(guard("Postgres.migrate"))

/** Distributes a schema that is up to date by owner, on Citus. A later migration distributes the tables that it makes. */
export const distribute = (client: PgClient, schema: string): Effect.Effect<void, StoreUnavailable> =>
  guard("Postgres.distribute")<void, never, never>(
    inTransaction(client)(Effect.andThen(changeInOrder(client), distributeSchema(client, schema, schemaOfThisVersion)))
  )

const distributeSchema = Effect.fnUntraced(function* (client: PgClient, schema: string, { functions }: Schema) {
  yield* distributeTables(client, schema)
  const named = nameFunctions(functions, functionsOnCitus)
  yield* dropForNodes(client, schema, named.version)
  yield* writeFunctions(client, schema, named)
  yield* delegateFunctions(client, schema, named.version)
})

/** Fails when the schema is not up to date, and changes nothing. */
export const checkSchema = (client: PgClient, schema: string): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  Effect.gen(function* () {
    const known = fingerprint(schemaOfThisVersion)
    const missing = yield* findMissing(client, schema, known)
    if (isUpToDate(missing)) return
    const names = missing.migrations.map(({ migration }) => migration.name)
    return yield* new SchemaRefused({
      schema,
      reason: "behind",
      migrations: missing.functions ? [...names, `functions ${known.functions.version}`] : names
    })
  }).pipe(guard("Postgres.checkSchema"))

interface Known {
  readonly migrations: ReadonlyArray<Fingerprinted>
  readonly functions: NamedFunctions
}

const fingerprint = ({ functions, migrations }: Schema): Known => ({
  migrations: migrations.map((migration) => ({
    migration,
    checksum: createHash("sha256").update(migration.statements.join(";\n")).digest("hex")
  })),
  functions: nameFunctions(functions)
})

interface Missing {
  readonly hasRecord: boolean
  readonly migrations: ReadonlyArray<Fingerprinted>
  readonly functions: boolean
}

const isUpToDate = ({ functions, migrations }: Missing): boolean => migrations.length === 0 && !functions

/**
 * Returns what is still to be applied. Another process may commit its migration between the two looks at the database, which then do not fit
 * together; so it counts only when it is found twice that the schema is incomplete.
 */
const findMissing = (
  client: PgClient,
  schema: string,
  known: Known
): Effect.Effect<Missing, SchemaRefused | SqlError> =>
  Effect.retry(lookForMissing(client, schema, known), {
    times: 1,
    while: (error) => error instanceof SchemaRefused && error.reason === "incomplete"
  })

const lookForMissing = (
  client: PgClient,
  schema: string,
  known: Known
): Effect.Effect<Missing, SchemaRefused | SqlError> =>
  Effect.gen(function* () {
    const found = yield* client.unsafe<{ readonly name: string; readonly is_table: boolean }>(
      `select c.relname::text as name, true as is_table from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1 and c.relkind in ('r', 'p')
       union all
       select p.proname::text, false from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1`,
      [schema]
    ).withoutTransform
    const tables = new Set(found.filter(({ is_table }) => is_table).map(({ name }) => name))
    const functions = new Set(found.filter(({ is_table }) => !is_table).map(({ name }) => name))
    const hasRecord = tables.has("migrations")
    const recorded = hasRecord
      ? yield* client.unsafe<Recorded>(`select name, checksum from ${quote(schema)}.migrations`).withoutTransform
      : []
    return {
      hasRecord,
      migrations: yield* checkHistory(schema, known.migrations, recorded, tables),
      functions: [...known.functions.names.values()].some((name) => !functions.has(name))
    }
  })

const apply = Effect.fnUntraced(function* (
  client: PgClient,
  schema: string,
  { checksum, migration }: Fingerprinted,
  distributed: boolean
) {
  const statements = distributed ? migration.statements.flatMap(migrationOnCitus) : migration.statements
  for (const statement of statements) yield* client.unsafe(inSchema(statement, schema)).unprepared
  yield* client.unsafe(`insert into ${quote(schema)}.migrations (name, checksum) values ($1, $2)`, [
    migration.name,
    checksum
  ])
})

/** How many versions of the functions stay in the database: during a rolling upgrade, processes of earlier versions still call theirs. */
const keptVersions = 3

const writeFunctions = Effect.fnUntraced(function* (client: PgClient, schema: string, functions: NamedFunctions) {
  for (const statement of functions.statements) yield* client.unsafe(inSchema(statement, schema)).unprepared
  yield* client.unsafe(
    `insert into ${quote(schema)}.function_versions (version) values ($1)
     on conflict (version) do update set written_at = clock_timestamp()`,
    [functions.version]
  )
  const gone = yield* client.unsafe<{ readonly version: string; readonly signature: string | null }>(
    `with gone as (
       delete from ${quote(schema)}.function_versions where version in
         (select version from ${quote(schema)}.function_versions order by written_at desc offset ${keptVersions})
       returning version
     )
     select gone.version, p.oid::regprocedure::text as signature from gone
     left join pg_proc p on p.pronamespace = $1::regnamespace and p.proname like '%\\_' || gone.version`,
    [quote(schema)]
  ).withoutTransform
  for (const { signature } of gone)
    if (signature !== null) yield* client.unsafe(`drop function ${signature}`).unprepared
})

const inSchema = (statement: string, schema: string): string =>
  statement.replaceAll("{schema}", quote(schema)).replaceAll("{channel}", `'${channelName(schema)}'`)

/** Does not create a schema that exists: the database user may lack the right to create schemas. */
const createSchema = Effect.fnUntraced(function* (client: PgClient, schema: string) {
  const found = yield* client.unsafe("select 1 as found from pg_namespace where nspname = $1", [schema])
  if (found.length === 0) yield* client.unsafe(`create schema ${quote(schema)}`).unprepared
  yield* client.unsafe(
    `create table ${quote(schema)}.migrations (
       name text collate "C" primary key, checksum text not null, applied_at timestamptz not null default now())`
  ).unprepared
  yield* client.unsafe(
    `create table ${quote(schema)}.function_versions (
       version text collate "C" primary key, written_at timestamptz not null default clock_timestamp())`
  ).unprepared
})
