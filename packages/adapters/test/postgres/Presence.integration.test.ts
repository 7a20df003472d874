/** What a process held that was killed: another process takes it over long before its leases expire. */
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { Principal, type RunId, ThreadId } from "@colloquy/core"
import { FollowUpStore, RunStore } from "@colloquy/core/adapters"
import { anHour, sampleBegin } from "@colloquy/testing/contracts"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { longLease } from "./Lease.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"
import type { Everything } from "./Serve.ts"
import { startWorker } from "./Worker.ts"

/** The connections of this name with a lock of a process, and the numbers of the processes. */
const advisoryLocks = (name: string) =>
  PgClient.use((client) =>
    client.unsafe<{ readonly pid: number; readonly number: string }>(
      `select l.pid, l.objid::text as number from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where l.locktype = 'advisory' and l.classid = 1668246895 and a.application_name = $1`,
      [name]
    )
  )

onPostgres((url) => {
  it.live("a thread whose process was killed is free, although the lease lasts for an hour", () =>
    Effect.gen(function* () {
      const owner = "presence"
      const schema = yield* scratchSchema(url)
      const database = { database: "postgres", url, schema } as const
      const [doomed, second, witness] = [
        yield* startWorker(database, "kernel", longLease),
        yield* startWorker(database, "kernel", longLease),
        yield* startWorker(database, "kernel", longLease)
      ]
      const places: Array<{ readonly runId: RunId; readonly threadId: ThreadId }> = []
      for (const worker of [doomed, second]) {
        const place = yield* worker.ask("hang", { owner })
        places.push(place as { readonly runId: RunId; readonly threadId: ThreadId })
        worker.signal("SIGKILL")
        yield* worker.ended
      }
      for (const place of places) assert.strictEqual(yield* witness.ask("turn", { owner, ...place }), "Fine.")
    })
  )

  it.live(
    "follow-ups and voice sessions of a process that was killed are free, although their leases last for an hour",
    () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const doomed = yield* startWorker({ database: "postgres", url, schema })
        const order = { owner: "presence", kind: "work" }
        assert.strictEqual(yield* doomed.ask("claim", order), 1)
        const threadId = yield* doomed.ask("session", order)
        const stores = Postgres.layer({ url: Redacted.make(url), schema })
        yield* Effect.gen(function* () {
          const claimed = Effect.map(
            FollowUpStore.use(({ claim }) => claim(["work"], 1, anHour)),
            ([found]) => found
          )
          assert.isUndefined(yield* claimed)
          doomed.signal("SIGKILL")
          yield* doomed.ended
          const until = <A>(found: Effect.Effect<A | undefined, unknown, Everything>) =>
            Effect.retry(
              Effect.flatMap(found, (value) => (value === undefined ? Effect.fail("not yet") : Effect.succeed(value))),
              { schedule: Schedule.spaced("100 millis") }
            )
          assert.isTrue((yield* until(claimed)).isRetaken)
          const begin = yield* sampleBegin(ThreadId.make(String(threadId)))
          const begun = Effect.map(
            RunStore.use((runs) => runs.begin(begin)),
            ({ _tag }) => (_tag === "Started" ? _tag : undefined)
          )
          assert.strictEqual(yield* until(begun.pipe(Principal.provide(order.owner))), "Started")
        }).pipe(Effect.provide(stores))
      })
  )

  it.live("a process whose connection was lost has its lock again on the next one", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* Layer.build(Postgres.layer({ url: Redacted.make(url), schema, applicationName: schema }))
      const mine = advisoryLocks(schema)
      const [before = assert.fail(), ...more] = yield* mine
      assert.deepStrictEqual(more, [])
      yield* PgClient.use((client) => client.unsafe("select pg_terminate_backend($1)", [before.pid]))
      const again = Effect.flatMap(mine, ([found]) =>
        found === undefined || found.pid === before.pid ? Effect.fail("not yet") : Effect.succeed(found)
      )
      const after = yield* Effect.retry(again, { schedule: Schedule.spaced("50 millis") })
      assert.strictEqual(after.number, before.number)
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )
})
