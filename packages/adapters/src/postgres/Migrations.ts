/**
 * Brings the schema up to date, or says in a sentence why it must not be touched. Everything happens in one transaction under one lock:
 * any number of processes may start at once, and one that dies half way leaves nothing behind. The host's tables are never looked at.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { type StoreUnavailable } from "@colloquy/core"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import { migrations } from "./migrations/index.ts"
import type { Migration } from "./migrations/Migration.ts"
import { channelOf, quote } from "./Names.ts"
import { checkHistory, type Recorded, SchemaRefused } from "./SchemaHistory.ts"
import { guard } from "./StoreFault.ts"

/** Applies what is missing. */
export const migrate = (client: PgClient, schema: string): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  Effect.gen(function* () {
    const known = yield* fingerprints
    const missing = yield* missingOf(client, schema, known)
    if (missing.length === 0) return
    yield* client.withTransaction(
      Effect.gen(function* () {
        yield* client.unsafe("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`colloquy schema ${schema}`])
        for (const { checksum, migration } of yield* missingOf(client, schema, known)) {
          yield* apply(client, schema, migration, checksum)
        }
      })
    )
  }).pipe(guard("Postgres.migrate"))

/** Refuses a schema that is not up to date. */
export const checkSchema = (client: PgClient, schema: string): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  Effect.gen(function* () {
    const missing = yield* missingOf(client, schema, yield* fingerprints)
    if (missing.length === 0) return
    return yield* new SchemaRefused({
      schema,
      reason: "behind",
      migrations: missing.map(({ migration }) => migration.name)
    })
  }).pipe(guard("Postgres.checkSchema"))

export interface Fingerprinted {
  readonly migration: Migration
  readonly checksum: string
}

const fingerprints: Effect.Effect<ReadonlyArray<Fingerprinted>> = Effect.forEach(migrations, (migration) =>
  Effect.map(sha256(migration.statements.join(";\n")), (checksum) => ({ migration, checksum }))
)

/** What is still to be applied, after a look at what is there. */
const missingOf = (
  client: PgClient,
  schema: string,
  known: ReadonlyArray<Fingerprinted>
): Effect.Effect<ReadonlyArray<Fingerprinted>, SchemaRefused | SqlError> =>
  Effect.gen(function* () {
    const tables = yield* client.unsafe<{ readonly name: string }>(
      `select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = $1 and c.relkind in ('r', 'p')`,
      [schema]
    ).withoutTransform
    const present = new Set(tables.map(({ name }) => name))
    const recorded = present.has("migrations")
      ? yield* client.unsafe<Recorded>(`select name, checksum from ${quote(schema)}.migrations order by name`)
          .withoutTransform
      : []
    return yield* checkHistory(schema, known, recorded, present)
  })

const apply = Effect.fnUntraced(function* (client: PgClient, schema: string, migration: Migration, checksum: string) {
  if (migration === migrations[0]) yield* createSchema(client, schema)
  for (const statement of migration.statements) {
    const text = statement.replaceAll("{schema}", quote(schema)).replaceAll("{channel}", `'${channelOf(schema)}'`)
    yield* client.unsafe(text).unprepared
  }
  yield* client.unsafe(`insert into ${quote(schema)}.migrations (name, checksum) values ($1, $2)`, [
    migration.name,
    checksum
  ])
})

/** A schema that the host has made already needs no right to make one. */
const createSchema = Effect.fnUntraced(function* (client: PgClient, schema: string) {
  const found = yield* client.unsafe("select 1 as found from pg_namespace where nspname = $1", [schema])
  if (found.length === 0) yield* client.unsafe(`create schema ${quote(schema)}`).unprepared
  yield* client.unsafe(
    `create table ${quote(schema)}.migrations (
       name text collate "C" primary key, checksum text not null, applied_at timestamptz not null default now())`
  ).unprepared
})

const sha256 = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (digest) => Buffer.from(digest).toString("hex")
  )
