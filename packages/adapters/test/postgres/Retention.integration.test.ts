/** The contract of retention, on PGlite and on a PostgreSQL server, and what it must not do on a server: wait for a row, or read all runs. */
import { RetentionStore } from "@colloquy/core/retention"
import { asNewOwner, openThread, retentionStoreSuite, settleTurn, startTurn } from "@colloquy/core/contracts"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema, scratchSchema } from "./Scratch.ts"

const capabilities = { testClock: false, signals: true }
const farFuture = new Date(Date.UTC(2100, 0))

onEmbedded("PGlite", () => {
  retentionStoreSuite("PGlite: RetentionStore", Pglite.layer(), capabilities)
})

onPostgres((url) => {
  const stores = (schema: string) => Postgres.layer({ url: Redacted.make(url), schema })
  retentionStoreSuite("Postgres: RetentionStore", onScratchSchema(url, stores), capabilities)

  it.live("a run that a transaction holds is left for the next time, without waiting", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* Effect.gen(function* () {
        const client = yield* PgClient.PgClient
        const { prune } = yield* RetentionStore
        const held = yield* startTurn((yield* openThread).id)
        const free = yield* startTurn((yield* openThread).id)
        for (const turn of [held, free]) yield* settleTurn(turn)
        const isLocked = yield* Deferred.make<void>()
        const mayEnd = yield* Deferred.make<void>()
        const holder = yield* Effect.forkChild(
          client.withTransaction(
            Effect.gen(function* () {
              yield* client.unsafe(`select from ${schema}.runs where id = $1 for update`, [held.runId])
              yield* Deferred.succeed(isLocked, undefined)
              yield* Deferred.await(mayEnd)
            })
          )
        )
        yield* Deferred.await(isLocked)
        assert.strictEqual(yield* prune("logs", farFuture, 10), 1)
        yield* Deferred.succeed(mayEnd, undefined)
        yield* Fiber.join(holder)
        assert.strictEqual(yield* prune("logs", farFuture, 10), 1)
      }).pipe(asNewOwner, Effect.provide(Layer.merge(stores(schema), hostClient(url))))
    }).pipe(Effect.scoped)
  )
})
