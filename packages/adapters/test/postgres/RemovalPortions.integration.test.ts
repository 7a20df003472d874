/** The deletion of an assistant with very much: no statement takes long, and one that stops in the middle is unknown at once and finished later. */
import { type AssistantId, Principal, RunId, ThreadId } from "@colloquy/core"
import { AssistantStore, InboxStore, newId, OwnerStore, RunStore, ThreadStore } from "@colloquy/core/adapters"
import { asNewOwner, sampleAssistant } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { longestStretch } from "../../../../test/LongestStretch.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { databaseOfClient } from "../../src/postgres/Database.ts"
import { removeLeftovers } from "../../src/postgres/Removals.ts"
import { functionName } from "../../src/postgres/schema/FunctionNames.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

const tables = ["assistants", "threads", "thread_drafts", "messages", "runs", "run_log", "memories"]

const nothing = tables.map((table) => [table, 0])

/** A thread of 20,000 messages, 2,000 threads of four, 2,000 memories. Written in the database, where that takes seconds. */
const fill = Effect.fnUntraced(function* (schema: string) {
  const client = yield* PgClient
  const { ownerId } = yield* Principal
  const assistant = yield* sampleAssistant()
  yield* (yield* AssistantStore).insert(assistant)
  const long = yield* newId(ThreadId)
  const run = yield* newId(RunId)
  yield* client.unsafe(
    `insert into ${schema}.threads (id, owner, assistant_id, created_at, updated_at, message_count, tokens)
       select case n when 0 then $3 else gen_random_uuid() end, $1, $2, now(), now(), case n when 0 then 20000 else 4 end, 40
       from generate_series(0, 2000) n`,
    [ownerId, assistant.id, long]
  )
  yield* client.unsafe(
    `insert into ${schema}.messages (id, owner, thread_id, run_id, sequence, role, status, tokens, tokens_before, created_at, body, tool_results)
       select case t.id = $2 and place = 2 when true then $3 else gen_random_uuid() end, $1, t.id, case when t.id = $2 then $3 end, place,
         case place % 2 when 1 then 'user' else 'assistant' end, 'COMPLETED', 10, (place - 1) * 10, now(), '{"content":"words","toolCalls":[],"steps":[]}', '[]'
       from ${schema}.threads t cross join generate_series(1, t.message_count) place where t.owner = $1`,
    [ownerId, long, run]
  )
  yield* client.unsafe(
    `insert into ${schema}.runs (id, owner, thread_id, assistant_id, status, leg_start, last_sequence, user_message_id, answer_id, stream,
         provider, model, plan, created_at, token, leg_token, first_message, last_message)
       values ($1, $2, $3, $4, 'COMPLETED', 1, 20, $1, $1, false, 'provider', 'model', '{}', now(), 1, 1, 19999, 20000)`,
    [run, ownerId, long, assistant.id]
  )
  yield* client.unsafe(
    `insert into ${schema}.run_log (owner, run_id, first_sequence, last_sequence, events) values ($1, $2, 1, 2, '[]')`,
    [ownerId, run]
  )
  yield* client.unsafe(
    `insert into ${schema}.memories (owner, id, assistant_id, content_hash, content, created_at, updated_at)
       select $1, gen_random_uuid(), $2, md5(n::text), 'words', now(), now() from generate_series(1, 2000) n`,
    [ownerId, assistant.id]
  )
  return { assistant: assistant.id, long, run }
})

const rowsLeft = (schema: string) =>
  Effect.forEach(tables, (table) =>
    PgClient.use((client) =>
      Effect.map(
        client.unsafe<{ readonly count: number }>(`select count(*)::int as count from ${schema}.${table}`),
        ([row]) => [table, row?.count]
      )
    )
  )

const remove = (id: AssistantId) => AssistantStore.use((store) => store.remove(id))

type Stores = AssistantStore | InboxStore | OwnerStore | PgClient | RunStore | ThreadStore

