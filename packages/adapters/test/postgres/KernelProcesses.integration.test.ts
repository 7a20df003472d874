/** Three kernels in three processes on one database, one of which dies in the middle of a turn; and a database that leaves during one. */
import { PgClient } from "@effect/sql-pg/PgClient"
import { Principal, type RunId, type ThreadId, type TurnEvent, Turns } from "@colloquy/core"
import { ThreadStore, totalTokens, UsageLedger } from "@colloquy/core/adapters"
import { storedMessages, storedRun } from "@colloquy/testing/contracts"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { gate, say, ScriptedModel, TestKernel } from "@colloquy/testing"
import { leaseSettings, shortLease } from "./Lease.ts"
import { canStartServer, privateServer } from "./PrivateServer.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"
import { startWorker, type Worker } from "./Worker.ts"

const owner = "three kernels"

const kernelOn = (url: string, schema: string, lease?: string) =>
  TestKernel.layer([], {
    stores: Layer.orDie(Postgres.layer({ url: Redacted.make(url), schema })),
    settings: leaseSettings(lease)
  })

const hangIn = (worker: Worker) =>
  Effect.map(worker.ask("hang", { owner }), (place) => place as { readonly runId: RunId; readonly threadId: ThreadId })

const isText = ({ _tag }: TurnEvent) => _tag === "TextDelta"

onPostgres((url) => {
  it.live(
    "a process that is killed in the middle of a turn: its followers are told, its words are kept, its thread is free",
    () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        yield* Effect.gen(function* () {
          const turns = yield* Turns
          const database = { database: "postgres", url, schema } as const
          const [doomed, witness] = [
            yield* startWorker(database, "kernel", shortLease),
            yield* startWorker(database, "kernel")
          ]
          const place = yield* hangIn(doomed)

          // What was said is in the store when it is heard here.
          const events = yield* turns.follow(place.threadId, place.runId, 0)
          yield* Stream.runHead(Stream.filter(events, isText))
          const here = yield* Effect.forkChild(Stream.runCollect(yield* turns.follow(place.threadId, place.runId, 0)))
          const there = yield* Effect.forkChild(witness.ask("follow", { owner, ...place }))
          doomed.signal("SIGKILL")
          yield* doomed.ended

          const seen = yield* Fiber.join(here)
          assert.strictEqual(seen.filter(({ _tag }) => _tag === "RunFailed").length, 1)
          assert.strictEqual(seen.at(-1)?._tag, "RunFailed")
          assert.deepStrictEqual(
            yield* Fiber.join(there),
            seen.map(({ _tag }) => _tag)
          )

          const [, answer, ...more] = yield* storedMessages(place.threadId)
          assert.deepStrictEqual(more, [])
          assert.deepInclude(answer, { status: "FAILED", content: joinedText(seen) })
          assert.strictEqual((yield* storedRun(place.runId)).status, "FAILED")

          assert.strictEqual(yield* witness.ask("turn", { owner, ...place }), "Fine.")
          assert.strictEqual((yield* (yield* ThreadStore).messages([place.threadId])).length, 4)
        }).pipe(Principal.provide(owner), Effect.provide(kernelOn(url, schema, shortLease)))
      })
  )

  it.live(
    "processes that are killed between reservation and settlement keep nothing reserved, and the day's limit holds",
    () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const tokensPerDay = 6000
        const database = { database: "postgres", url, schema } as const
        const start = startWorker(database, "kernel", shortLease, JSON.stringify({ tokensPerDay }))
        yield* Effect.gen(function* () {
          const turns = yield* Turns
          const [first, second, third, fourth] = [yield* start, yield* start, yield* start, yield* start]
          const places = [yield* hangIn(first), yield* hangIn(second)]
          const reserved = PgClient.use((sql) =>
            sql.unsafe<{ readonly tokens: number }>(
              `select coalesce(sum(reserved_tokens), 0)::integer as tokens from ${schema}.active_runs where owner = $1`,
              [owner]
            )
          )
          assert.isAbove((yield* reserved)[0]?.tokens ?? 0, 4000)
          for (const worker of [first, second]) {
            worker.signal("SIGKILL")
            yield* worker.ended
          }
          for (const { runId, threadId } of places) yield* Stream.runDrain(yield* turns.follow(threadId, runId, 0))
          assert.deepStrictEqual(yield* reserved, [{ tokens: 0 }])

          const begun = yield* Effect.all([third.ask("spend", { owner }), fourth.ask("spend", { owner })], {
            concurrency: 2
          })
          assert.isAtLeast(Number(begun[0]) + Number(begun[1]), 4)
          const { days } = yield* (yield* UsageLedger).recent({ skip: 0, limit: 10 })
          const spent = days.reduce((sum, { usage }) => sum + totalTokens(usage), 0)
          // Text is counted when 256 characters have come, so each process may be so much over at the end.
          assert.isAtMost(spent, tokensPerDay + 2 * 64)
          assert.isAbove(spent, tokensPerDay / 2)
          assert.deepStrictEqual(yield* reserved, [{ tokens: 0 }])
        }).pipe(Principal.provide(owner), Effect.provide(kernelOn(url, schema, shortLease)))
      }).pipe(Effect.provide(hostClient(url)))
  )

  it.live("a wish to cancel that is uttered in another process", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* Effect.gen(function* () {
        const turns = yield* Turns
        const worker = yield* startWorker({ database: "postgres", url, schema }, "kernel")
        const place = yield* hangIn(worker)
        const events = yield* turns.follow(place.threadId, place.runId, 0)
        const followed = yield* Effect.forkChild(Stream.runCollect(events), { startImmediately: true })
        assert.strictEqual((yield* turns.cancel(place.threadId, place.runId)).status, "CANCELLED")
        const seen = yield* Fiber.join(followed)
        assert.strictEqual(seen.at(-1)?._tag, "RunCancelled")
        const [, answer] = yield* storedMessages(place.threadId)
        assert.deepInclude(answer, { status: "CANCELLED", content: joinedText(seen) })
      }).pipe(Principal.provide(owner), Effect.provide(kernelOn(url, schema)))
    })
  )

  it.live.runIf(canStartServer)("a database that is away while a turn ends", () =>
    Effect.gen(function* () {
      const server = yield* privateServer
      yield* Effect.gen(function* () {
        const model = yield* ScriptedModel
        model.append([say("Before,"), gate(), say(" after.")])
        const turn = yield* (yield* Turns).start({ content: "Tell me.", stream: true })
        const followed = yield* Effect.forkChild(Stream.runCollect(turn.events))
        yield* model.reached()
        yield* server.stop
        yield* model.release()
        yield* server.start
        const seen = yield* Fiber.join(followed)
        const run = yield* storedRun(turn.runId)
        assert.include(["RunEnded/COMPLETED", "RunFailed/FAILED"], `${seen.at(-1)?._tag}/${run.status}`)
        const [, answer] = yield* storedMessages(turn.threadId)
        assert.deepStrictEqual([answer?.status, answer?.content], [run.status, joinedText(seen)])
      }).pipe(Principal.provide(owner), Effect.provide(kernelOn(server.url, "colloquy")))
    })
  )
})

/** What the deltas add up to. */
const joinedText = (events: ReadonlyArray<TurnEvent>): string =>
  events.map((event) => (event._tag === "TextDelta" ? event.text : "")).join("")
