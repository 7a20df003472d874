/**
 * Two processes of the operating system learn from the turns of one assistant, on one database: each turn once, in the order of the turns,
 * whoever does it. One of them is killed while its model thinks, and while its changes are being made.
 */
import type { AssistantId, RunId } from "@colloquy/core"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { onPostgres } from "../../../../test/databases.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"
import { startWorker, type Worker } from "./Worker.ts"

const owner = "ada"

const tell = (worker: Worker, number: number, assistantId: AssistantId | null) =>
  Effect.map(
    worker.ask("tell", { owner, number, assistantId }),
    (place) => place as { readonly assistantId: AssistantId; readonly runId: RunId }
  )

const learned = (worker: Worker, runId: RunId) =>
  worker
    .ask("status", { owner, runId })
    .pipe(Effect.repeat({ until: (status) => status === "COMPLETED", schedule: Schedule.spaced("20 millis") }))

const rememberedIn = (worker: Worker, assistantId: AssistantId) =>
  Effect.map(
    worker.ask("remembered", { owner, assistantId }),
    (memories) => memories as ReadonlyArray<readonly [string, RunId]>
  )

const shownIn = (worker: Worker) => Effect.map(worker.ask("shown", {}), (numbers) => numbers as ReadonlyArray<number>)

onPostgres((url) => {
  it.live(
    "two processes learn from forty turns, once each and in order",
    () =>
      Effect.gen(function* () {
        const database = { database: "postgres", url, schema: yield* scratchSchema(url) } as const
        const one = yield* startWorker(database, "memory")
        yield* one.ask("open")
        const two = yield* startWorker(database, "memory")
        const first = yield* tell(one, 0, null)
        const { assistantId } = first
        const told = [first]
        for (let number = 1; number < 40; number++) {
          told.push(yield* tell(number % 2 === 0 ? one : two, number, assistantId))
        }
        for (const { runId } of told) yield* learned(two, runId)
        assert.deepStrictEqual(
          yield* rememberedIn(one, assistantId),
          told.map(({ runId }, number) => [`The user said ${number}.`, runId] as const)
        )
        const shown = [yield* shownIn(one), yield* shownIn(two)]
        for (const numbers of shown)
          assert.deepStrictEqual(
            numbers,
            numbers.toSorted((a, b) => a - b)
          )
        assert.deepStrictEqual(
          shown.flat().toSorted((a, b) => a - b),
          Array.from({ length: 40 }, (_, number) => number)
        )
      }),
    120_000
  )

  it.live(
    "a process that is killed while its model thinks: the other one learns from the turn, and then from the next",
    () =>
      Effect.gen(function* () {
        const database = { database: "postgres", url, schema: yield* scratchSchema(url) } as const
        const doomed = yield* startWorker(database, "memory", "0")
        const first = yield* tell(doomed, 0, null)
        const next = yield* tell(doomed, 1, first.assistantId)
        yield* doomed.ask("shownFirst")
        doomed.signal("SIGKILL")
        yield* doomed.ended
        const heir = yield* startWorker(database, "memory")
        yield* learned(heir, next.runId)
        assert.deepStrictEqual(yield* rememberedIn(heir, first.assistantId), [
          ["The user said 0.", first.runId],
          ["The user said 1.", next.runId]
        ])
        assert.deepStrictEqual(yield* shownIn(heir), [0, 1])
      }),
    120_000
  )

  it.live(
    "a process that is killed while the database makes its changes: they are made once, in order, and none is lost",
    () =>
      Effect.gen(function* () {
        const database = { database: "postgres", url, schema: yield* scratchSchema(url) } as const
        const doomed = yield* startWorker(database, "memory", "-1")
        const { assistantId, runId } = yield* tell(doomed, 0, null)
        yield* learned(doomed, runId)
        const client = yield* PgClient
        /** The lock for which writers of the assistant's memories wait. */
        const lock = `hashtextextended('${owner}memories:${assistantId}', 0)`
        const waiting = client.unsafe(
          `select from pg_locks where locktype = 'advisory' and not granted
             and ((classid::bigint << 32) | objid::bigint) = ${lock}`
        )
        const last = yield* client.withTransaction(
          Effect.gen(function* () {
            yield* client.unsafe(`select pg_advisory_xact_lock(${lock})`)
            yield* tell(doomed, 1, assistantId)
            const told = yield* tell(doomed, 2, assistantId)
            yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0, schedule: Schedule.spaced("5 millis") })
            doomed.signal("SIGKILL")
            yield* doomed.ended
            return told
          })
        )
        const heir = yield* startWorker(database, "memory")
        yield* learned(heir, last.runId)
        assert.deepStrictEqual(
          (yield* rememberedIn(heir, assistantId)).map(([content]) => content),
          ["The user said 0.", "The user said 1.", "The user said 2."]
        )
        const applied = yield* client.unsafe<{ readonly runs: number }>(
          `select count(*)::integer as runs from ${database.schema}.memory_runs`
        )
        assert.strictEqual(Number(applied[0]?.runs), 3)
      }).pipe(Effect.provide(hostClient(url))),
    120_000
  )
})