const suite = (
  open: Effect.Effect<readonly [schema: string, layer: Layer.Layer<Stores, unknown>], never, Scope.Scope>
) => {
  const on = <A, E>(story: (schema: string) => Effect.Effect<A, E, Stores | Principal | Scope.Scope>) =>
    Effect.gen(function* () {
      const [schema, layer] = yield* open
      yield* story(schema).pipe(asNewOwner, Effect.provide(layer))
    }).pipe(Effect.scoped)

  // By a virtual clock: what a store deletes of others a second after its start would be deleted here in the middle of a test.
  it.effect("leaves no row, and no statement holds the process for long", () =>
    on(
      Effect.fnUntraced(function* (schema) {
        const { assistant } = yield* fill(schema)
        const stretch = longestStretch()
        assert.isTrue(yield* remove(assistant))
        // It is 10 to 20 ms, and 60 on a busy machine. One statement for all takes 400.
        assert.isBelow(stretch.end(), 200)
        assert.deepStrictEqual(yield* rowsLeft(schema), nothing)
        assert.isFalse(yield* remove(assistant))
      })
    )
  )

  it.effect("that was cut is unknown, and finished by the next process", () =>
    on(
      Effect.fnUntraced(function* (schema) {
        const { assistant, long, run } = yield* fill(schema)
        const { ownerId } = yield* Principal
        const client = yield* PgClient
        // All that a process has done that died after its first statements.
        yield* client.unsafe(`select * from ${schema}.${functionName("remove_thread")}($1, $2)`, [ownerId, long])
        yield* client.unsafe(`select * from ${schema}.${functionName("remove_assistant")}($1, $2, 300)`, [
          ownerId,
          assistant
        ])
        const left = Object.fromEntries(yield* rowsLeft(schema))
        assert.isAbove(left["messages"], 20_000)
        assert.isAbove(left["threads"], 1000)

        const [assistants, threads, runs] = [yield* AssistantStore, yield* ThreadStore, yield* RunStore]
        assert.isTrue(Option.isNone(yield* assistants.get(assistant)))
        assert.isTrue(Option.isNone(yield* threads.get(long)))
        assert.deepStrictEqual(yield* threads.messages([long]), [])
        assert.deepStrictEqual(yield* threads.messages([long, yield* newId(ThreadId)]), [])
        assert.deepStrictEqual(yield* threads.messagesBefore(long, 30_000, 10), [])
        assert.isTrue(Option.isNone(yield* runs.get(run)))
        assert.deepStrictEqual((yield* runs.list(long, { limit: 10 })).runs, [])
        assert.deepStrictEqual(yield* InboxStore.use((inbox) => inbox.list({ limit: 10 })), [])
        assert.deepStrictEqual(yield* remove(assistant), false)
        // Nor is it a draft that could be published or discarded.
        assert.isFalse(yield* assistants.publish(assistant))
        assert.isTrue(Option.isNone(yield* assistants.get(assistant)))
        assert.isFalse(yield* assistants.discard(assistant))
        // A thread that is left is answered by nobody.
        const [stays] = yield* threads.list({ skip: 0, limit: 1 })
        assert.isTrue(Option.isNone(yield* assistants.ofThread(stays?.id ?? long)))

        yield* removeLeftovers(databaseOfClient(client, schema, "10 seconds"))
        assert.deepStrictEqual(yield* rowsLeft(schema), nothing)
      })
    )
  )

  it.effect("that was cut is no part of what an erasure takes at once", () =>
    on(
      Effect.fnUntraced(function* (schema) {
        const { long } = yield* fill(schema)
        const { ownerId } = yield* Principal
        const client = yield* PgClient
        yield* client.unsafe(`select * from ${schema}.${functionName("remove_thread")}($1, $2)`, [ownerId, long])
        const owners = yield* OwnerStore
        const stretch = longestStretch()
        const drafts = Effect.map(rowsLeft(schema), (left) => Object.fromEntries(left)["thread_drafts"])
        while ((yield* drafts) > 0) yield* owners.eraseSome(500, "kept")
        assert.isBelow(stretch.end(), 50)
        assert.strictEqual(Object.fromEntries(yield* rowsLeft(schema))["messages"], 8000)
      })
    )
  )
}

onEmbedded("PGlite", () => {
  suite(Effect.succeed(["colloquy", Postgres.layerFromClient().pipe(Layer.provideMerge(Pglite.layerClient()))]))
})

onPostgres((url) => {
  suite(
    Effect.map(scratchSchema(url), (schema) => [
      schema,
      Postgres.layerFromClient({ schema }).pipe(Layer.provideMerge(hostClient(url)))
    ])
  )
})
