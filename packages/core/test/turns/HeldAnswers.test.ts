/** The store has begun a run, and its answer is held for longer than anybody waits. What was begun is found and gone on with. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { gate, say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import { Assistants, Principal, StoreUnavailable, Threads, Turns } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { failureFrom, openKernel, quiet, story, terminalEvent, transcript } from "../support/Story.ts"
import { watchedStores } from "../support/WatchedStores.ts"

const openThread = Effect.gen(function* () {
  const assistants = yield* Assistants
  const { id } = yield* assistants.create({ name: "Ada" })
  return (yield* assistants.createThread(id, null)).id
})

/** The first answers to `runs.begin` come after 10 seconds, as the end of a statement's time. */
const holding = (times: number) => {
  let held = 0
  return watchedStores(InMemory.makeState(), (operation, call) =>
    Effect.suspend(() =>
      operation === "runs.begin" && held++ < times
        ? Effect.andThen(call, Effect.delay(Effect.fail(new StoreUnavailable({ operation })), "10 seconds"))
        : call
    )
  )
}

const held = (title: string, steps: ReadonlyArray<ScriptStep>, times: number, body: Parameters<typeof story>[2]) =>
  story(title, steps, body, { stores: holding(times) })

describe("an answer of begin that is held", () => {
  held(
    "once is asked for again, however long it was held: the turn goes on, once",
    [say("Hello.")],
    1,
    Effect.gen(function* () {
      const threadId = yield* openThread
      const turn = yield* Effect.forkChild((yield* Turns).send({ threadId, content: "Hi" }), { startImmediately: true })
      yield* TestClock.adjust("11 seconds")
      assert.deepInclude(yield* Fiber.join(turn), { status: "COMPLETED", content: "Hello." })
      assert.strictEqual((yield* transcript(threadId)).length, 2)
    })
  )

  held(
    "again and again: the caller hears that the store is away, and the run is gone on with, so that the thread is free",
    [say("Hello."), say("Again.")],
    2,
    Effect.gen(function* () {
      const threadId = yield* openThread
      const refused = yield* Effect.forkChild(failureFrom((yield* Turns).send({ threadId, content: "Hi" })), {
        startImmediately: true
      })
      yield* TestClock.adjust("21 seconds")
      assert.strictEqual((yield* Fiber.join(refused))._tag, "StoreUnavailable")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* transcript(threadId), [
        ["user", "COMPLETED", "Hi"],
        ["assistant", "COMPLETED", "Hello."]
      ])
      assert.strictEqual((yield* (yield* Turns).send({ threadId, content: "And?" })).content, "Again.")
    })
  )
})

it.effect(
  "a follower in another process gets a terminal event, though the thread is deleted before its first look",
  () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const working = yield* openKernel([[say("Half"), gate()]], { stores: InMemory.layerFrom(state) })
      const following = yield* openKernel([], { stores: InMemory.layerFrom(state) })
      const turn = yield* working.run(Turns.use((turns) => turns.start({ content: "Hi", stream: true })))
      yield* working.run(ScriptedModel.use((model) => model.reached()))
      const events = yield* following.run(Turns.use((turns) => turns.follow(turn.threadId, turn.runId, 0)))
      yield* following.run(Threads.use((threads) => threads.remove(turn.threadId)))
      const seen = yield* Stream.runCollect(events)
      assert.deepInclude(terminalEvent(seen), { _tag: "RunCancelled", provider: "scripted" })
    }).pipe(Principal.provide("ada"), Effect.scoped, Effect.provide(quiet))
)
