/** What the migrations do, and what they refuse, each on a schema of its own. */
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onPostgres } from "../../../../test/databases.ts"
import { migrations } from "../../src/postgres/migrations/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { startWorker } from "./Worker.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

onPostgres((url) => {
  const options = (schema: string) => ({ url: Redacted.make(url), schema })
  const start = (schema: string, migrate = true) =>
    Effect.scoped(Effect.asVoid(Layer.build(Postgres.layer({ ...options(schema), migrate }))))
  const sql = (statement: string) => PgClient.use((client) => client.unsafe<{ readonly name: string }>(statement))

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
        const recorded = yield* sql(`select name from ${schema}.migrations order by name`)
        assert.deepStrictEqual(
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
        yield* Postgres.migrate(options(schema))
        yield* sql(`drop function ${schema}.append_many`)
        yield* sql(`delete from ${schema}.migrations where name >= '0009'`)
        yield* start(schema)
        assert.strictEqual((yield* sql(`select * from ${schema}.migrations`)).length, migrations.length)
      }).pipe(Effect.provide(hostClient(url)))
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

    it.live("when a migration in the middle is missing", () =>
      Effect.gen(function* () {
        const refused = yield* refusalAfter((schema) => `delete from ${schema}.migrations where name like '0002%'`)
        assert.deepInclude(refused, { reason: "incomplete", migrations: ["0002_runs"] })
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
          (schema) => `update ${schema}.migrations set checksum = 'x' where name like '0001%'`
        )
        assert.deepInclude(refused, { reason: "changed", migrations: ["0001_threads"] })
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
