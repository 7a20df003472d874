import { InMemory } from "@colloquy/adapters/in-memory"
import { Assistants, Conversations, Inbox, Principal, Threads, Turns } from "@colloquy/core"
import { firstPage } from "@colloquy/core/adapters"
import { gate, say, ScriptedModel } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import { failureFrom, inKernel, messagesIn, story, transcript } from "../support/Story.ts"

describe("a thread", () => {
  story(
    "is created empty, with its metadata, under an assistant",
    [],
    Effect.gen(function* () {
      const { id } = yield* (yield* Assistants).create({ name: "a" })
      const thread = yield* (yield* Assistants).createThread(id, { topic: "rain" })
      assert.deepStrictEqual(yield* (yield* Threads).get(thread.id), { thread, messages: [] })
      assert.deepStrictEqual([thread.assistantId, thread.metadata], [id, { topic: "rain" }])
    })
  )

  story(
    "is found by a name from outside, made at the first call, for each assistant and owner by itself",
    [],
    Effect.gen(function* () {
      const threads = yield* Threads
      const [a, b] = [
        yield* (yield* Assistants).create({ name: "a" }),
        yield* (yield* Assistants).create({ name: "b" })
      ]
      const both = yield* Effect.all([threads.named(a.id, "chat"), threads.named(a.id, "chat")], { concurrency: 2 })
      const ids = both.map((found) => Option.getOrThrow(found).id)
      assert.strictEqual(ids[0], ids[1])
      assert.lengthOf(yield* threads.list({ page: firstPage, includeMessages: false }), 1)
      const other = Option.getOrThrow(yield* threads.named(b.id, "chat"))
      assert.notStrictEqual(other.id, ids[0])
      const stranger = threads.named(a.id, "chat").pipe(Principal.provide("stranger"))
      assert.isTrue(Option.isNone(yield* stranger), "an assistant that the owner does not have")
      yield* threads.remove(other.id)
      assert.strictEqual(Option.getOrThrow(yield* threads.named(b.id, "chat")).id, other.id)
    })
  )

  it.effect("of a trial stands in no list, nor do its runs, and is deleted after a day", () => {
    const stores = InMemory.layerFrom(InMemory.makeState())
    const made = Effect.gen(function* () {
      const threads = yield* Threads
      const { id: assistantId } = yield* (yield* Assistants).create({ name: "a" })
      const messages = [{ role: "user", content: "How is the sky?" }]
      const { id } = yield* (yield* Conversations).import({ assistantId, messages, scratch: true })
      const left = yield* (yield* Conversations).import({ assistantId, messages: [], scratch: true })
      yield* (yield* Turns).send({ content: "And now?", threadId: id })
      assert.deepStrictEqual(yield* threads.list({ page: firstPage, includeMessages: false }), [])
      assert.lengthOf((yield* (yield* Inbox).list({ limit: 10 })).runs, 0)
      yield* threads.remove(left.id)
      return id
    })
    return Effect.gen(function* () {
      const id = yield* inKernel([say("Blue.")], { stores }, made)
      const messages = Effect.andThen(
        TestClock.adjust("1 minute"),
        Threads.use((threads) => Effect.map(threads.get(id), (found) => found.messages))
      )
      yield* TestClock.adjust("23 hours")
      assert.lengthOf(yield* inKernel([], { stores }, messages), 3)
      yield* TestClock.adjust("2 hours")
      assert.strictEqual((yield* inKernel([], { stores }, failureFrom(messages)))._tag, "ThreadNotFound")
    }).pipe(Principal.provide("ada"))
  })

  story(
    "is listed oldest first, in pages, by assistant, with its messages or without",
    [say("One."), say("Two.")],
    Effect.gen(function* () {
      const threads = yield* Threads
      const turns = yield* Turns
      const first = yield* turns.send({ content: "1" })
      const second = yield* turns.send({ content: "2" })
      const third = yield* (yield* Assistants).createThread(second.assistantId, null)
      const ids = (all: ReadonlyArray<{ readonly thread: { readonly id: string } }>) =>
        all.map(({ thread }) => thread.id)
      const all = yield* threads.list({ page: firstPage, includeMessages: true })
      assert.deepStrictEqual(ids(all), [first.threadId, second.threadId, third.id])
      assert.deepStrictEqual(
        all.map(({ messages }) => messages.map((message) => message.content)),
        [["1", "One."], ["2", "Two."], []]
      )
      const page = yield* threads.list({ page: { skip: 1, limit: 1 }, includeMessages: false })
      assert.deepStrictEqual([ids(page), page[0]?.messages], [[second.threadId], []])
      const own = yield* threads.list({ page: firstPage, assistantId: first.assistantId, includeMessages: false })
      assert.deepStrictEqual(ids(own), [first.threadId])
    })
  )

  story(
    "numbers its messages from one without gaps, whatever their timestamps say",
    [say("a"), say("b")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "1", customTimestamp: "2030-01-01T00:00:00Z" })
      yield* turns.send({ content: "2", threadId, customTimestamp: "1999-01-01T00:00:00Z" })
      const messages = yield* messagesIn(threadId)
      assert.deepStrictEqual(
        messages.map(({ content, sequence }) => [sequence, content]),
        [
          [1, "1"],
          [2, "a"],
          [3, "2"],
          [4, "b"]
        ]
      )
    })
  )

  story(
    "shows the answer that is being written as a message in progress, under the id that it will keep",
    [[gate(), say("Done.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* (yield* Turns).start({ content: "Hi" })
      yield* model.reached()
      const before = (yield* messagesIn(turn.threadId)).at(-1)
      assert.deepInclude(before, { role: "assistant", status: "IN_PROGRESS", content: null, runId: turn.runId })
      yield* model.release()
      const reply = yield* turn.reply
      const after = (yield* messagesIn(turn.threadId)).at(-1)
      assert.deepInclude(after, { status: "COMPLETED", content: "Done." })
      assert.deepStrictEqual([after?.id, reply.messageId], [before?.id, before?.id])
    })
  )

  story(
    "that is removed is gone for every use case, and a run on it ends",
    [gate()],
    Effect.gen(function* () {
      const threads = yield* Threads
      const turns = yield* Turns
      const model = yield* ScriptedModel
      const turn = yield* turns.start({ content: "Hi" })
      yield* model.reached()
      yield* threads.remove(turn.threadId)
      const gone = yield* Effect.all([
        failureFrom(threads.get(turn.threadId)),
        failureFrom(threads.remove(turn.threadId)),
        failureFrom(turns.start({ content: "Again", threadId: turn.threadId }))
      ])
      assert.deepStrictEqual(
        gone.map((error) => error._tag),
        ["ThreadNotFound", "ThreadNotFound", "ThreadNotFound"]
      )
      yield* model.release()
      const reply = yield* turn.reply
      assert.strictEqual(reply.status, "CANCELLED")
    })
  )

  story(
    "keeps what was said before a failed turn and goes on after it",
    [say("a"), say("c")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "1" })
      yield* failureFrom(turns.send({ content: " ", threadId }))
      yield* turns.send({ content: "2", threadId })
      assert.deepStrictEqual(yield* transcript(threadId), [
        ["user", "COMPLETED", "1"],
        ["assistant", "COMPLETED", "a"],
        ["user", "COMPLETED", "2"],
        ["assistant", "COMPLETED", "c"]
      ])
    })
  )
})
