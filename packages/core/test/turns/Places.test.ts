/** A turn on a thread that this process has just answered needs no look-up, and is never decided on what is not so any more. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { say, ScriptedModel } from "@colloquy/testing"
import { Assistants, InsufficientCredit, Threads, TurnParts, Turns } from "@colloquy/core"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { failureFrom, openKernel, story } from "../support/Story.ts"
import { type Intercept, watchedStores } from "../support/WatchedStores.ts"

/** Counts the look-ups. */
const counting = () => {
  const seen = { lookUps: 0 }
  const count: Intercept = (operation, call) => {
    if (operation === "assistants.ofThread") seen.lookUps++
    return call
  }
  return { seen, count }
}

const systemPrompts = Effect.map(ScriptedModel, ({ requests }) => requests.map(({ system }) => system))

describe("a thread that was answered here before", () => {
  const plain = counting()
  story(
    "is looked up once for many turns",
    [say("1"), say("2"), say("3"), say("4")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "a" })
      for (const content of ["b", "c", "d"]) yield* turns.send({ content, threadId })
      assert.strictEqual(plain.seen.lookUps, 1)
    }),
    { stores: watchedStores(InMemory.makeState(), plain.count) }
  )

  const none = counting()
  story(
    "is looked up for each turn when nothing may be kept",
    [say("1"), say("2"), say("3")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "a" })
      for (const content of ["b", "c"]) yield* turns.send({ content, threadId })
      assert.strictEqual(none.seen.lookUps, 2)
    }),
    { stores: watchedStores(InMemory.makeState(), none.count), settings: { keptPlaces: 0 } }
  )

  let asked = 0
  const credit = {
    ensureCredit: () => Effect.suspend(() => (++asked > 1 ? Effect.fail(new InsufficientCredit()) : Effect.void)),
    record: () => Effect.void
  }
  story(
    "is refused for lack of credit after one question to the host",
    [say("1")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "a" })
      assert.strictEqual((yield* failureFrom(turns.send({ content: "b", threadId })))._tag, "InsufficientCredit")
      assert.strictEqual(asked, 2)
    }),
    { metering: credit }
  )

  const shared = InMemory.makeState()
  story(
    "is answered by its assistant as another process has changed it",
    [say("1"), say("2"), say("3")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const other = yield* openKernel([], { stores: InMemory.layerFrom(shared) })
      const { assistantId, threadId } = yield* turns.send({ content: "a" })
      yield* turns.send({ content: "b", threadId })
      yield* other.run(Assistants.use(({ update }) => update(assistantId, { systemPrompt: "Be brief." })))
      yield* turns.send({ content: "c", threadId })
      assert.deepStrictEqual((yield* systemPrompts).slice(-2), [null, "Be brief."])
    }),
    { stores: InMemory.layerFrom(shared) }
  )

  const small = InMemory.makeState()
  story(
    "does not refuse what its assistant as it is now would take",
    [say("1"), say("2"), say("3"), say("4")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const assistants = yield* Assistants
      const other = yield* openKernel([], { stores: InMemory.layerFrom(small) })
      const { id } = yield* assistants.create({ name: "a", systemPrompt: "word ".repeat(300) })
      const { threadId } = yield* turns.send({ content: "a", assistantId: id })
      yield* turns.send({ content: "b", threadId })
      const long = { content: "word ".repeat(150), threadId }
      assert.strictEqual((yield* failureFrom(turns.send(long)))._tag, "ContextTooLong")
      yield* turns.send({ content: "b", threadId })
      yield* other.run(Assistants.use(({ update }) => update(id, { systemPrompt: "Be brief." })))
      assert.strictEqual((yield* turns.send(long)).status, "COMPLETED")
    }),
    { stores: InMemory.layerFrom(small), settings: { assumedContextLimit: 1000 } }
  )

  const refused = counting()
  story(
    "is looked up again after a refusal, and then remembered again",
    [say("1"), say("2"), say("3"), say("4")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "a" })
      yield* turns.send({ content: "b", threadId })
      const long = { content: "word ".repeat(1000), threadId }
      assert.strictEqual((yield* failureFrom(turns.send(long)))._tag, "ContextTooLong")
      assert.strictEqual(refused.seen.lookUps, 2)
      for (const content of ["c", "d"]) yield* turns.send({ content, threadId })
      assert.strictEqual(refused.seen.lookUps, 3)
    }),
    { stores: watchedStores(InMemory.makeState(), refused.count), settings: { assumedContextLimit: 1000 } }
  )

  const removed = InMemory.makeState()
  story(
    "is missing when another process has deleted it",
    [say("1"), say("2")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const other = yield* openKernel([], { stores: InMemory.layerFrom(removed) })
      const { threadId } = yield* turns.send({ content: "a" })
      yield* turns.send({ content: "b", threadId })
      yield* other.run(Threads.use(({ remove }) => remove(threadId)))
      assert.strictEqual((yield* failureFrom(turns.send({ content: "c", threadId })))._tag, "ThreadNotFound")
    }),
    { stores: InMemory.layerFrom(removed) }
  )

  const heard = InMemory.makeState()
  story(
    "is looked up for a message that is heard: what was heard is paid once, whatever has changed",
    [say("1"), say("2"), say("3")],
    Effect.gen(function* () {
      let listened = 0
      yield* Layer.build(
        TurnParts.part({
          name: "ears",
          plan: Schema.Null,
          decide: () => Effect.succeed(null),
          listen: () => Effect.sync(() => ({ content: `heard ${++listened}` }))
        })
      )
      const turns = yield* Turns
      const other = yield* openKernel([], { stores: InMemory.layerFrom(heard) })
      const { assistantId, threadId } = yield* turns.send({ content: "a" })
      yield* turns.send({ content: "b", threadId })
      yield* other.run(Assistants.use(({ update }) => update(assistantId, { systemPrompt: "Be brief." })))
      yield* turns.send({ content: "", threadId, options: { ears: {} } })
      assert.strictEqual(listened, 1)
      assert.strictEqual((yield* systemPrompts).at(-1), "Be brief.")
    }),
    { stores: InMemory.layerFrom(heard) }
  )
})
