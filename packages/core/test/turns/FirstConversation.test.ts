import { callTool, gate, say, ScriptedModel, think, uses } from "@colloquy/testing"
import { Assistants, Threads, ThreadId, Turns } from "@colloquy/core"
import { firstPage, newId } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import {
  failureFrom,
  messagesIn,
  storedLog,
  storedRun,
  story,
  tags,
  terminalEvent,
  transcript,
  weather
} from "../support/Story.ts"

describe("a message", () => {
  story(
    "without thread or assistant makes both, and is answered",
    [say("Hello, ", "Ada.")],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi" })
      const { thread } = yield* (yield* Threads).get(reply.threadId)
      const assistant = yield* (yield* Assistants).get(reply.assistantId)
      assert.strictEqual(thread.assistantId, assistant.id)
      assert.deepInclude(reply, { content: "Hello, Ada.", status: "COMPLETED", role: "assistant", fault: null })
      assert.deepStrictEqual(yield* transcript(reply.threadId), [
        ["user", "COMPLETED", "Hi"],
        ["assistant", "COMPLETED", "Hello, Ada."]
      ])
    })
  )

  story(
    "to an assistant makes a thread under it",
    [say("Yes.")],
    Effect.gen(function* () {
      const { id } = yield* (yield* Assistants).create({ name: "a" })
      const reply = yield* (yield* Turns).send({ content: "Hi", assistantId: id })
      const own = yield* (yield* Threads).list({ page: firstPage, assistantId: id, includeMessages: false })
      assert.deepStrictEqual(
        own.map(({ thread }) => thread.id),
        [reply.threadId]
      )
    })
  )

  story(
    "to a thread is answered by the thread's own assistant, whichever else is named",
    [say("Yes.")],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const own = yield* assistants.create({ name: "own" })
      const other = yield* assistants.create({ name: "other" })
      const thread = yield* assistants.createThread(own.id, null)
      const reply = yield* (yield* Turns).send({ content: "Hi", threadId: thread.id, assistantId: other.id })
      assert.strictEqual(reply.assistantId, own.id)
    })
  )

  story(
    "is stored, and its answer has an id, before the model is asked",
    [[gate(), say("Hello.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* (yield* Turns).start({ content: "Hi" })
      yield* model.reached()
      const stored = yield* messagesIn(turn.threadId)
      const run = yield* storedRun(turn)
      assert.deepStrictEqual(
        stored.map(({ content, role, status }) => [role, status, content]),
        [
          ["user", "COMPLETED", "Hi"],
          ["assistant", "IN_PROGRESS", null]
        ]
      )
      assert.deepStrictEqual([run.status, run.answerId], ["IN_PROGRESS", stored[1]?.id])
      yield* model.release()
      assert.strictEqual((yield* turn.reply).messageId, run.answerId)
    })
  )

  story(
    "has one id for its answer on every path: events, reply, run, thread",
    [say("Hello.")],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const events = yield* Stream.runCollect(turn.events)
      const reply = yield* turn.reply
      const begun = events.find((event) => event._tag === "RunStarted")
      const stored = (yield* messagesIn(turn.threadId)).at(-1)
      const ids = [
        begun?.messageId,
        terminalEvent(events).messageId,
        reply.messageId,
        (yield* storedRun(turn)).answerId,
        stored?.id
      ]
      assert.deepStrictEqual(new Set(ids).size, 1)
    })
  )

  story(
    "streams its events in order, from the user's message to one end",
    [[think("hm", " yes"), say("Hel", "lo."), uses({ inputTokens: 7, outputTokens: 2 })]],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const events = yield* Stream.runCollect(turn.events)
      assert.deepStrictEqual(tags(events), [
        "UserMessage",
        "RunStarted",
        "StepStarted",
        "ReasoningDelta",
        "ReasoningDelta",
        "ReasoningEnded",
        "TextDelta",
        "TextDelta",
        "StepEnded",
        "RunEnded"
      ])
      assert.deepStrictEqual(
        events.map((event) => event.sequence),
        events.map((_, index) => index + 1)
      )
      const end = terminalEvent(events)
      assert.strictEqual(end._tag === "RunEnded" && end.content, "Hello.")
    })
  )

  story(
    "keeps no reasoning in the store, and shows none when it is not wanted",
    [
      [think("secret"), say("Hello.")],
      [think("secret"), say("Hello.")]
    ],
    Effect.gen(function* () {
      const turns = yield* Turns
      const shown = yield* turns.send({ content: "Hi" })
      assert.strictEqual(shown.reasoning, "secret")
      assert.notInclude(JSON.stringify(yield* storedLog(shown)), "secret")
      assert.notInclude(JSON.stringify(yield* messagesIn(shown.threadId)), "secret")
      const hidden = yield* turns.start({ content: "Hi", thinking: { excludeReasoning: true }, stream: true })
      assert.notInclude(JSON.stringify(yield* Stream.runCollect(hidden.events)), "secret")
    })
  )

  story(
    "that has no words is refused and nothing is stored",
    [],
    Effect.gen(function* () {
      const turns = yield* Turns
      for (const content of ["", "  \n"]) {
        assert.strictEqual((yield* failureFrom(turns.send({ content })))._tag, "EmptyMessage")
      }
      assert.deepStrictEqual(yield* (yield* Threads).list({ page: firstPage, includeMessages: false }), [])
      assert.deepStrictEqual(yield* (yield* Assistants).list(firstPage), [])
    })
  )

  story(
    "to a thread or a provider that does not exist is refused and nothing is stored",
    [],
    Effect.gen(function* () {
      const turns = yield* Turns
      const noThread = turns.send({ content: "Hi", threadId: yield* newId(ThreadId) })
      assert.strictEqual((yield* failureFrom(noThread))._tag, "ThreadNotFound")
      const noProvider = yield* failureFrom(turns.send({ content: "Hi", provider: "nobody" }))
      assert.deepInclude(noProvider, { _tag: "ProviderNotFound", provider: "nobody", registered: ["scripted"] })
      assert.deepStrictEqual(yield* (yield* Assistants).list(firstPage), [])
    })
  )

  story(
    "goes on when nobody listens any more, and is stored to the end",
    [[say("Hel"), gate(), say("lo.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const reader = yield* Effect.forkChild(Stream.runDrain(turn.events))
      yield* model.reached()
      yield* Fiber.interrupt(reader)
      yield* model.release()
      assert.strictEqual((yield* turn.reply).content, "Hello.")
      assert.deepStrictEqual((yield* transcript(turn.threadId)).at(-1), ["assistant", "COMPLETED", "Hello."])
    })
  )

  story(
    "goes on when the caller of a reply goes away",
    [[say("Hel"), gate(), say("lo.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const caller = yield* Effect.forkChild(turns.send({ content: "Hi" }))
      yield* model.reached()
      yield* Fiber.interrupt(caller)
      const [listed] = yield* (yield* Threads).list({ page: firstPage, includeMessages: true })
      const waiting = listed?.messages.at(-1)
      yield* model.release()
      const events = yield* Stream.runCollect(yield* turns.follow(waiting!.threadId, waiting!.runId!, 0))
      assert.strictEqual(terminalEvent(events)._tag, "RunEnded")
    })
  )

  story(
    "with null bytes, lone surrogates and every kind of quote comes back as it was",
    [say("\u0000\ud83d", "\ude00\\\"'")],
    Effect.gen(function* () {
      const content = "a\u0000b \ud83d \" ' \\ \u2028 {{}}"
      const reply = yield* (yield* Turns).send({ content, metadata: { "\u0000": "\u0000" } })
      const [user, answer] = yield* messagesIn(reply.threadId)
      assert.deepStrictEqual([user?.content, user?.metadata], [content, { "\u0000": "\u0000" }])
      assert.deepStrictEqual([reply.content, answer?.content], ["\u0000\ud83d\ude00\\\"'", "\u0000\ud83d\ude00\\\"'"])
    })
  )

  story(
    "is answered by two model calls when a tool stands between them, and by one otherwise",
    [say("a"), callTool("weather"), say("sunny")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const plain = yield* turns.send({ content: "1" })
      assert.strictEqual(model.requests.length, 1)
      const asked = yield* turns.send({ content: "2", threadId: plain.threadId, tools: [weather] })
      const outputs = asked.toolCalls.map(({ id }) => ({ toolCallId: id, output: "sun" }))
      yield* (yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })).reply
      assert.strictEqual(model.requests.length, 3)
    })
  )
})
