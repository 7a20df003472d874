/** What the contract can only test with a clock that it may move: here rows are made older, or the caller's clock is set. */
import { Principal } from "@colloquy/core"
import { RunStore, UsageLedger } from "@colloquy/core/adapters"
import {
  anHour,
  expectTag,
  openThread,
  sampleBegin,
  sampleUsage,
  settleTurn,
  startTurn
} from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

/** One client, so that a statement of the test sees the stores' schema by its search path. */
const suite = (stores: Layer.Layer<Postgres.Stores | PgClient, unknown>) => {
  it.live("an idempotency key is free again after 24 hours", () =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const client = yield* PgClient
      const age = (by: string) =>
        client`update idempotency_keys set created_at = clock_timestamp() - ${by}::interval where key = 'once'`
      const idempotency = { key: "once", fingerprint: "print" }
      const first = yield* startTurn((yield* openThread).id, { idempotency })

      yield* age("23 hours 59 minutes")
      const other = yield* openThread
      const again = yield* sampleBegin(other.id, { idempotency })
      assert.strictEqual(expectTag(yield* runs.begin(again), "Repeated").runId, first.runId)

      yield* age("24 hours")
      assert.isTrue(Option.isNone(yield* runs.findRepeated("once")))
      expectTag(yield* runs.begin(again), "Started")
      assert.strictEqual(Option.getOrThrow(yield* runs.findRepeated("once")).runId, again.run.id)
    }).pipe(Principal.provide("time"), Effect.provide(stores))
  )

  it.live("a lease expires when its time is over, and not before", () =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const client = yield* PgClient
      const { lease, runId } = yield* startTurn((yield* openThread).id, { lease: anHour })
      const takeOver = runs.takeOver(runId, anHour, { onlyExpired: true })
      assert.isTrue(Option.isNone(yield* takeOver))
      yield* client`update runs set lease_until = clock_timestamp() where id = ${runId}`
      assert.deepStrictEqual(yield* runs.expired(10), [{ runId, ownerId: lease.ownerId }])
      assert.isTrue(Option.isSome(yield* takeOver))
      assert.deepStrictEqual(yield* runs.expired(10), [])
    }).pipe(Principal.provide("time"), Effect.provide(stores))
  )

  it.live("a leg counts for the UTC day on which it was settled", () =>
    Effect.gen(function* () {
      const { id } = yield* openThread
      const midnight = Date.UTC(2026, 1, 1)
      yield* settleTurn(yield* startTurn(id), { usage: sampleUsage(1, 1) }).pipe(at(midnight - 1))
      yield* settleTurn(yield* startTurn(id), { usage: sampleUsage(2, 2) }).pipe(at(midnight))
      const { days } = yield* (yield* UsageLedger).recent({ skip: 0, limit: 10 })
      assert.deepStrictEqual(
        days.map(({ date, usage }) => [date, usage.inputTokens]),
        [
          ["2026-02-01", 2],
          ["2026-01-31", 1]
        ]
      )
    }).pipe(Principal.provide("days"), Effect.provide(stores))
  )
}

/** As if it were that time for the caller. */
const at =
  (millis: number) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Clock.clockWith((clock) =>
      Effect.provideService(self, Clock.Clock, {
        currentTimeMillisUnsafe: () => millis,
        currentTimeMillis: Effect.succeed(millis),
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
        currentTimeNanos: clock.currentTimeNanos,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) => clock.sleep(duration)
      })
    )

onPostgres((url) =>
  suite(
    onScratchSchema(url, (schema) =>
      Postgres.layerFromClient({ schema, notifications: false }).pipe(
        Layer.provideMerge(hostClient(url, { startupParameters: { search_path: schema, TimeZone: "Asia/Tokyo" } }))
      )
    )
  )
)

onEmbedded("PGlite", () =>
  suite(
    Layer.effectDiscard(PgClient.use((client) => client`set search_path = colloquy`)).pipe(
      Layer.provideMerge(Postgres.layerFromClient()),
      Layer.provideMerge(Pglite.layerClient())
    )
  )
)
