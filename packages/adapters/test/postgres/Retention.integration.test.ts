/** The contract of retention, on PGlite and on a PostgreSQL server, and what it must not do on a server: wait for a row, or read all runs. */
import { RetentionStore } from "@colloquy/core/retention"
import { asNewOwner, openThread, retentionStoreSuite, settleTurn, startTurn } from "@colloquy/testing/contracts"
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

/** What ends the rows of each table. A table that is added later has to say it, too. */
const endOfRows: Readonly<Record<string, string>> = {
  run_log: "retention (logs), or with its thread",
  idempotency_keys: "retention",
  deleted_runs: "retention, and the next removal of the owner",
  usage_receipts: "retention",
  follow_ups: "retention, when they are done or have failed",
  memory_runs: "retention (learnedRuns), or with the assistant",
  active_runs: "with the run: it settles, or the sweep settles it",
  realtime_sessions: "with the session, or with the thread",
  realtime_messages: "with the thread",
  realtime_charges: "when the meter has received them",
  realtime_tickets: "when they are redeemed, or an hour later by the next ticket",
  rate_limits: "an hour after they are full again, by other requests",
  blobs: "with their document, or by the sweep of orphans",
  blob_pieces: "with their blob",
  search_entries: "with what they index",
  search_chunks: "with their entry",
  search_postings: "with their entry",
  search_vectors: "with their entry",
  memory_forgotten: "with the assistant, which has one",
  function_versions: "by the start of a later version, which keeps few",
  assistants: "by their owner; drafts of clones by a follow-up",
  assistant_versions: "with the assistant",
  threads: "by their owner",
  thread_drafts: "when the thread is complete or all of it is deleted, else by the watch of leftovers",
  messages: "with the thread",
  runs: "with the thread",
  run_followers: "with the erasure of the owner: one for each owner",
  run_changes: "an hour later, by the next reader of the owner",
  schedules: "by their owner, or with the assistant",
  eval_cases: "by their owner",
  eval_feedback: "with the thread",
  eval_online_scores: "with the thread",
  eval_experiments: "by their owner",
  eval_results: "with their experiment",
  webhooks: "by their owner",
  webhook_deliveries: "with their webhook, which keeps the newest",
  documents: "by their owner, or with the thread or the assistant",
  memories: "by their owner, or with the assistant",
  memory_versions: "with the memory",
  answer_outcomes: "with the thread",
  keys: "by the host",
  provider_keys: "by their owner",
  secrets: "one for each name",
  audit_log: "never: one for each act of the owner that is recorded",
  owner_rates: "with the erasure of the owner: one for each rate",
  budget_holds: "when the work ends; those of a dead process with the owner's next one",
  erasures: "never: one for each erasure of an owner",
  usage_days: "never: at most 64 for each owner, day, assistant, model and purpose",
  migrations: "never: one for each step"
}

onEmbedded("PGlite", () => {
  retentionStoreSuite("PGlite: RetentionStore", Pglite.layer(), capabilities)
})

onPostgres((url) => {
  const stores = (schema: string) => Postgres.layer({ url: Redacted.make(url), schema })
  retentionStoreSuite("Postgres: RetentionStore", onScratchSchema(url, stores), capabilities)

  it.live("every table has an end for its rows", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* Effect.scoped(Layer.build(stores(schema)))
      const tables = yield* PgClient.PgClient.use((client) =>
        client.unsafe<{ readonly name: string }>(
          `select tablename::text as name from pg_tables where schemaname = $1`,
          [schema]
        )
      )
      assert.sameMembers(
        tables.map(({ name }) => name),
        Object.keys(endOfRows)
      )
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

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
