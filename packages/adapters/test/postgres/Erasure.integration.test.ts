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
import { fillEveryTable } from "./EveryTable.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

onPostgres((url) => {
  it.live("every table with an owner is empty of the owner afterwards, or is listed with a reason", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      const stores = yield* Layer.build(Postgres.layer({ url: Redacted.make(url), schema }))
      const tables = yield* fillEveryTable(schema, ["gone", "stays"])
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
