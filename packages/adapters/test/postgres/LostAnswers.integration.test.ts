/**
 * The answer of every single statement of a turn is lost in turn, after the database has done what was asked. The turn succeeds, or its
 * caller hears that it did not; a repeat of it never doubles anything; and the thread is free for the next message at once.
 */
import { Principal, type StartedTurn, StoreUnavailable, type ThreadId, Turns } from "@colloquy/core"
import { openThread, storedMessages } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { callTool, gate, say, ScriptedModel, TestKernel } from "@colloquy/testing"
import { losingProxy } from "./LosingProxy.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

const weather = { name: "weather", description: "", parameters: {}, strict: false }

/** Another request with the same key is the same request, so a caller repeats it until it succeeds. */
const untilHeard = <A, E, R>(request: Effect.Effect<A, E, R>) =>
  Effect.retry(request, { while: (error) => error instanceof StoreUnavailable, times: 3 })

/** Completes when the database holds a run for which the condition is true: asked on another connection, which loses nothing. */
type UntilStored = (condition: string, threadId: ThreadId) => Effect.Effect<void>

onPostgres((url) => {
  /** Runs a scenario once for each of its statements, each time with the answer of another one lost. */
  const losingEach = <E>(
    scenario: (
      lose: Effect.Effect<void>,
      untilStored: UntilStored
    ) => Effect.Effect<void, E, TestKernel.Services | Principal>
  ) =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      yield* Postgres.migrate({ url: Redacted.make(url), schema })
      const proxy = yield* losingProxy(url)
      const stores = Layer.orDie(
        Postgres.layer({ url: Redacted.make(proxy.url), schema, migrate: false, notifications: false })
      )
      const kernel = TestKernel.layer([], {
        stores,
        model: { otherwise: say("Fine.") },
        // Long, so that a thread that is blocked by a run without a worker fails the test.
        settings: { lease: "1 hour", poll: "20 millis", streamedLog: { pause: "1 millis", batch: 512 } }
      })
      const client = Context.get(yield* Layer.build(hostClient(url)), PgClient)
      const untilStored: UntilStored = (condition, threadId) =>
        client
          .unsafe(`select 1 from ${schema}.runs where thread_id = $1 and ${condition}`, [threadId])
          .pipe(
            Effect.orDie,
            Effect.repeat({ until: (rows) => rows.length > 0, schedule: Schedule.spaced("2 millis") }),
            Effect.asVoid
          )
      let losses = 0
      for (let nth = 1; ; nth++) {
        const lose = Effect.sync(() => proxy.lose(nth))
        yield* Effect.provide(scenario(lose, untilStored), kernel)
        if (proxy.answered() < nth) break
        losses++
      }
      return losses
    }).pipe(Effect.scoped, Principal.provide("a client behind a bad network"))

  const roles = (threadId: ThreadId) =>
    Effect.map(untilHeard(storedMessages(threadId)), (messages) =>
      messages.map(({ role, status }) => `${role} ${status}`)
    )

  const completedTurns = (count: number) =>
    Array.from({ length: count }, () => ["user COMPLETED", "assistant COMPLETED"]).flat()

  /** A message more: it must be answered, and the thread must hold what it should. */
  const nextMessage = (threadId: ThreadId, turnsBefore: number) =>
    Effect.gen(function* () {
      const reply = yield* untilHeard((yield* Turns).send({ threadId, content: "And now?", busy: "reject" }))
      assert.strictEqual(reply.status, "COMPLETED")
      assert.deepStrictEqual(yield* roles(threadId), completedTurns(turnsBefore + 1))
    })

  it.live("a turn with a key, repeated by its caller", () =>
    Effect.gen(function* () {
      const losses = yield* losingEach((lose) =>
        Effect.gen(function* () {
          const turns = yield* Turns
          const { id } = yield* openThread
          const idempotency = { key: id, fingerprint: "" }
          yield* lose
          const send = turns.send({ threadId: id, content: "How are you?", idempotency })
          const reply = yield* untilHeard(send)
          assert.deepStrictEqual([reply.status, reply.content], ["COMPLETED", "Fine."])
          const again = yield* untilHeard(send)
          assert.deepStrictEqual([again.runId, again.content], [reply.runId, "Fine."])
          yield* nextMessage(id, 1)
        })
      )
      assert.isAtLeast(losses, 6)
    })
  )

  it.live("a turn without a key: a caller who was told of a failure sends it again, and it is there once", () =>
    Effect.gen(function* () {
      const losses = yield* losingEach((lose) =>
        Effect.gen(function* () {
          const { id } = yield* openThread
          yield* lose
          const reply = yield* untilHeard((yield* Turns).send({ threadId: id, content: "How are you?" }))
          assert.strictEqual(reply.status, "COMPLETED")
          yield* nextMessage(id, 1)
        })
      )
      assert.isAtLeast(losses, 4)
    })
  )

  it.live("a first turn, which makes its assistant and its thread", () =>
    Effect.gen(function* () {
      const losses = yield* losingEach((lose) =>
        Effect.gen(function* () {
          yield* lose
          const reply = yield* untilHeard((yield* Turns).send({ content: "How are you?" }))
          assert.strictEqual(reply.status, "COMPLETED")
          yield* nextMessage(reply.threadId, 1)
        })
      )
      assert.isAtLeast(losses, 5)
    })
  )

  it.live("a streamed turn whose log is written along the way", () =>
    Effect.gen(function* () {
      const losses = yield* losingEach((lose, untilStored) =>
        Effect.gen(function* () {
          const model = yield* ScriptedModel
          const { id } = yield* openThread
          model.append([say("Half of"), gate(id), say(" an answer.")])
          yield* lose
          const turn = yield* untilHeard((yield* Turns).start({ threadId: id, content: "Tell me.", stream: true }))
          const seen = yield* Effect.forkChild(Stream.runCollect(turn.events))
          yield* model.reached(id)
          // The third event is the first word.
          yield* untilStored("last_sequence >= 3", id)
          yield* model.release(id)
          const text = (yield* Fiber.join(seen)).map((event) => (event._tag === "TextDelta" ? event.text : "")).join("")
          assert.strictEqual(text, "Half of an answer.")
          const [, answer] = yield* untilHeard(storedMessages(id))
          assert.deepStrictEqual([answer?.status, answer?.content], ["COMPLETED", "Half of an answer."])
          yield* nextMessage(id, 1)
        })
      )
      assert.isAtLeast(losses, 4)
    })
  )

  it.live("tool outputs", () =>
    Effect.gen(function* () {
      const losses = yield* losingEach((lose) =>
        Effect.gen(function* () {
          const model = yield* ScriptedModel
          const turns = yield* Turns
          const { id } = yield* openThread
          model.append(callTool("weather", {}, "call"), say("It rains."))
          const waiting = yield* turns.send({ threadId: id, content: "Will it rain?", tools: [weather] })
          assert.strictEqual(waiting.status, "REQUIRES_ACTION")
          yield* lose
          const outputs = { threadId: id, runId: waiting.runId, outputs: [{ toolCallId: "call", output: "rain" }] }
          const next: StartedTurn = yield* untilHeard(turns.submitToolOutputs(outputs))
          const reply = yield* untilHeard(next.reply)
          assert.deepStrictEqual([reply.status, reply.content], ["COMPLETED", "It rains."])
          assert.strictEqual((yield* untilHeard(storedMessages(id))).length, 3)
          const after = yield* untilHeard(turns.send({ threadId: id, content: "And now?", busy: "reject" }))
          assert.strictEqual(after.status, "COMPLETED")
        })
      )
      assert.isAtLeast(losses, 4)
    })
  )

  it.live("a message that waits for its thread", () =>
    Effect.gen(function* () {
      const losses = yield* losingEach((lose, untilStored) =>
        Effect.gen(function* () {
          const model = yield* ScriptedModel
          const turns = yield* Turns
          const { id } = yield* openThread
          model.append([say("One"), gate(id)], say("Two"))
          const first = yield* turns.start({ threadId: id, content: "First" })
          yield* model.reached(id)
          yield* lose
          const idempotency = { key: id, fingerprint: "" }
          const second = yield* Effect.forkChild(
            untilHeard(turns.send({ threadId: id, content: "Second", idempotency, busy: "enqueue" }))
          )
          yield* untilStored("status = 'QUEUED'", id)
          yield* model.release(id)
          assert.strictEqual((yield* first.reply).content, "One")
          assert.strictEqual((yield* Fiber.join(second)).content, "Two")
          assert.deepStrictEqual(yield* roles(id), completedTurns(2))
          yield* nextMessage(id, 2)
        })
      )
      assert.isAtLeast(losses, 5)
    })
  )
})
