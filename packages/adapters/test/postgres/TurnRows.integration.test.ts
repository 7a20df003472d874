/**
 * The rows of a turn on a PostgreSQL server. They have no foreign keys, so these tests hold what such keys would: nothing is left of a thread
 * that is gone, whatever deleted it and whoever wrote at that moment. What rows say of others is true, a message has one index, and a
 * settlement touches no index of the runs.
 */
import { OwnerId, Principal, RunId, type ThreadId } from "@colloquy/core"
import { AssistantStore, newId, RunStore, ThreadStore } from "@colloquy/core/adapters"
import {
  anHour,
  continueTurn,
  expectTag,
  openThread,
  openNewThread,
  queueTurn,
  sampleBegin,
  sampleEvent,
  settleTurn,
  startTurn,
  waitingTurn
} from "@colloquy/testing/contracts"
import { SessionStore } from "@colloquy/core/wings"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

class SchemaName extends Context.Service<SchemaName, string>()("test/SchemaName") {}

/** Rows that a thread may leave: its assistant, what was used, and notes that its active runs were deleted. */
const outlives = ["assistants", "usage_days", "deleted_runs"]

const rowCounts = Effect.fnUntraced(function* (owner: string) {
  const client = yield* PgClient
  const schema = yield* SchemaName
  const tables = yield* client.unsafe<{ readonly name: string }>(
    `select c.relname::text as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'owner'
     where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r' order by 1`
  )
  const counted = yield* Effect.forEach(tables, ({ name }) =>
    Effect.map(
      client.unsafe<{ readonly count: number }>(
        `select count(*)::integer as count from ${schema}.${name} where owner = $1`,
        [owner]
      ),
      ([row]) => [name, row?.count ?? 0] as const
    )
  )
  return Object.fromEntries(counted.filter(([name, count]) => count > 0 && !outlives.includes(name)))
})

/** A thread with a run of every kind: ended, continued, superseded, withdrawn, waiting, in progress, queued; each with a key. */
const fill = Effect.fnUntraced(function* (threadId: ThreadId) {
  const keyed = (key: string) => ({ idempotency: { key: `${threadId} ${key}`, fingerprint: "f" } })
  yield* settleTurn(yield* startTurn(threadId, keyed("ended")))
  yield* settleTurn(yield* continueTurn(yield* waitingTurn(threadId, keyed("continued"))))
  yield* waitingTurn(threadId, keyed("superseded"))
  yield* waitingTurn(threadId, keyed("waiting"))
  yield* startTurn(threadId, keyed("in progress"))
  yield* (yield* RunStore).withdraw((yield* queueTurn(threadId, keyed("withdrawn"))).lease)
  yield* queueTurn(threadId, keyed("queued"))
})

/** What the rows of threads and runs say of other rows, where that is not so. */
const wrongWords = Effect.gen(function* () {
  const client = yield* PgClient
  const schema = yield* SchemaName
  return yield* client.unsafe(
    `select t.id::text, t.active, t.waits, t.last_message_id::text, r.first_message, r.last_message
     from ${schema}.threads t
     left join ${schema}.runs r on r.thread_id = t.id
     left join lateral (
       select min(m.sequence) as first, max(m.sequence) as last, count(*) as count, bool_or(m.id = r.answer_id) as is_answered
       from ${schema}.messages m where m.run_id = r.id and m.sequence > 0
     ) said on true
     where t.active <> (select count(*) from ${schema}.active_runs a where a.thread_id = t.id)
       or t.waits <> exists (select from ${schema}.runs r where r.thread_id = t.id and r.status = 'REQUIRES_ACTION')
       or t.last_message_id is distinct from
         (select m.id from ${schema}.messages m where m.thread_id = t.id and m.sequence = t.message_count)
       or t.message_count <> (select count(*) from ${schema}.messages m where m.thread_id = t.id and m.sequence > 0)
       or r.first_message is distinct from said.first
       or r.last_message is distinct from case when said.count > 1 then said.last end`
  )
})

