/** Several processes on one Postgres, and what remains when one of them is stopped or killed. */
import { Principal, type MessageId } from "@colloquy/core"
import { RunStore, type Lease, ThreadStore } from "@colloquy/core/adapters"
import {
  runChanges,
  anHour,
  moment,
  openThread,
  sampleSettlement,
  startTurn,
  storedMessages,
  storedRun
} from "@colloquy/testing/contracts"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"
import { startWorker, type Worker } from "./Worker.ts"

class SchemaName extends Context.Service<SchemaName, string>()("test/SchemaName") {}

const owner = "several processes"

onPostgres((url) => {
  const stores = onScratchSchema(url, (schema) =>
    Layer.merge(Postgres.layer({ url: Redacted.make(url), schema }), Layer.succeed(SchemaName, schema))
  )
  const newWorker = Effect.flatMap(SchemaName, (schema) => startWorker({ database: "postgres", url, schema }))

  const test = (
    title: string,
    body: Effect.Effect<void, unknown, Postgres.Stores | SchemaName | Principal | Scope.Scope>
  ) => it.live(title, () => body.pipe(Principal.provide(owner), Effect.provide(stores)))

  /** A run that a worker has begun; its lease has expired already. */
  const beginIn = (worker: Worker, threadId: string) =>
    Effect.map(worker.ask("begin", { owner, threadId }), (lease) => lease as Lease & { readonly answerId: MessageId })

  test(
    "two that race for one thread take turns, and leave no gap",
    Effect.gen(function* () {
      const { id } = yield* openThread
      const workers = [yield* newWorker, yield* newWorker]
      const race = { owner, threadId: id, times: 40 }
      const done = yield* Effect.forEach(workers, (worker) => worker.ask("race", race), { concurrency: 2 })
      const turns = done.reduce((sum: number, each) => sum + Number(each), 0)
      assert.isAbove(turns, 0)
      const messages = yield* storedMessages(id)
      assert.deepStrictEqual(
        messages.map(({ role, sequence }) => [role, sequence]),
        Array.from({ length: turns * 2 }, (_, index) => [index % 2 === 0 ? "user" : "assistant", index + 1])
      )
    })
  )

  test(
    "one that was only paused cannot write after another took over",
    Effect.gen(function* () {
      const runs = yield* RunStore
      const { id } = yield* openThread
      const worker = yield* newWorker
      const lease = yield* beginIn(worker, id)
      worker.signal("SIGSTOP")
      const taken = Option.getOrThrow(yield* runs.takeOver(lease.runId, anHour, { onlyExpired: true }))
      const leg = { runId: lease.runId, threadId: id, answerId: lease.answerId, leg: 0 }
      assert.isTrue(yield* runs.settle(taken.lease, yield* sampleSettlement(leg, { status: "FAILED" })))
      const before = [yield* storedRun(lease.runId), yield* storedMessages(id), yield* runs.read(lease.runId, 0)]
      worker.signal("SIGCONT")
      assert.isFalse(yield* worker.ask("append", { lease }))
      assert.isFalse(yield* worker.ask("settle", { lease }))
      assert.deepStrictEqual(
        [yield* storedRun(lease.runId), yield* storedMessages(id), yield* runs.read(lease.runId, 0)],
        before
      )
    })
  )

  test(
    "the run of one that was killed is found, and its thread goes on",
    Effect.gen(function* () {
      const runs = yield* RunStore
      const { id } = yield* openThread
      const worker = yield* newWorker
      const lease = yield* beginIn(worker, id)
      assert.isTrue(yield* worker.ask("append", { lease }))
      worker.signal("SIGKILL")
      yield* worker.ended
      assert.deepInclude(yield* runs.expired(100), { runId: lease.runId, ownerId: lease.ownerId })
      const taken = Option.getOrThrow(yield* runs.takeOver(lease.runId, anHour, { onlyExpired: true }))
      assert.deepStrictEqual(
        (yield* runs.read(lease.runId, 0)).map(({ sequence }) => sequence),
        [1, 2]
      )
      const leg = { runId: lease.runId, threadId: id, answerId: lease.answerId, leg: 0 }
      yield* runs.settle(taken.lease, yield* sampleSettlement(leg, { status: "FAILED" }))
      yield* startTurn(id)
      assert.strictEqual((yield* (yield* ThreadStore).messages([id])).length, 4)
    })
  )

  test(
    "the wish to cancel reaches the process that works on the run",
    Effect.gen(function* () {
      const { id } = yield* openThread
      const worker = yield* newWorker
      assert.strictEqual(yield* worker.ask("listen", { threadId: id }), "listening")
      const lease = yield* beginIn(worker, id)
      yield* (yield* RunStore).requestCancel(lease.runId, moment(1))
      assert.strictEqual(yield* worker.ask("heard"), "cancelled")
    })
  )

  test(
    "who reads a run's log is told when another process writes it",
    Effect.gen(function* () {
      const runs = yield* RunStore
      const { id } = yield* openThread
      const worker = yield* newWorker
      const lease = yield* beginIn(worker, id)
      const ofRun = Stream.filter(runChanges(runs), ({ runId }) => runId === lease.runId)
      assert.strictEqual((yield* runs.read(lease.runId, 0)).length, 1)
      for (const step of ["append", "settle"]) {
        const told = yield* Effect.forkChild(Stream.runHead(ofRun), { startImmediately: true })
        assert.isTrue(yield* worker.ask(step, { lease }))
        assert.deepStrictEqual(
          yield* Fiber.join(told),
          Option.some({ runId: lease.runId, threadId: id, cancel: false })
        )
      }
    })
  )
})
