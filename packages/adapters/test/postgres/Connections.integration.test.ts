/** Statements that share connections: what somebody else's lock, a hung statement or a lost connection does to those beside them. */
import { Principal, StoreUnavailable, type ThreadId } from "@colloquy/core"
import { RunStore, ThreadStore } from "@colloquy/core/adapters"
import { expectTag, openThread, sampleBegin, settleTurn, startTurn } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

class SchemaName extends Context.Service<SchemaName, string>()("test/SchemaName") {}

/** Somebody else's transaction that has run a statement and stays open until it is told to end. */
const holding = (statement: (schema: string) => string) =>
  Effect.gen(function* () {
    const host = yield* PgClient
    const schema = yield* SchemaName
    const [taken, free] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const transaction = host.withTransaction(
      host
        .unsafe(statement(schema))
        .pipe(Effect.andThen(Deferred.succeed(taken, undefined)), Effect.andThen(Deferred.await(free)))
    )
    const holder = yield* Effect.forkScoped(transaction)
    yield* Deferred.await(taken)
    return Effect.andThen(Deferred.succeed(free, undefined), Fiber.join(holder))
  })

const holdingThreads = (ids: ReadonlyArray<ThreadId>) =>
  holding(
    (schema) => `select 1 from ${schema}.threads where id in (${ids.map((id) => `'${id}'`).join(", ")}) for update`
  )

const turnOn = (id: ThreadId) => Effect.flatMap(startTurn(id), (turn) => settleTurn(turn))

const openThreads = (count: number) =>
  Effect.map(Effect.replicateEffect(openThread, count), (all) => all.map(({ id }) => id))

/** More turns at once than there are connections. */
const turnsOn = (ids: ReadonlyArray<ThreadId>) => Effect.forEach(ids, turnOn, { concurrency: "unbounded" })

/**
 * The end of a connection is known when it has arrived, or at the next statement on that connection: each can fail one statement, which was
 * not done. The kernel asks again as well.
 */
const turnsAfterLoss = (ids: ReadonlyArray<ThreadId>) => {
  const oncePerConnection = { times: 10, while: (error: unknown) => error instanceof StoreUnavailable }
  const turn = (id: ThreadId) =>
    Effect.flatMap(Effect.retry(startTurn(id), oncePerConnection), (started) =>
      Effect.retry(settleTurn(started), oncePerConnection)
    )
  return Effect.forEach(ids, turn, { concurrency: "unbounded" })
}

/** The stores' connections that wait for a lock on the server. */
const stuck = Effect.flatMap(SchemaName, (schema) =>
  PgClient.use((host) =>
    host.unsafe<{ readonly pid: number }>(
      `select pid from pg_stat_activity where application_name = '${schema}' and wait_event_type = 'Lock'`
    )
  )
)

const untilStuck = (count: number) => Effect.repeat(stuck, { until: (all) => all.length === count })

/** Comes back when the server's processes are gone. */
const terminateAll = Effect.flatMap(SchemaName, (schema) =>
  PgClient.use((host) =>
    Effect.gen(function* () {
      const ended = yield* host.unsafe<{ readonly pid: number }>(
        `select pid, pg_terminate_backend(pid) from pg_stat_activity where application_name = '${schema}'`
      )
      const left = host.unsafe("select 1 from pg_stat_activity where pid = any($1)", [ended.map(({ pid }) => pid)])
      yield* Effect.repeat(left, { until: (rows) => rows.length === 0 })
    })
  )
)

