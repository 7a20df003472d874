/** The stores over a `pg.Pool` that belongs to the host: the whole contract, the host's transactions, and connections that are lost. */
import { Principal, StoreUnavailable, Threads } from "@colloquy/core"
import {
  AssistantStore,
  ErasureId,
  newId,
  OwnerStore,
  RecalledTexts,
  Removals,
  RunStore,
  ThreadStore
} from "@colloquy/core/adapters"
import {
  runChanges,
  followUpStoreSuite,
  moment,
  openThread,
  sampleAssistant,
  sampleThread,
  startTurn,
  storageSuite,
  storedMessages
} from "@colloquy/testing/contracts"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import pg from "pg"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { longTextSuite } from "./LongTexts.ts"
import { onScratchSchema, scratchSchema } from "./Scratch.ts"

onPostgres((url) => {
  /** With parsers and settings of its own, which must not reach the stores. */
  const openPool = (settings: pg.PoolConfig = {}) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const pool = new pg.Pool({
          connectionString: url,
          max: 5,
          types: { getTypeParser: () => () => "parsed by the host" },
          ...settings
        })
        pool.on("error", () => undefined)
        return pool
      }),
      (pool) => Effect.promise(() => pool.end())
    )

  const overPool = (settings?: pg.PoolConfig, options?: Postgres.StoreOptions) =>
    Layer.unwrap(
      Effect.map(openPool(settings), (pool) =>
        onScratchSchema(url, (schema) => Postgres.layerFromPool(pool, { schema, ...options }))
      )
    )

  const stores = overPool()
  storageSuite("pg.Pool", stores, { testClock: false, signals: true })
  followUpStoreSuite("pg.Pool", stores, { testClock: false, signals: true })
  longTextSuite("pg.Pool, long texts", stores)

  /** What an effect does inside of a transaction of the host's, which the host ends as it likes. */
  const inTransaction = <A, E, R>(end: "commit" | "rollback", work: Effect.Effect<A, E, R>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { pool } = yield* Postgres.HostPool
        const client = yield* Effect.acquireRelease(
          Effect.promise(() => pool.connect()),
          (taken) => Effect.sync(() => taken.release())
        )
        const statement = (text: string) => Effect.promise(() => client.query({ text, values: [], types: pg.types }))
        yield* statement("begin")
        const result = yield* Postgres.joinTransaction(client)(work)
        yield* statement(end)
        return result
      })
    )

  it.live("a rollback of the host takes what the stores wrote with it", () =>
    Effect.gen(function* () {
      const threads = yield* ThreadStore
      const assistant = yield* sampleAssistant()
      const thread = yield* sampleThread(assistant.id)
      yield* inTransaction(
        "rollback",
        Effect.gen(function* () {
          yield* (yield* AssistantStore).insert(assistant)
          assert.isTrue(yield* threads.insert(thread))
          yield* startTurn(thread.id)
          assert.isTrue(Option.isSome(yield* threads.get(thread.id)))
        })
      )
      assert.isTrue(Option.isNone(yield* threads.get(thread.id)))
      assert.isTrue(Option.isNone(yield* (yield* AssistantStore).get(assistant.id)))
    }).pipe(Principal.provide("host"), Effect.provide(overPool()))
  )

  it.live("an erasure waits for what an open transaction has written, and is not completed over it", () =>
    Effect.gen(function* () {
      const [assistants, owners] = [yield* AssistantStore, yield* OwnerStore]
      const { pool } = yield* Postgres.HostPool
      const [written, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const writing = yield* Effect.forkChild(
        inTransaction(
          "commit",
          Effect.gen(function* () {
            yield* assistants.insert(yield* sampleAssistant())
            yield* Deferred.succeed(written, undefined)
            yield* Deferred.await(mayEnd)
          })
        )
      )
      yield* Deferred.await(written)
      const { id } = yield* owners.beginErasure(yield* newId(ErasureId), new Date(0))
      const end = owners.endErasure(id, "COMPLETED", new Date(0), "none")
      assert.strictEqual(yield* owners.eraseSome(10, "none"), 0)
      const ending = yield* Effect.forkChild(end)
      const client = yield* Effect.promise(() => pool.connect())
      const waiting = `select 1 as waits from pg_locks where locktype = 'advisory' and not granted and mode = 'ExclusiveLock'`
      const look = Effect.promise(() => client.query({ text: waiting, values: [], types: pg.types }))
      while ((yield* look).rows.length === 0);
      client.release()
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(writing)
      assert.isFalse(yield* Fiber.join(ending))
      while ((yield* owners.eraseSome(10, "none")) > 0);
      assert.isTrue(yield* end)
      assert.deepStrictEqual(yield* owners.left("none"), {})
    }).pipe(Principal.provide("erased"), Effect.provide(overPool()))
  )

  it.live("a use case of the kernel takes part in the host's transaction", () =>
    Effect.gen(function* () {
      const threads = yield* Threads
      const assistant = yield* sampleAssistant()
      yield* (yield* AssistantStore).insert(assistant)
      const create = threads.create(assistant.id, null)
      assert.isTrue(Option.isSome(yield* inTransaction("rollback", create)))
      const kept = Option.getOrThrow(yield* inTransaction("commit", create))
      const listed = yield* threads.list({ page: { limit: 10, skip: 0 }, includeMessages: false })
      assert.deepStrictEqual(
        listed.map(({ thread }) => thread.id),
        [kept.id]
      )
    }).pipe(
      Principal.provide("host"),
      Effect.provide(
        Layer.provideMerge(Layer.provide(Threads.layer, [Removals.layer, RecalledTexts.layer]), overPool())
      )
    )
  )

  it.live("what the stores wrote is there when the host commits, and only then is anybody told", () =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const { runId } = yield* startTurn((yield* openThread).id)
      const heard = yield* Effect.forkChild(Stream.runHead(runChanges(runs)), { startImmediately: true })
      yield* inTransaction(
        "commit",
        Effect.gen(function* () {
          assert.isTrue(Option.isSome(yield* runs.requestCancel(runId, moment(9))))
          assert.isUndefined(heard.pollUnsafe())
        })
      )
      const signal = Option.getOrThrow(yield* Fiber.join(heard))
      assert.deepStrictEqual([signal.runId, signal.cancel], [runId, true])
    }).pipe(Principal.provide("host"), Effect.provide(overPool()))
  )

  it.live("what outlives the joined effect cannot write into the host's transaction", () =>
    Effect.gen(function* () {
      const threads = yield* ThreadStore
      const { id } = yield* openThread
      const later = yield* inTransaction("commit", Effect.context<Principal>())
      const failed = yield* Effect.flip(Effect.provideContext(threads.get(id), later))
      assert.instanceOf(failed, StoreUnavailable)
    }).pipe(Principal.provide("host"), Effect.provide(overPool()))
  )

  it.live("a statement that waits too long is cancelled on the server, and its connection is used again", () =>
    Effect.gen(function* () {
      const { pool } = yield* Postgres.HostPool
      const threads = yield* ThreadStore
      const { id } = yield* openThread
      const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like 'update%metadata%'`
      yield* Effect.scoped(
        Effect.gen(function* () {
          const holder = yield* Effect.acquireRelease(
            Effect.promise(() => pool.connect()),
            (taken) => Effect.sync(() => taken.release())
          )
          const statement = (text: string) => Effect.promise(() => holder.query({ text, values: [], types: pg.types }))
          yield* statement("begin")
          yield* Postgres.joinTransaction(holder)(threads.mergeMetadata(id, { from: "the host" }))
          const failed = yield* Effect.flip(threads.mergeMetadata(id, { from: "another" }))
          assert.instanceOf(failed, StoreUnavailable)
          // Nothing else would end its wait, because the lock is still held.
          yield* Effect.repeat(statement(waiting), {
            until: ({ rows }) => rows.length === 0,
            schedule: Schedule.spaced("10 millis")
          })
          yield* statement("commit")
        })
      )
      assert.deepStrictEqual(Option.getOrThrow(yield* threads.get(id)).metadata, { from: "the host" })
    }).pipe(Principal.provide("host"), Effect.provide(overPool({}, { timeout: "300 millis" })))
  )

  it.live("every connection lost, the listening one too, and the stores come back by themselves", () =>
    Effect.gen(function* () {
      const pool = yield* openPool({ application_name: "lost_connections" })
      const other = yield* openPool({ types: pg.types })
      const schema = yield* scratchSchema(url)
      yield* Effect.gen(function* () {
        const runs = yield* RunStore
        const { runId } = yield* startTurn((yield* openThread).id)
        const terminated = yield* Effect.promise(() =>
          other.query(
            "select pid::int, pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lost_connections'"
          )
        )
        assert.isAbove(terminated.rows.length, 0)
        const listening = Effect.promise(() =>
          other.query({
            text: `select 1 from pg_stat_activity
                   where application_name = 'lost_connections' and query like 'listen%' and pid <> all($1)`,
            values: [terminated.rows.map(({ pid }) => pid)]
          })
        )
        yield* Effect.repeat(listening, {
          until: ({ rows }) => rows.length > 0,
          schedule: Schedule.spaced("20 millis")
        })
        const heard = yield* Effect.forkChild(Stream.runHead(runChanges(runs)), { startImmediately: true })
        // From another process, as far as this pool can see.
        const elsewhere = RunStore.use((store) => store.requestCancel(runId, moment(9)))
        yield* Effect.provide(elsewhere, Postgres.layerFromPool(other, { schema }), { local: true })
        assert.strictEqual(Option.getOrThrow(yield* Fiber.join(heard)).runId, runId)
      }).pipe(Effect.provide(Postgres.layerFromPool(pool, { schema })))
    }).pipe(Effect.scoped, Principal.provide("host"))
  )

  it.live("a pool of one connection serves the stores: nothing listens beside it", () =>
    Effect.gen(function* () {
      const { id } = yield* openThread
      yield* startTurn(id)
      assert.strictEqual((yield* storedMessages(id)).length, 2)
    }).pipe(Principal.provide("host"), Effect.provide(overPool({ max: 1 })))
  )

  it.live("a database that is away is a store that is unavailable", () =>
    Effect.gen(function* () {
      const pool = yield* openPool({ connectionString: "postgres://127.0.0.1:1/none" })
      const failed = yield* Effect.flip(Effect.scoped(Layer.build(Postgres.layerFromPool(pool))))
      assert.instanceOf(failed, StoreUnavailable)
    }).pipe(Effect.scoped)
  )
})
