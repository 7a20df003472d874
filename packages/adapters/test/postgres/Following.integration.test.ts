/** Who begins to follow the runs of an owner while a transaction changes one. */
import { Principal } from "@colloquy/core"
import { InboxStore } from "@colloquy/core/adapters"
import { openThread, startTurn } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

const anHour = Duration.hours(1)
const follow = InboxStore.use((inbox) => inbox.follow(anHour, anHour))
const changesAfter = (mark: number) => InboxStore.use((inbox) => inbox.changes(mark, anHour, 10))

onPostgres((url) => {
  it.live("a change that is not committed yet when somebody begins to follow is committed before that has begun", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      const host = hostClient(url, { applicationName: schema })
      yield* Effect.gen(function* () {
        const client = yield* PgClient
        const turn = yield* startTurn((yield* openThread).id)
        const waiting = client.unsafe(
          `select 1 from pg_stat_activity where application_name = '${schema}' and wait_event_type = 'Lock'`
        )
        const [changed, free] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const change = client.unsafe(`update ${schema}.runs set status = 'FAILED' where id = $1`, [turn.runId])
        const transaction = change.pipe(
          Effect.andThen(Deferred.succeed(changed, undefined)),
          Effect.andThen(Deferred.await(free)),
          client.withTransaction
        )
        const changing = yield* Effect.forkChild(transaction)
        yield* Deferred.await(changed)
        const following = yield* Effect.forkChild(follow)
        yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 || following.pollUnsafe() !== undefined })
        const isWaiting = following.pollUnsafe() === undefined
        yield* Deferred.succeed(free, undefined)
        yield* Fiber.join(changing)
        assert.isTrue(isWaiting)
        const mark = yield* Fiber.join(following)
        const summary = yield* InboxStore.use((inbox) => inbox.summary(turn.runId))
        assert.strictEqual(summary?.status, "FAILED")
        assert.deepStrictEqual(yield* changesAfter(mark), [])
        const next = yield* startTurn((yield* openThread).id)
        assert.deepStrictEqual(
          (yield* changesAfter(mark)).map(({ run }) => run.id),
          [next.runId]
        )
      }).pipe(
        Principal.provide("follower"),
        Effect.provide(Postgres.layerFromClient({ schema }).pipe(Layer.provideMerge(host)))
      )
    }).pipe(Effect.scoped)
  )
})
