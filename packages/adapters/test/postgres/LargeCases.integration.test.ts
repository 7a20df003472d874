/** An import of many cases for evals: in portions, and all of it or nothing. */
import { Principal } from "@colloquy/core"
import { CaseId, newId } from "@colloquy/core/adapters"
import { type EvalCase, EvalStore } from "@colloquy/core/wings"
import { asNewOwner, moment } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { onEmbedded } from "../../../../test/databases.ts"
import { longestStretch, onThisMachine } from "../../../../test/LongestStretch.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { databaseOfClient } from "../../src/postgres/Database.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { removeLeftovers } from "../../src/postgres/Removals.ts"

const sample = Effect.map(newId(CaseId), (id): EvalCase => ({
  id,
  name: null,
  assistantId: null,
  messages: [],
  question: "word ".repeat(1500),
  expectations: [],
  tags: ["large"],
  tools: [],
  source: null,
  createdAt: moment(1),
  updatedAt: moment(1)
}))

const stores = Postgres.layerFromClient().pipe(Layer.provideMerge(Pglite.layerClient()))

const samples = Effect.all(Array.from({ length: 900 }, () => sample))

onEmbedded("PGlite", () => {
  it.live("seven megabytes of cases are no long piece of work, and come in their order", () =>
    Effect.gen(function* () {
      const store = yield* EvalStore
      const made = yield* samples
      const stretch = longestStretch()
      assert.strictEqual(yield* store.insertCases(made, 1000, null), "stored")
      // It is 10 to 25 ms. One statement takes 127.
      assert.isBelow(stretch.end(), onThisMachine(50))
      const listed = yield* store.listCases({ limit: 1000 })
      assert.deepStrictEqual(
        listed.map(({ id }) => id),
        made.map(({ id }) => id).toReversed()
      )
      assert.strictEqual(yield* store.insertCases(yield* samples, 1000, null), "too_many")
      assert.lengthOf(yield* store.listCases({ limit: 2000 }), 900)
      const client = yield* PgClient
      const [row] = yield* client.unsafe<{ readonly count: number }>(
        "select count(*)::int as count from colloquy.eval_cases"
      )
      assert.strictEqual(row?.count, 900)
    }).pipe(asNewOwner, Effect.provide(stores))
  )

  it.live("what a process leaves that dies in the middle is seen by nobody, and deleted an hour later", () =>
    Effect.gen(function* () {
      const store = yield* EvalStore
      const client = yield* PgClient
      const { ownerId } = yield* Principal
      const made = yield* sample
      assert.strictEqual(yield* store.insertCases([made], 1000, null), "stored")
      const draft = yield* newId(CaseId)
      yield* client.unsafe("insert into colloquy.thread_drafts (owner, id) values ($1, $2)", [ownerId, draft])
      yield* client.unsafe("update colloquy.eval_cases set draft = $1 where id = $2", [draft, made.id])
      assert.isTrue(Option.isNone(yield* store.getCase(made.id)))
      assert.deepStrictEqual(yield* store.listCases({ limit: 10 }), [])
      const database = databaseOfClient(client, "colloquy", "10 seconds")
      const count = client.unsafe<{ readonly count: number }>("select count(*)::int as count from colloquy.eval_cases")
      yield* removeLeftovers(database)
      assert.deepStrictEqual(yield* count, [{ count: 1 }])
      yield* client.unsafe("update colloquy.thread_drafts set created_at = now() - interval '2 hours'")
      yield* removeLeftovers(database)
      assert.deepStrictEqual(yield* count, [{ count: 0 }])
    }).pipe(asNewOwner, Effect.provide(stores))
  )
})
