/** Claims among 100,000 open follow-ups: of one owner, of 10,000 owners, in one sequence, and not due yet. They read few of them. */
import { FollowUpStore } from "@colloquy/core/adapters"
import { anHour } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

const each = 25_000

/** Owner, sequence, whether it waits, when it is due. */
const shapes = [
  ["'one owner'", "null", "false", "now()"],
  ["'owner ' || n % 10000", "null", "false", "now()"],
  ["'sequence'", "'s'", "n > 1", "now()"],
  ["'later'", "null", "false", "now() + interval '1 hour'"]
]

const fill = Effect.fnUntraced(function* (schema: string) {
  const client = yield* PgClient
  for (const [at, [owner, sequence, waits, due]] of shapes.entries()) {
    yield* client.unsafe(
      `insert into ${schema}.follow_ups (owner, id, kind, key, payload, sequence, waits, due_at, created_at)
       select ${owner}, gen_random_uuid(), 'work', '${at}/' || n, '{}', ${sequence}, ${waits}, ${due}, now()
       from generate_series(1, ${each}) n`
    )
  }
})

const suite = (stores: () => Layer.Layer<FollowUpStore | PgClient, unknown>, schemaName: () => string) => {
  it.live("take milliseconds, and give every owner its turn", () =>
    Effect.gen(function* () {
      const store = yield* FollowUpStore
      yield* fill(schemaName())
      const served = new Map<string, number>()
      const from = performance.now()
      for (let at = 0; at < 40; at++) {
        const claims = yield* store.claim(["work"], 4, anHour)
        assert.strictEqual(claims.length, 4)
        for (const claim of claims) {
          served.set(claim.followUp.ownerId, (served.get(claim.followUp.ownerId) ?? 0) + 1)
          assert.isTrue(yield* store.complete(claim))
        }
      }
      // 200 statements. A claim that reads all that is open takes a second by itself.
      assert.isBelow(performance.now() - from, 8000)
      assert.isAtMost(Math.max(...served.values()), 2)
      assert.isAtLeast(served.size, 155)

      const again = performance.now()
      const kinds = yield* store.claim(["unknown"], 4, anHour)
      assert.deepStrictEqual(kinds, [])
      assert.isBelow(performance.now() - again, 3000)
    }).pipe(Effect.provide(stores()))
  )
}

onEmbedded("PGlite", () => {
  suite(
    () => Postgres.layerFromClient().pipe(Layer.provideMerge(Pglite.layerClient())),
    () => "colloquy"
  )
})

onPostgres((url) => {
  let name = ""
  suite(
    () =>
      onScratchSchema(url, (schema) => {
        name = schema
        return Postgres.layerFromClient({ schema }).pipe(Layer.provideMerge(hostClient(url)))
      }),
    () => name
  )
})