onPostgres((url) => {
  const stores = () =>
    onScratchSchema(url, (schema) =>
      Layer.mergeAll(
        Postgres.layerFromClient({ schema, notifications: false }),
        Layer.succeed(SchemaName, schema)
      ).pipe(Layer.provideMerge(hostClient(url, { maxConnections: 12 })))
    )

  layer(stores(), { excludeTestServices: true })("rows of a turn", (it) => {
    const removals = {
      "the thread is removed": (threadId: ThreadId) => ThreadStore.use(({ remove }) => remove(threadId)),
      "its assistant is removed": (threadId: ThreadId) =>
        Effect.gen(function* () {
          const { ofThread, remove } = yield* AssistantStore
          const { assistant } = Option.getOrThrow(yield* ofThread(threadId))
          assert.isTrue(yield* remove(assistant.id))
        }),
      "a statement of the host's deletes the thread": (threadId: ThreadId) =>
        Effect.flatMap(SchemaName, (schema) =>
          PgClient.use((client) => client.unsafe(`delete from ${schema}.threads where id = $1`, [threadId]))
        )
    }
    for (const [name, remove] of Object.entries(removals)) {
      it.effect(`go with their thread when ${name}`, () =>
        Effect.gen(function* () {
          const { id } = yield* openThread
          yield* fill(id)
          const filled = yield* rowCounts(name)
          for (const table of ["threads", "messages", "runs", "active_runs", "run_log", "idempotency_keys"]) {
            assert.isAbove(filled[table] ?? 0, 0, table)
          }
          yield* remove(id)
          const { idempotency_keys: keys, ...left } = yield* rowCounts(name)
          assert.deepStrictEqual([left, keys], [{}, filled["idempotency_keys"]])
        }).pipe(Principal.provide(name))
      )
    }

    it.effect("tell after each step how many runs are active, what waits, and where a run's messages are", () =>
      Effect.gen(function* () {
        const runs = yield* RunStore
        const { id } = yield* openThread
        yield* fill(id)
        assert.deepStrictEqual(yield* wrongWords, [])
        const other = yield* openThread
        const steps = {
          "a run waits for its client": Effect.asVoid(waitingTurn(other.id)),
          "a message is saved behind it": Effect.asVoid(
            Effect.flatMap(sampleBegin(other.id, { saves: true }), runs.begin)
          ),
          "a session has the thread": Effect.flatMap(newId(RunId), (sessionId) =>
            SessionStore.use((sessions) =>
              Effect.andThen(
                sessions.open(other.id, sessionId, { lease: anHour, messages: 1, at: new Date(0) }),
                sessions.close({ sessionId, threadId: other.id, ownerId: OwnerId.make("words") })
              )
            )
          ),
          "one ends, one behind it is activated, one is cancelled in the queue": Effect.gen(function* () {
            const first = yield* startTurn(other.id)
            const second = yield* queueTurn(other.id)
            const third = yield* queueTurn(other.id)
            yield* settleTurn(third, { status: "CANCELLED" })
            yield* settleTurn(first)
            const said = yield* runs.messages(first.runId)
            assert.deepStrictEqual(
              said.map((message) => message.id),
              [first.begin.message.id, first.answerId],
              "what was cancelled stands between"
            )
            const activated = expectTag(yield* runs.activate(second.lease, anHour, 1000), "Started")
            yield* settleTurn({ ...second, lease: activated.lease })
          }),
          "a message that was queued is saved": Effect.gen(function* () {
            const first = yield* startTurn(other.id)
            const begin = yield* sampleBegin(other.id, { saves: true })
            const { lease } = expectTag(yield* runs.begin(begin), "Queued")
            yield* settleTurn(first)
            expectTag(yield* runs.activate(lease, anHour, 1000, { followUps: [] }), "Saved")
          }),
          "a run that waits is cancelled": Effect.flatMap(waitingTurn(other.id), ({ runId }) =>
            Effect.asVoid(runs.requestCancel(runId, new Date(0)))
          )
        }
        for (const [name, step] of Object.entries(steps)) {
          yield* step
          assert.deepStrictEqual(yield* wrongWords, [], name)
        }
      }).pipe(Principal.provide("words"))
    )

    it.effect("have one index where a turn writes two of them", () =>
      Effect.gen(function* () {
        const client = yield* PgClient
        const schema = yield* SchemaName
        const indexes = yield* client.unsafe<{ readonly name: string }>(
          `select indexrelid::regclass::text as name from pg_index where indrelid = '${schema}.messages'::regclass`
        )
        assert.deepStrictEqual(indexes, [{ name: `${schema}.messages_pkey` }])
      })
    )

    it.effect("of other threads stay", () =>
      Effect.gen(function* () {
        const kept = yield* openThread
        yield* fill(kept.id)
        const before = yield* rowCounts("neighbour")
        const gone = yield* openNewThread(kept.assistantId)
        yield* fill(gone.id)
        // A key is kept: it begins nothing again.
        const filled = yield* rowCounts("neighbour")
        yield* ThreadStore.use(({ remove }) => remove(gone.id))
        assert.deepStrictEqual(yield* rowCounts("neighbour"), {
          ...before,
          idempotency_keys: filled["idempotency_keys"] ?? 0
        })
      }).pipe(Principal.provide("neighbour"))
    )

    it.effect("go also when their run is being written while the thread is removed", () =>
      Effect.gen(function* () {
        const client = yield* PgClient
        const schema = yield* SchemaName
        const { id } = yield* openThread
        const turn = yield* startTurn(id)
        const isWritten = yield* Deferred.make<void>()
        const mayEnd = yield* Deferred.make<void>()
        const writer = yield* Effect.forkChild(
          client.withTransaction(
            Effect.gen(function* () {
              const { lost } = yield* RunStore.use((runs) =>
                runs.append([{ lease: turn.lease, events: [sampleEvent(2)] }])
              )
              assert.deepStrictEqual(lost, [])
              yield* Deferred.succeed(isWritten, undefined)
              yield* Deferred.await(mayEnd)
            })
          )
        )
        yield* Deferred.await(isWritten)
        const removal = yield* Effect.forkChild(ThreadStore.use(({ remove }) => remove(id)))
        const waiting = client.unsafe(
          `select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.query like '%${schema}%remove_thread%'`
        )
        yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
        yield* Deferred.succeed(mayEnd, undefined)
        yield* Fiber.join(writer)
        assert.isTrue(yield* Fiber.join(removal))
        assert.deepStrictEqual(yield* rowCounts("writer"), {})
      }).pipe(Principal.provide("writer"))
    )

    it.effect("are never left by turns that begin while their thread is removed", () =>
      Effect.gen(function* () {
        const runs = yield* RunStore
        const outcomes = yield* Effect.forEach(Array.from({ length: 8 }), () =>
          Effect.gen(function* () {
            const { id } = yield* openThread
            const begin = Effect.map(Effect.flatMap(sampleBegin(id), runs.begin), ({ _tag }) => _tag)
            const remove = ThreadStore.use((threads) => Effect.as(threads.remove(id), "removed"))
            return yield* Effect.all([begin, begin, remove, begin, begin], { concurrency: "unbounded" })
          })
        )
        assert.isTrue(outcomes.every((each) => each.includes("removed")))
        assert.deepStrictEqual(yield* rowCounts("storm"), {})
        assert.deepStrictEqual(yield* wrongWords, [])
      }).pipe(Principal.provide("storm"))
    )
  })

  // A schema of its own: on pages where others have written there may be no room, while a transaction elsewhere keeps them from being cleaned.
  layer(stores(), { excludeTestServices: true })("rows of a turn on new pages", (it) => {
    it.effect("of a run and its thread are replaced on their page, and no index is touched", () =>
      Effect.gen(function* () {
        const client = yield* PgClient
        const schema = yield* SchemaName
        const { id } = yield* openThread
        /** What this transaction has done to the two tables. */
        const updates = client.unsafe<{ readonly name: string; readonly all: number; readonly hot: number }>(
          `select relname::text as name, n_tup_upd::integer as all, n_tup_hot_upd::integer as hot from pg_stat_xact_user_tables
           where schemaname = '${schema}' and relname in ('runs', 'threads') order by 1`
        )
        const turn = Effect.flatMap(startTurn(id), (started) => settleTurn(started))
        const seen = yield* client.withTransaction(
          Effect.gen(function* () {
            const before = yield* updates
            yield* Effect.repeat(turn, { times: 2 })
            const after = yield* updates
            return after.map(({ all, hot, name }) => {
              const earlier = before.find((one) => one.name === name)
              return { name, all: all - (earlier?.all ?? 0), hot: hot - (earlier?.hot ?? 0) }
            })
          })
        )
        assert.deepStrictEqual(seen, [
          { name: "runs", all: 3, hot: 3 },
          { name: "threads", all: 6, hot: 6 }
        ])
      }).pipe(Principal.provide("hot"))
    )
  })
})
