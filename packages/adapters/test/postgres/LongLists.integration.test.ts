/** Lists of large rows in an embedded database: they come in portions, between which the event loop goes on, and nobody can tell. */
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { inspect } from "node:util"
import { onEmbedded } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"

const numbers = (count: number) => Array.from({ length: count }, (_, index) => ({ n: index + 1 }))

/** Counts the turns of the event loop during the work. */
const countTurns = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let turns = 0
    let isOpen = true
    const count = () => {
      turns++
      if (isOpen) setImmediate(count)
    }
    count()
    return Effect.ensuring(
      Effect.map(work, (result) => ({ result, turns })),
      Effect.sync(() => (isOpen = false))
    )
  })

onEmbedded("PGlite", () => {
  it.live("rows are whole, in order and complete, whatever their number and size", () =>
    Effect.gen(function* () {
      const client = yield* PgClient
      const statement = "select n, repeat('x', $1::int) as text from generate_series(1, $2::int) n order by n limit $3"
      for (const size of [0, 10, 70_000, 300_000]) {
        for (const count of [0, 1, 3, 4, 5, 19, 20, 21, 100]) {
          const rows = yield* client.unsafe<{ readonly n: number; readonly text: string }>(statement, [size, count, 90])
          assert.deepStrictEqual(
            rows.map(({ n }) => ({ n })),
            numbers(Math.min(count, 90))
          )
          assert.isTrue(rows.every(({ text }) => text.length === size))
        }
      }
    }).pipe(Effect.provide(Pglite.layerClient()))
  )

  it.live("the event loop goes on between them, and another statement waits for the whole list", () =>
    Effect.gen(function* () {
      const client = yield* PgClient
      const list = client.unsafe<{ readonly n: number }>(
        "select n, repeat(md5(n::text), 30000) as text from generate_series(1, $1::int) n limit $2",
        [60, 60]
      )
      yield* list
      const { result, turns } = yield* countTurns(list)
      assert.strictEqual(result.length, 60)
      // In one piece it would be one turn, or two.
      assert.isAtLeast(turns, 6)
      const both = yield* Effect.forkChild(list)
      const [other] = yield* client.unsafe<{ readonly one: number }>("select 1 as one")
      assert.strictEqual(other?.one, 1)
      assert.strictEqual((yield* Fiber.join(both)).length, 60)
    }).pipe(Effect.provide(Pglite.layerClient()))
  )

  it.live("a fault in a later portion is the statement's, and the next statement has none", () =>
    Effect.gen(function* () {
      const client = yield* PgClient
      const failing = "select 100 / (50 - n) as quotient from generate_series(1, $1::int) n limit $2"
      for (let each = 0; each < 2; each++) {
        const fault = yield* Effect.flip(client.unsafe(failing, [100, 100]))
        assert.include(inspect(fault), "division by zero")
        assert.strictEqual((yield* client.unsafe(failing, [20, 100])).length, 20)
      }
    }).pipe(Effect.provide(Pglite.layerClient()))
  )

  it.live("a statement that changes rows changes all of them, in a transaction too", () =>
    Effect.gen(function* () {
      const client = yield* PgClient
      yield* client.unsafe("create table tea (n int)")
      yield* client.unsafe("insert into tea select n from generate_series(1, 100) n")
      const change = client.unsafe(
        "update tea set n = -n where n in (select n from tea where n > 0 order by n limit $1) returning n",
        [30]
      )
      assert.strictEqual((yield* change).length, 30)
      const kept = yield* Effect.exit(client.withTransaction(Effect.andThen(change, Effect.fail("no"))))
      assert.strictEqual(kept._tag, "Failure")
      yield* client.withTransaction(change)
      const [row] = yield* client.unsafe<{ readonly count: bigint }>("select count(*) as count from tea where n < 0")
      assert.strictEqual(Number(row?.count), 60)
    }).pipe(Effect.provide(Pglite.layerClient()))
  )
})
