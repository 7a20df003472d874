/** What the migrations do, and what they refuse, each on a schema of its own. */
import { StoreUnavailable } from "@colloquy/core"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { checkSchema, migrate as migrateTo } from "../../src/postgres/Migrations.ts"
import { nameFunctions } from "../../src/postgres/schema/FunctionNames.ts"
import { schemaOfThisVersion } from "../../src/postgres/schema/Schema.ts"
import { sqlFunction } from "../../src/postgres/schema/SchemaPart.ts"
import { startWorker } from "./Worker.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

onPostgres((url) => {
  const { functions, migrations } = schemaOfThisVersion
  const options = (schema: string) => ({ url: Redacted.make(url), schema })
  const start = (schema: string, migrate = true) =>
    Effect.scoped(Effect.asVoid(Layer.build(Postgres.layer({ ...options(schema), migrate }))))
  const sql = (statement: string, parameters: ReadonlyArray<unknown> = []) =>
    PgClient.use((client) => client.unsafe<{ readonly name: string }>(statement, parameters))

  /** Changes a migrated schema with one statement and tells how the next start ends. */
  const refusalAfter = (statement: (schema: string) => string) =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* Postgres.migrate(options(schema))
      yield* sql(statement(schema))
      const error = yield* Effect.flip(start(schema))
      if (!(error instanceof Postgres.SchemaRefused)) return assert.fail(error.message)
      const { message, migrations: names, reason } = error
      return { message, migrations: names, reason }
    }).pipe(Effect.provide(hostClient(url)))

  describe("migrations", () => {
    it.live("let ten processes make a first start at once", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const workers = yield* Effect.forEach(
          Array.from({ length: 10 }),
          () => startWorker({ database: "postgres", url, schema }),
          { concurrency: "unbounded" }
        )
        const said = yield* Effect.forEach(workers, (worker) => worker.ask("open"), { concurrency: "unbounded" })
        assert.deepStrictEqual(
          said,
          workers.map(() => "open")
        )
        const recorded = yield* sql(`select name from ${schema}.migrations`)
        assert.sameMembers(
          recorded.map(({ name }) => name),
          migrations.map(({ name }) => name)
        )
      }).pipe(Effect.provide(hostClient(url)))
    )

    it.live("apply nothing the second time", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        yield* start(schema)
        const before = yield* sql(`select * from ${schema}.migrations`)
        yield* start(schema)
        assert.deepStrictEqual(yield* sql(`select * from ${schema}.migrations`), before)
      }).pipe(Effect.provide(hostClient(url)))
    )

    it.live("go on where an older version stopped", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const client = yield* PgClient
        yield* migrateTo(client, schema, { migrations: migrations.slice(0, -1), functions: functions.slice(1) })
        yield* start(schema)
        assert.strictEqual((yield* sql(`select * from ${schema}.migrations`)).length, migrations.length)
      }).pipe(Effect.provide(hostClient(url)))
    )

    it.live("let a process start while another one commits its migration", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const client = yield* PgClient
        const before = migrations.findLastIndex(({ tables }) => tables.length > 0)
        const look = Effect.fnUntraced(function* (check: typeof checkSchema) {
          yield* client.unsafe(`drop schema if exists ${schema} cascade`)
          yield* migrateTo(client, schema, { migrations: migrations.slice(0, before), functions })
          let looks = 0
          // The other process commits when this one has read the names of the tables, and not yet the record of migrations.
          const unsafe: PgClient["unsafe"] = (text, parameters) => {
            const statement = client.unsafe<never>(text, parameters)
            if (looks++ > 0) return statement
            const both = Effect.tap(statement.withoutTransform, () => Effect.orDie(migrateTo(client, schema)))
            return Object.create(statement, { withoutTransform: { value: both } })
          }
          yield* check(Object.assign(Object.create(client), { unsafe }), schema)
          assert.isAbove(looks, 1)
        })
        yield* look(checkSchema)
        yield* look(migrateTo)
      }).pipe(Effect.provide(hostClient(url)))
    )

    it.live("are tried again by the caller when their connection is lost in the middle", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const [held, free] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        yield* PgClient.use((client) =>
          client.withTransaction(
            client
              .unsafe("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`colloquy schema ${schema}`])
              .pipe(Effect.andThen(Deferred.succeed(held, undefined)), Effect.andThen(Deferred.await(free)))
          )
        ).pipe(Effect.forkScoped)
        yield* Deferred.await(held)
        const migrating = yield* Effect.forkChild(
          Effect.flip(Postgres.migrate({ ...options(schema), applicationName: schema }))
        )
        const ended = sql(
          `select pg_terminate_backend(pid)::text as name from pg_stat_activity
           where application_name = $1 and wait_event_type = 'Lock'`,
          [schema]
        )
        yield* Effect.repeat(ended, { until: (rows) => rows.length > 0 })
        const failed = yield* Effect.ensuring(Fiber.join(migrating), Deferred.succeed(free, undefined))
        assert.instanceOf(failed, StoreUnavailable)
        yield* Postgres.migrate(options(schema))
      }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
    )

    it.live("use a schema that the host has made, and leave the host's tables alone", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        yield* sql(`create schema ${schema}`)
        yield* sql(`create table ${schema}.invoices as select 'first' as name`)
        yield* start(schema)
        assert.deepStrictEqual(yield* sql(`select name from ${schema}.invoices`), [{ name: "first" }])
      }).pipe(Effect.provide(hostClient(url)))
    )
  })

  describe("the functions of a version", () => {
    const answering = (answer: string) => [
      sqlFunction("inner_answer", `() returns text language sql as $$ select '${answer}' $$`),
      sqlFunction("outer_answer", "() returns text language plpgsql as $$ begin return {schema}.inner_answer(); end $$")
    ]
    const versions = ["one", "two", "three", "four"].map((answer) => ({ migrations, functions: answering(answer) }))
    const ask = (schema: string, version: (typeof versions)[number] | undefined) =>
      Effect.map(
        sql(`select ${schema}.${nameFunctions(version?.functions ?? []).names.get("outer_answer")}() as name`),
        ([row]) => row?.name
      )

    it.live("stand beside those of the version before, so that both kinds of processes work", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const client = yield* PgClient
        const [one, two] = versions
        yield* migrateTo(client, schema, one)
        yield* migrateTo(client, schema, two)
        assert.deepStrictEqual([yield* ask(schema, one), yield* ask(schema, two)], ["one", "two"])
        yield* migrateTo(client, schema, one)
        assert.deepStrictEqual([yield* ask(schema, one), yield* ask(schema, two)], ["one", "two"])
      }).pipe(Effect.provide(hostClient(url)))
    )

    it.live("are dropped when three newer versions have been there", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const client = yield* PgClient
        yield* Effect.forEach(versions, (version) => migrateTo(client, schema, version))
        const left = yield* sql(
          `select proname::text as name from pg_proc
           where pronamespace = '${schema}'::regnamespace and prorettype <> 'trigger'::regtype order by 1`
        )
        // What a trigger runs belongs to its table, and so to the migrations.
        const expected = versions.slice(1).flatMap((each) => [...nameFunctions(each.functions).names.values()])
        assert.sameMembers(
          left.map(({ name }) => name),
          expected
        )
      }).pipe(Effect.provide(hostClient(url)))
    )

    it.live("are written again when one is missing", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        yield* start(schema)
        const name = nameFunctions(functions).names.get("settle_run")
        yield* sql(`drop function ${schema}.${name}`)
        const refused = yield* Effect.flip(start(schema, false))
        assert.include(refused.message, "Run the migrations first")
        yield* start(schema)
        yield* start(schema, false)
      }).pipe(Effect.provide(hostClient(url)))
    )
  })

  it.live("every table can be distributed by owner", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* start(schema)
      /** Small, and asked before an owner is known or for no owner: a copy on every node. */
      const withoutOwner = ["migrations", "function_versions", "keys", "rate_limits", "realtime_tickets"]
      const offending = yield* sql(
        `select c.conrelid::regclass || ': ' || c.conname as name from pg_constraint c
           join pg_class t on t.oid = c.conrelid
           left join pg_attribute o on o.attrelid = t.oid and o.attname = 'owner'
           where t.relnamespace = '${schema}'::regnamespace and c.contype in ('p', 'u', 'f') and t.relname <> all($1)
             and (o.attnum is null or o.attnum <> all (c.conkey))
         union all
         select i.indexrelid::regclass::text from pg_index i join pg_class t on t.oid = i.indrelid
           left join pg_attribute o on o.attrelid = t.oid and o.attname = 'owner'
           where t.relnamespace = '${schema}'::regnamespace and i.indisunique and t.relname <> all($1)
             and (o.attnum is null or o.attnum <> all (i.indkey))
         union all
         select t.relname || ' has no primary key' from pg_class t
           where t.relnamespace = '${schema}'::regnamespace and t.relkind = 'r'
             and not exists (select from pg_index i where i.indrelid = t.oid and i.indisprimary)`,
        [withoutOwner]
      )
      assert.deepStrictEqual(
        offending.map(({ name }) => name),
        []
      )
    }).pipe(Effect.provide(hostClient(url)))
  )

  /** All rows of an owner, or of the table. */
  const readsTooMuch = /Index Cond: \(owner = \$\d+\)$|Seq Scan/u

  it.live("a row is found by its key alone also before a table was ever analyzed", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* start(schema)
      type Key = { readonly name: string; readonly condition: string; readonly types: string; readonly nulls: string }
      const client = yield* PgClient
      const keys = yield* client.unsafe<Key>(
        `select c.relname::text as name, string_agg(format('%I = $%s', a.attname, k.ord), ' and ' order by k.ord) as condition,
           string_agg(format_type(a.atttypid, null), ', ' order by k.ord) as types, string_agg('null', ', ') as nulls
         from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary
           cross join unnest(i.indkey) with ordinality k(number, ord)
           join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
         where c.relnamespace = '${schema}'::regnamespace and k.ord <= i.indnkeyatts group by c.relname`
      )
      assert.isAbove(keys.length, 20)
      const filtering = yield* Effect.forEach(keys, ({ condition, name, nulls, types }) =>
        client.withTransaction(
          Effect.gen(function* () {
            yield* client.unsafe("set local plan_cache_mode = force_generic_plan")
            yield* client.unsafe(
              `prepare by_key (${types}) as select 1 from ${schema}.${name} where ${condition} for key share`
            )
            const plan = yield* client.unsafe<{ readonly "QUERY PLAN": string }>(
              `explain (costs off) execute by_key (${nulls})`
            )
            yield* client.unsafe("deallocate by_key")
            const isAll = condition === "owner = $1" ? /Seq Scan/u : readsTooMuch
            return plan.some((line) => isAll.test(line["QUERY PLAN"])) ? [name] : []
          })
        )
      )
      assert.deepStrictEqual(filtering.flat(), [])
    }).pipe(Effect.provide(hostClient(url)))
  )

  it.live("the functions of a turn are planned once, and without reading whole tables", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* start(schema)
      const planned = yield* sql(
        `select proname::text as name from pg_proc
         where pronamespace = '${schema}'::regnamespace and proconfig @> array['enable_seqscan=off', 'plan_cache_mode=force_generic_plan']`
      )
      for (const entry of [
        "begin_run",
        "activate_run",
        "continue_run",
        "append_many",
        "settle_run",
        "read_log",
        "history_texts"
      ])
        assert.isTrue(
          planned.some(({ name }) => name.startsWith(`${entry}_`)),
          entry
        )
    }).pipe(Effect.provide(hostClient(url)))
  )

  it.live("every foreign key has an index, so that a deletion reads no table from end to end", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* start(schema)
      /** An index that begins with the columns of the key, or with the one that is not the owner, which says it all. */
      const missing = yield* sql(
        `select c.conrelid::regclass || ': ' || c.conname as name from pg_constraint c join pg_class t on t.oid = c.conrelid
         join pg_attribute o on o.attrelid = t.oid and o.attname = 'owner'
         where t.relnamespace = '${schema}'::regnamespace and c.contype = 'f' and not exists (
           select from pg_index i where i.indrelid = c.conrelid and (
             (string_to_array(i.indkey::text, ' ')::int2[])[1:cardinality(c.conkey)] @> c.conkey
             or i.indkey[0] = any (array_remove(c.conkey, o.attnum))
           )
         )`
      )
      assert.deepStrictEqual(
        missing.map(({ name }) => name),
        []
      )
    }).pipe(Effect.provide(hostClient(url)))
  )

  describe("a schema is refused", () => {
    it.live("when it comes from the future", () =>
      Effect.gen(function* () {
        const refused = yield* refusalAfter(
          (schema) => `insert into ${schema}.migrations values ('9999_later', 'x', now())`
        )
        assert.deepInclude(refused, { reason: "newer", migrations: ["9999_later"] })
        assert.include(refused.message, "upgrade this process")
      })
    )

    it.live("when an older build made it, and not as if a newer one had", () =>
      Effect.gen(function* () {
        const refused = yield* refusalAfter(
          (schema) => `update ${schema}.migrations set name = 'runs and logs' where name = 'runs'`
        )
        assert.deepInclude(refused, { reason: "other", migrations: ["runs and logs"] })
        assert.include(refused.message, "an older or another build")
      })
    )

    it.live("when a migration in the middle is missing", () =>
      Effect.gen(function* () {
        const refused = yield* refusalAfter((schema) => `delete from ${schema}.migrations where name = 'runs'`)
        assert.deepInclude(refused, { reason: "incomplete", migrations: ["runs"] })
        assert.include(refused.message, "half migrated")
      })
    )

    it.live("when tables are there that no migration is recorded for", () =>
      Effect.gen(function* () {
        const refused = yield* refusalAfter((schema) => `delete from ${schema}.migrations`)
        assert.strictEqual(refused.reason, "incomplete")
        assert.include(refused.migrations, "messages")
      })
    )

    it.live("when a table is gone that the record speaks of", () =>
      Effect.gen(function* () {
        const refused = yield* refusalAfter((schema) => `drop table ${schema}.usage_days`)
        assert.deepInclude(refused, { reason: "incomplete", migrations: ["usage_days"] })
      })
    )

    it.live("when a migration was applied with another text", () =>
      Effect.gen(function* () {
        const refused = yield* refusalAfter(
          (schema) => `update ${schema}.migrations set checksum = 'x' where name = 'threads'`
        )
        assert.deepInclude(refused, { reason: "changed", migrations: ["threads"] })
      })
    )

    it.live("when it is not up to date and must not be migrated", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(start(yield* scratchSchema(url), false))
        assert.instanceOf(error, Postgres.SchemaRefused)
        assert.include(error.message, "Run the migrations first")
      })
    )

    it.live("when its name would need care", () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(start('a"; drop schema public; --'))
        assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "cannot be the name of the schema")
      })
    )
  })
})
