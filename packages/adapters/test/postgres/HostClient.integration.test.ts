/** The stores over a client that belongs to the host: his transactions, his settings, his connections. */
import { Principal, StoreUnavailable } from "@colloquy/core"
import { AssistantStore, RunStore, ThreadStore } from "@colloquy/core/adapters"
import {
  runChanges,
  expectTag,
  openThread,
  sampleAssistant,
  sampleBegin,
  sampleThread,
  startTurn,
  storedMessages,
  storedRun
} from "@colloquy/testing/contracts"
import { PgClient, type PgPoolConfig } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

onPostgres((url) => {
  const overHost = (options: Postgres.StoreOptions = {}, config: PgPoolConfig = {}) =>
    onScratchSchema(url, (schema) => Postgres.layerFromClient({ schema, ...options })).pipe(
      Layer.provideMerge(hostClient(url, config))
    )

  it.live("a rollback of the host takes what the stores wrote with it", () =>
    Effect.gen(function* () {
      const host = yield* PgClient
      const threads = yield* ThreadStore
      const assistant = yield* sampleAssistant()
      const thread = yield* sampleThread(assistant.id)
      const work = Effect.gen(function* () {
        yield* (yield* AssistantStore).insert(assistant)
        assert.isTrue(yield* threads.insert(thread))
        yield* startTurn(thread.id)
        assert.isTrue(Option.isSome(yield* threads.get(thread.id)))
        return yield* Effect.fail("the host changed his mind")
      })
      assert.strictEqual(yield* Effect.flip(host.withTransaction(work)), "the host changed his mind")
      assert.isTrue(Option.isNone(yield* threads.get(thread.id)))
      assert.isTrue(Option.isNone(yield* (yield* AssistantStore).get(assistant.id)))
    }).pipe(Principal.provide("host"), Effect.provide(overHost()))
  )

  it.live("what the stores wrote is there when the host commits, and only then is anybody told", () =>
    Effect.gen(function* () {
      const host = yield* PgClient
      const runs = yield* RunStore
      const heard = yield* Effect.forkChild(Stream.runHead(runChanges(runs)), { startImmediately: true })
      const { id } = yield* openThread
      const turn = yield* host.withTransaction(
        Effect.gen(function* () {
          const begun = yield* startTurn(id)
          assert.isUndefined(heard.pollUnsafe())
          return begun
        })
      )
      assert.strictEqual(Option.getOrThrow(yield* Fiber.join(heard)).runId, turn.runId)
      assert.strictEqual((yield* storedMessages(id)).length, 2)
    }).pipe(Principal.provide("host"), Effect.provide(overHost()))
  )

  it.live("the host's renaming of columns does not reach the stores", () =>
    Effect.gen(function* () {
      const { runId } = yield* startTurn((yield* openThread).id)
      assert.strictEqual((yield* storedRun(runId)).status, "IN_PROGRESS")
    }).pipe(
      Principal.provide("host"),
      Effect.provide(overHost({}, { transformResultNames: (name) => `renamed_${name}`, transformJson: true }))
    )
  )

  it.live("the host's client stays open when the stores are closed", () =>
    Effect.gen(function* () {
      const host = yield* PgClient
      const stores = onScratchSchema(url, (schema) => Postgres.layerFromClient({ schema }))
      yield* Effect.scoped(Layer.build(stores))
      assert.deepStrictEqual(yield* host`select 1 as one`, [{ one: 1 }])
    }).pipe(Effect.provide(hostClient(url, { maxConnections: 1 })))
  )

  it.live("who waits too long for a connection hears that the store is unavailable", () =>
    Effect.gen(function* () {
      const host = yield* PgClient
      const threads = yield* ThreadStore
      const { id } = yield* openThread
      const [taken, free] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holder = yield* Effect.forkChild(
        host.withTransaction(Effect.andThen(Deferred.succeed(taken, undefined), Deferred.await(free)))
      )
      yield* Deferred.await(taken)
      const failed = yield* Effect.flip(threads.get(id))
      assert.instanceOf(failed, StoreUnavailable)
      assert.strictEqual(failed.operation, "ThreadStore.get")
      // A settlement cannot be interrupted; it is bounded all the same.
      const begin = yield* sampleBegin(id)
      assert.instanceOf(yield* Effect.flip(Effect.uninterruptible((yield* RunStore).begin(begin))), StoreUnavailable)
      yield* Deferred.succeed(free, undefined)
      yield* Fiber.join(holder)
      assert.isTrue(Option.isSome(yield* threads.get(id)))
      expectTag(yield* (yield* RunStore).begin(begin), "Started")
    }).pipe(Principal.provide("host"), Effect.provide(overHost({ timeout: "300 millis" }, { maxConnections: 1 })))
  )
})
