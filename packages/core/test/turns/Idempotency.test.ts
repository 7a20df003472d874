import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, gate, say, ScriptedModel } from "@colloquy/testing"
import { Assistants, defaultTurnSettings, Principal, Threads, Turns } from "@colloquy/core"
import { firstPage } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { failureFrom, inKernel, openKernel, story, tags, transcript, weather } from "../support/Story.ts"

const key = { key: "k", fingerprint: "body" }
const patient = { ...defaultTurnSettings.chat, firstEventTimeout: "1 hour" } as const

describe("a request with an idempotency key", () => {
  story(
    "that is repeated gets the first one's result, and no second run",
    [say("Once.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* turns.send({ content: "Hi", idempotency: key })
      const again = yield* turns.send({ content: "Hi", idempotency: key })
      assert.deepStrictEqual(again, first)
      assert.strictEqual((yield* ScriptedModel).requests.length, 1)
      assert.strictEqual((yield* (yield* Assistants).list(firstPage)).length, 1)
    })
  )

  story(
    "that is repeated while the first one runs joins its stream from the start",
    [[say("On"), gate(), say("ce.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const first = yield* turns.start({ content: "Hi", idempotency: key, stream: true })
      yield* model.reached()
      const again = yield* turns.start({ content: "Hi", idempotency: key, stream: true })
      const both = yield* Effect.forkChild(
        Effect.all([Stream.runCollect(first.events), Stream.runCollect(again.events)], { concurrency: 2 })
      )
      yield* model.release()
      const [one, two] = yield* Fiber.join(both)
      assert.deepStrictEqual(two, one)
      assert.deepStrictEqual([again.runId, again.threadId], [first.runId, first.threadId])
    })
  )

  for (const how of [{ stream: true }, { background: true }]) {
    story(
      `(${Object.keys(how).join("")}) that is repeated while its message waits for the thread has started at once, as the first one`,
      [[gate("1"), say("one")], say("two")],
      Effect.gen(function* () {
        const turns = yield* Turns
        const { threadId } = yield* turns.start({ content: "1" })
        yield* (yield* ScriptedModel).reached("1")
        const request = { content: "2", threadId, idempotency: key, ...how }
        const first = yield* turns.start(request)
        const again = yield* turns.start(request)
        assert.strictEqual(again.runId, first.runId)
        assert.strictEqual((yield* turns.report(threadId, first.runId)).run.status, "QUEUED")
        yield* (yield* ScriptedModel).release("1")
        assert.deepStrictEqual(yield* Stream.runCollect(again.events), yield* Stream.runCollect(first.events))
        assert.strictEqual((yield* again.reply).content, "two")
      })
    )
  }

  story(
    "with another body is a conflict, while it runs and after",
    [[gate(), say("Once.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const first = yield* turns.start({ content: "Hi", idempotency: key })
      const other = turns.send({ content: "Other", idempotency: { ...key, fingerprint: "other" } })
      assert.strictEqual((yield* failureFrom(other))._tag, "IdempotencyConflict")
      yield* model.release()
      yield* first.reply
      assert.strictEqual((yield* failureFrom(other))._tag, "IdempotencyConflict")
    })
  )

  story(
    "is one run however many repeats come at once, and leaves no thread or assistant behind",
    [[gate(), say("Once.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const repeats = Array.from({ length: 10 }, () => turns.send({ content: "Hi", idempotency: key }))
      const all = yield* Effect.forkChild(Effect.all(repeats, { concurrency: "unbounded" }))
      yield* model.reached()
      yield* model.release()
      const replies = yield* Fiber.join(all)
      assert.strictEqual(new Set(replies.map((reply) => JSON.stringify(reply))).size, 1)
      assert.strictEqual((yield* (yield* Threads).list({ page: firstPage, includeMessages: false })).length, 1)
      assert.strictEqual((yield* (yield* Assistants).list(firstPage)).length, 1)
    })
  )

  story(
    "that loses a race against another body is a conflict and leaves nothing behind",
    [[gate(), say("Once.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const bodies = ["a", "b", "c"].map((fingerprint) =>
        Effect.exit(turns.send({ content: fingerprint, idempotency: { ...key, fingerprint } }))
      )
      const all = yield* Effect.forkChild(Effect.all(bodies, { concurrency: "unbounded" }))
      yield* model.reached()
      yield* model.release()
      const exits = yield* Fiber.join(all)
      assert.strictEqual(exits.filter((exit) => exit._tag === "Success").length, 1)
      assert.strictEqual((yield* (yield* Assistants).list(firstPage)).length, 1)
    })
  )

  story(
    "belongs to its owner: the same key of somebody else is another request",
    [say("To Ada."), say("To Bob.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const ada = yield* turns.send({ content: "Hi", idempotency: key })
      const bob = yield* turns.send({ content: "Hi", idempotency: key }).pipe(Principal.provide("bob"))
      assert.notStrictEqual(ada.runId, bob.runId)
    })
  )

  it.effect("may be used again after 24 hours", () =>
    Effect.gen(function* () {
      const stores = InMemory.layerFrom(InMemory.makeState())
      const ask = Turns.use((turns) => turns.send({ content: "Hi", idempotency: key }))
      const first = yield* inKernel([say("Once.")], { stores }, ask)
      yield* TestClock.adjust("23 hours")
      assert.strictEqual((yield* inKernel([], { stores }, ask)).runId, first.runId)
      yield* TestClock.adjust("1 hour")
      assert.notStrictEqual((yield* inKernel([say("Twice.")], { stores }, ask)).runId, first.runId)
    }).pipe(Principal.provide("ada"))
  )

  const shared = InMemory.makeState()
  story(
    "is known to every process",
    [[say("On"), gate(), say("ce.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const other = yield* openKernel([], { stores: InMemory.layerFrom(shared) })
      const first = yield* turns.start({ content: "Hi", idempotency: key, stream: true })
      yield* model.reached()
      const again = yield* other.run(Turns.use((each) => each.start({ content: "Hi", idempotency: key, stream: true })))
      const joined = yield* Effect.forkChild(other.run(again.reply))
      yield* model.release()
      assert.deepStrictEqual((yield* Fiber.join(joined)).content, "Once.")
      assert.strictEqual(again.runId, first.runId)
    }),
    { stores: InMemory.layerFrom(shared) }
  )

  story(
    "that is repeated while the first one waits in the queue shares its fate",
    [[gate("first"), say("1")], say("2")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const blocking = yield* turns.start({ content: "1" })
      yield* model.reached("first")
      const request = { content: "2", threadId: blocking.threadId, idempotency: key }
      const waiting = yield* Effect.forkChild(turns.send(request), { startImmediately: true })
      const repeat = yield* Effect.forkChild(turns.send(request), { startImmediately: true })
      yield* model.release("first")
      assert.deepStrictEqual(yield* Fiber.join(repeat), yield* Fiber.join(waiting))
    })
  )

  story(
    "that is repeated while the first one waits too long is told the same: the thread is busy",
    [[gate(), say("1")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const blocking = yield* turns.start({ content: "1" })
      yield* model.reached()
      const request = { content: "2", threadId: blocking.threadId, idempotency: key }
      const waiting = yield* Effect.forkChild(failureFrom(turns.send(request)), { startImmediately: true })
      const repeat = yield* Effect.forkChild(failureFrom(turns.send(request)), { startImmediately: true })
      yield* TestClock.adjust("31 seconds")
      const [first, second] = [yield* Fiber.join(waiting), yield* Fiber.join(repeat)]
      assert.deepStrictEqual([first._tag, second._tag], ["ThreadBusy", "ThreadBusy"])
      yield* model.release()
      yield* blocking.reply
      assert.strictEqual((yield* transcript(blocking.threadId)).length, 2)
    }),
    { settings: { chat: patient } }
  )

  story(
    "on tool outputs gets the first answer again, and a repeat of the question stays the question",
    [callTool("weather"), say("Sunny.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const request = { content: "Weather?", tools: [weather], idempotency: key }
      const asked = yield* turns.send(request)
      const submit = turns.submitToolOutputs({
        threadId: asked.threadId,
        outputs: asked.toolCalls.map(({ id }) => ({ toolCallId: id, output: "sun" })),
        idempotency: { key: "outputs", fingerprint: "o" }
      })
      const first = yield* (yield* submit).reply
      const repeated = yield* submit
      assert.deepStrictEqual(yield* repeated.reply, first)
      assert.deepStrictEqual(tags(yield* Stream.runCollect(repeated.events)).slice(0, 1), ["RunContinuing"])
      assert.deepStrictEqual(yield* turns.send(request), asked)
    })
  )
})
