import { InMemory } from "@colloquy/adapters/in-memory"
import { gate, hang, say, ScriptedModel } from "@colloquy/testing"
import { Turns } from "@colloquy/core"
import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { failureFrom, openKernel, storedRun, story, transcript } from "../support/Story.ts"
import { faultyStores, watchedStores } from "../support/WatchedStores.ts"

const start = Turns.use((turns) => turns.start({ content: "Hi" }))

describe("draining", () => {
  story(
    "refuses new turns and waits for the running ones",
    [[gate(), say("Hello.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const turn = yield* start
      yield* model.reached()
      const draining = yield* Effect.forkChild(turns.drain, { startImmediately: true })
      assert.strictEqual((yield* failureFrom(turns.send({ content: "Late" })))._tag, "ShuttingDown")
      const outputs = turns.submitToolOutputs({ threadId: turn.threadId, outputs: [] })
      assert.strictEqual((yield* failureFrom(outputs))._tag, "ShuttingDown")
      assert.isUndefined(draining.pollUnsafe())
      yield* model.release()
      yield* Fiber.join(draining)
      assert.strictEqual((yield* storedRun(turn)).status, "COMPLETED")
    })
  )

  story(
    "lets those who wait in a queue be answered too",
    [[gate(), say("one")], say("two")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const turn = yield* start
      yield* model.reached()
      yield* Effect.forkChild(turns.send({ content: "2", threadId: turn.threadId }), { startImmediately: true })
      yield* Effect.yieldNow
      const draining = yield* Effect.forkChild(turns.drain, { startImmediately: true })
      yield* model.release()
      yield* Fiber.join(draining)
      assert.strictEqual((yield* transcript(turn.threadId)).at(-1)?.[2], "two")
    })
  )

  story(
    "ends what takes too long, as FAILED with what was said",
    [[say("Hel"), hang]],
    Effect.gen(function* () {
      const turn = yield* start
      const draining = yield* Effect.forkChild((yield* Turns).drain, { startImmediately: true })
      yield* TestClock.adjust("19 seconds")
      assert.isUndefined(draining.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(draining)
      assert.deepStrictEqual((yield* transcript(turn.threadId))[1], ["assistant", "FAILED", "Hel"])
      assert.deepInclude((yield* storedRun(turn)).fault, { code: "interrupted", retryable: true })
    })
  )
})

describe("a turn that is being written when the shutdown begins", () => {
  /** Stores whose beginnings stand still until they are let go. */
  const held = () => {
    const gateway = Deferred.makeUnsafe<void>()
    const asked = Deferred.makeUnsafe<void>()
    const stores = watchedStores(InMemory.makeState(), (operation, call) =>
      operation === "runs.begin"
        ? Effect.andThen(Deferred.succeed(asked, undefined), Effect.andThen(Deferred.await(gateway), call))
        : call
    )
    return { asked: Deferred.await(asked), open: Deferred.succeed(gateway, undefined), stores }
  }

  const drained = held()
  story(
    "was accepted: a drain waits for it, and it is answered",
    [say("Hello.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const sent = yield* Effect.forkChild(turns.send({ content: "Hi" }), { startImmediately: true })
      yield* drained.asked
      const draining = yield* Effect.forkChild(turns.drain, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(draining.pollUnsafe())
      assert.strictEqual((yield* failureFrom(turns.send({ content: "Late" })))._tag, "ShuttingDown")
      yield* drained.open
      assert.deepInclude(yield* Fiber.join(sent), { content: "Hello.", status: "COMPLETED" })
      yield* Fiber.join(draining)
    }),
    { stores: drained.stores }
  )

  const closed = held()
  story(
    "is settled before the kernel is closed: its thread is not left blocked",
    [],
    Effect.gen(function* () {
      const kernel = yield* openKernel([], { stores: closed.stores, model: { otherwise: hang } })
      const sent = yield* Effect.forkChild(kernel.run(Turns.use((turns) => turns.send({ content: "Hi" }))), {
        startImmediately: true
      })
      yield* closed.asked
      const closing = yield* Effect.forkChild(kernel.close, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(closing.pollUnsafe())
      yield* closed.open
      assert.deepInclude((yield* Fiber.join(sent)).fault, { code: "interrupted" })
      yield* Fiber.join(closing)
    })
  )
})

describe("closing a kernel", () => {
  story(
    "ends its service: whoever still holds it is refused",
    [],
    Effect.gen(function* () {
      const kernel = yield* openKernel([])
      yield* kernel.close
      assert.strictEqual((yield* failureFrom(kernel.run(start)))._tag, "ShuttingDown")
    })
  )

  story(
    "settles every run before its stores go away, and the next kernel finds the threads free",
    [],
    Effect.gen(function* () {
      const stores = InMemory.layerFrom(InMemory.makeState())
      const first = yield* openKernel(
        Array.from({ length: 20 }, () => [say("Half"), hang]),
        { stores }
      )
      const turns = yield* Effect.all(Array.from({ length: 20 }, () => first.run(start)))
      yield* Effect.yieldNow
      yield* first.close
      const second = yield* openKernel(
        Array.from({ length: 20 }, () => say("Again.")),
        { stores }
      )
      for (const { threadId } of turns) {
        assert.deepStrictEqual((yield* second.run(transcript(threadId)))[1], ["assistant", "FAILED", "Half"])
        const again = Turns.use((each) => each.send({ content: "Again", threadId, busy: "reject" }))
        assert.strictEqual((yield* second.run(again)).content, "Again.")
      }
    })
  )

  story(
    "with a store that does not answer takes the time of one settlement, not of all of them",
    [],
    Effect.gen(function* () {
      const stores = faultyStores(InMemory.makeState(), (operation) => (operation === "runs.settle" ? "refuse" : null))
      const kernel = yield* openKernel(
        Array.from({ length: 20 }, () => hang),
        { stores }
      )
      yield* Effect.all(Array.from({ length: 20 }, () => kernel.run(start)))
      yield* Effect.yieldNow
      const closing = yield* Effect.forkChild(kernel.close, { startImmediately: true })
      yield* TestClock.adjust("65 seconds")
      yield* Fiber.join(closing)
    })
  )

  story(
    "a moment after a turn began settles it, although it had not done anything yet",
    [],
    Effect.gen(function* () {
      const stores = InMemory.layerFrom(InMemory.makeState())
      const first = yield* openKernel([], { stores, model: { otherwise: hang } })
      const turn = yield* first.run(start)
      yield* first.close
      const second = yield* openKernel([], { stores })
      assert.strictEqual((yield* second.run(storedRun(turn))).status, "FAILED")
    })
  )
})