onPostgres((url) => {
  const stores = (options: Partial<Postgres.PostgresOptions>) =>
    onScratchSchema(url, (schema) =>
      Layer.merge(
        Postgres.layer({
          url: Redacted.make(url),
          schema,
          notifications: false,
          applicationName: schema,
          ...options
        }),
        Layer.succeed(SchemaName, schema)
      )
    ).pipe(Layer.provideMerge(hostClient(url)), Layer.orDie)

  const onStores =
    (options: Partial<Postgres.PostgresOptions>) =>
    <A, E>(body: Effect.Effect<A, E, Postgres.Stores | PgClient | SchemaName | Principal | Scope.Scope>) =>
      body.pipe(Effect.scoped, Principal.provide("connections"), Effect.provide(stores(options)))

  for (const maxConnections of [2, 10]) {
    it.live(`turns go on while somebody holds a thread, on ${maxConnections} connections`, () =>
      Effect.gen(function* () {
        const [held, ...others] = yield* openThreads(41)
        assert.isDefined(held)
        for (let round = 0; round < 3; round++) {
          const free = yield* holdingThreads([held])
          const waiting = yield* Effect.forkChild(turnOn(held))
          yield* turnsOn(others)
          yield* untilStuck(1)
          yield* turnsOn(others)
          assert.isUndefined(waiting.pollUnsafe(), "it waits for the lock")
          yield* free
          assert.isTrue(yield* Fiber.join(waiting))
        }
      }).pipe(onStores({ maxConnections }))
    )
  }

  it.live(
    "turns go on while somebody holds as many threads as there are connections, and those are given up in time",
    () =>
      Effect.gen(function* () {
        const held = yield* openThreads(10)
        const others = yield* openThreads(40)
        for (let round = 0; round < 2; round++) {
          const free = yield* holdingThreads(held)
          const waiting = yield* Effect.forkChild(
            Effect.forEach(held, (id) => Effect.flip(startTurn(id)), { concurrency: "unbounded" })
          )
          yield* untilStuck(9)
          yield* turnsOn(others)
          for (const failed of yield* Fiber.join(waiting)) assert.instanceOf(failed, StoreUnavailable)
          yield* untilStuck(0)
          yield* turnsOn(others)
          yield* free
          for (const done of yield* turnsOn(held)) assert.isTrue(done)
        }
      }).pipe(onStores({ maxConnections: 10, timeout: "1 second" }))
  )

  it.live("what nobody waits for any more is cancelled on the server, and its connection replaced", () =>
    Effect.gen(function* () {
      const threads = yield* ThreadStore
      const ids = yield* openThreads(5)
      const free = yield* holding((schema) => `lock table ${schema}.threads in access exclusive mode`)
      const failures = yield* Effect.forEach(ids, (id) => Effect.flip(threads.get(id)), { concurrency: "unbounded" })
      for (const failed of failures) assert.instanceOf(failed, StoreUnavailable)
      yield* untilStuck(0)
      yield* free
      for (const id of ids) assert.isTrue(Option.isSome(yield* threads.get(id)))
      for (const done of yield* turnsOn(ids)) assert.isTrue(done)
    }).pipe(onStores({ maxConnections: 2, timeout: "300 millis" }))
  )

  it.live("a statement whose caller goes away is over when he is told so", () =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const [held] = yield* openThreads(1)
      assert.isDefined(held)
      const free = yield* holdingThreads([held])
      const begin = yield* sampleBegin(held)
      const caller = yield* Effect.forkChild(runs.begin(begin))
      yield* untilStuck(1)
      yield* Fiber.interrupt(caller)
      assert.lengthOf(yield* stuck, 0)
      yield* free
      assert.isTrue(Option.isNone(yield* runs.get(begin.run.id)))
      expectTag(yield* runs.begin(begin), "Started")
    }).pipe(onStores({}))
  )

  it.live("a lost connection fails what was on it, and at most the first statement after it", () =>
    Effect.gen(function* () {
      const [held, ...others] = yield* openThreads(21)
      assert.isDefined(held)
      for (let round = 0; round < 3; round++) {
        yield* turnsOn(others)
        const free = yield* holdingThreads([held])
        const waiting: Fiber.Fiber<unknown, unknown> = yield* Effect.forkChild(Effect.flip(startTurn(held)))
        yield* untilStuck(1)
        yield* terminateAll
        assert.instanceOf(yield* Fiber.join(waiting), StoreUnavailable)
        for (const done of yield* turnsAfterLoss(others)) assert.isTrue(done)
        yield* free
      }
    }).pipe(onStores({}))
  )

  it.live("a statement has one span of a client, named after what asked for it", () =>
    Effect.gen(function* () {
      const { id } = yield* openThread
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      yield* Effect.provideService(
        ThreadStore.use((threads) => threads.get(id)),
        Tracer.Tracer,
        tracer
      )
      assert.deepStrictEqual(
        spans.map(({ attributes, kind, name }) => [name, kind, Object.fromEntries(attributes)]),
        [["ThreadStore.get", "client", { "db.system.name": "postgresql", "db.operation.name": "ThreadStore.get" }]]
      )
    }).pipe(onStores({}))
  )

  it.live("the host may keep statements apart", () =>
    Effect.gen(function* () {
      const [held, ...others] = yield* openThreads(21)
      assert.isDefined(held)
      const free = yield* holdingThreads([held])
      const waiting = yield* Effect.forkChild(turnOn(held))
      yield* turnsOn(others)
      yield* free
      assert.isTrue(yield* Fiber.join(waiting))
    }).pipe(onStores({ multiplex: false, maxConnections: 3 }))
  )
})
