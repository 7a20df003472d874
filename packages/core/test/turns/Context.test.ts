import { callTool, callTools, cut, fail, finish, say, ScriptedModel } from "@colloquy/testing"
import { Assistants, defaultTurnSettings, Turns } from "@colloquy/core"
import { type ChatRequest, firstPage } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { failureFrom, messagesIn, storedRun, story, weather } from "../support/Story.ts"

const window = (contextLimit: number) => ({ model: { info: { contextLimit, maxOutputTokens: 50 } } })
const words = (count: number) => "word ".repeat(count)

/** How many messages at the start of two requests are equal, byte by byte. */
const commonPrefix = (before: ChatRequest | undefined, after: ChatRequest | undefined): number => {
  const [a, b] = [before?.messages ?? [], after?.messages ?? []]
  const differs = a.findIndex((message, index) => JSON.stringify(message) !== JSON.stringify(b[index]))
  return differs === -1 ? a.length : differs
}

describe("the context of a turn", () => {
  story(
    "holds the whole conversation while it fits, and every prompt begins with the one before, byte by byte",
    [
      say("1"),
      callTools(["weather", {}, "a"], ["weather", {}, "b"]),
      say("2"),
      [say("3"), cut],
      fail("auth"),
      say("4")
    ],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "one", systemPrompt: "S", tools: [weather] })
      const request = { threadId, systemPrompt: "S", tools: [weather] }
      yield* turns.send({ ...request, content: "two" })
      const outputs = ["a", "b"].map((toolCallId) => ({ toolCallId, output: `out ${toolCallId}` }))
      yield* (yield* turns.submitToolOutputs({ threadId, outputs })).reply
      for (const content of ["three", "four", "five"]) yield* turns.send({ ...request, content })
      for (const [index, asked] of model.requests.entries()) {
        if (index === 0) continue
        const before = model.requests[index - 1]
        assert.strictEqual(commonPrefix(before, asked), before?.messages.length, `request ${index}`)
        assert.deepStrictEqual([asked.system, asked.tools], [before?.system, before?.tools])
      }
    })
  )

  story(
    "stays byte-equal at its start for many turns when old messages have to go",
    Array.from({ length: 60 }, (_, n) => say(`answer ${n} ${words(4)}`)),
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      let threadId = (yield* turns.send({ content: words(4) })).threadId
      for (let n = 1; n < 60; n++) threadId = (yield* turns.send({ content: `${n} ${words(4)}`, threadId })).threadId
      const breaks = model.requests.filter((request, index) => {
        const before = model.requests[index - 1]
        return before !== undefined && commonPrefix(before, request) < before.messages.length
      })
      const last = model.requests.at(-1)
      assert.isBelow(last?.messages.length ?? 0, 60)
      assert.strictEqual(last?.messages[0]?.role, "user")
      assert.isAbove(breaks.length, 0)
      assert.isAtMost(breaks.length, 8)
    }),
    window(1000)
  )

  story(
    "never splits a call from its result, nor an answer from its question",
    [callTool("weather", {}, "a"), say(words(40)), say("b"), say("c")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: words(20), tools: [weather] })
      const outputs = [{ toolCallId: "a", output: words(40) }]
      yield* (yield* turns.submitToolOutputs({ threadId, outputs })).reply
      yield* turns.send({ content: words(20), threadId })
      yield* turns.send({ content: words(20), threadId })
      const kept = model.requests.at(-1)?.messages.map((message) => message.role)
      assert.deepStrictEqual(kept, ["user", "assistant", "user"])
    }),
    window(280)
  )

  story(
    "explains what went in with how many tokens, and what was left out and why",
    [say(words(40)), say(words(40)), say("short")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "one", systemPrompt: "Be brief." })
      yield* turns.send({ content: "two", threadId, systemPrompt: "Be brief.", tools: [weather] })
      const reply = yield* turns.send({ content: "three", threadId, systemPrompt: "Be brief.", tools: [weather] })
      const { explanation } = yield* turns.report(threadId, reply.runId)
      const parts = new Map(explanation?.parts.map((part) => [part.part, part]))
      assert.deepStrictEqual([...parts.keys()], ["system", "tools", "history", "turn"])
      assert.isTrue([...parts.values()].every((part) => part.tokens > 0))
      assert.deepInclude(parts.get("history"), { messages: 2 })
      assert.deepInclude(parts.get("turn"), { messages: 1 })
      assert.deepInclude(explanation?.leftOut[0], { part: "history", messages: 2 })
      assert.match(explanation?.leftOut[0]?.because ?? "", /older than what fits/u)
      const usedTokens = explanation?.usedTokens ?? 0
      assert.deepStrictEqual(reply.contextUsage, {
        model: "scripted-model",
        usedTokens,
        contextLimit: 250,
        percent: Math.round((usedTokens / 250) * 1000) / 10,
        summaryTokens: 0
      })
    }),
    window(250)
  )

  story(
    "usage is told with every reply, also where the window is not known",
    [callTool("weather", {}, "a"), fail("auth"), say("b")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "one", tools: [weather] })
      assert.isNotNull(asked.contextUsage)
      const outputs = [{ toolCallId: "a", output: "sun" }]
      const failed = yield* (yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })).reply
      assert.isNotNull(failed.contextUsage)
      const { contextUsage } = yield* turns.send({ content: "two", threadId: asked.threadId })
      assert.deepInclude(contextUsage, { contextLimit: null, percent: null, summaryTokens: 0 })
      assert.isAbove(contextUsage?.usedTokens ?? 0, 0)
    })
  )

  story(
    "that can never fit is refused with its figures, and nothing is stored",
    [],
    Effect.gen(function* () {
      const turns = yield* Turns
      const refused = yield* failureFrom(turns.send({ content: words(200) }))
      assert.deepInclude(refused, { _tag: "ContextTooLong", available: 150, model: "scripted-model" })
      assert.deepStrictEqual(yield* (yield* Assistants).list(firstPage), [])
      const tools = [{ ...weather, description: words(200) }]
      assert.strictEqual((yield* failureFrom(turns.send({ content: "Hi", tools })))._tag, "ContextTooLong")
      const systemPrompt = words(200)
      assert.strictEqual((yield* failureFrom(turns.send({ content: "Hi", systemPrompt })))._tag, "ContextTooLong")
    }),
    window(200)
  )

  story(
    "that would not fit any more after tool outputs refuses the outputs, and the next turn goes on without them",
    [callTool("weather", {}, "a"), say("Next.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "one", tools: [weather] })
      const outputs = [{ toolCallId: "a", output: words(200) }]
      const refused = yield* failureFrom(turns.submitToolOutputs({ threadId: asked.threadId, outputs }))
      assert.strictEqual(refused._tag, "ContextTooLong")
      assert.strictEqual((yield* storedRun(asked)).status, "REQUIRES_ACTION")
      yield* turns.send({ content: "two", threadId: asked.threadId })
      assert.deepStrictEqual(
        model.requests.at(-1)?.messages.map((message) => message.role),
        ["user", "assistant", "tool", "user"]
      )
    }),
    window(200)
  )

  story(
    "counts with the host's own counter",
    [],
    Effect.gen(function* () {
      const refused = yield* failureFrom((yield* Turns).send({ content: "one" }))
      assert.deepInclude(refused, { _tag: "ContextTooLong" })
    }),
    { ...window(200), counter: { count: () => 1_000_000 } }
  )

  story(
    "counts in whole tokens, whatever the host's counter gives",
    [say("Hello."), say("Hello again."), cut],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "one", systemPrompt: "S" })
      const reply = yield* turns.send({ content: "two", threadId })
      assert.strictEqual(reply.status, "COMPLETED")
      const failed = yield* turns.send({ content: "three", threadId })
      assert.isTrue(Number.isInteger(failed.usage.inputTokens))
      assert.isTrue((yield* messagesIn(threadId)).every(({ tokens }) => Number.isInteger(tokens)))
    }),
    { counter: { count: (text) => text.length / 4 }, settings: { chat: { ...defaultTurnSettings.chat, retries: 0 } } }
  )

  story(
    "keeps a filtered or an empty answer out of the history, and the history well-formed",
    [finish("filtered"), [], say("Hi.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const filtered = yield* turns.send({ content: "one" })
      assert.deepInclude(filtered, { status: "FAILED" })
      assert.strictEqual(filtered.fault?.code, "refused")
      const empty = yield* turns.send({ content: "two", threadId: filtered.threadId })
      assert.deepInclude(empty, { status: "COMPLETED", content: "" })
      yield* turns.send({ content: "three", threadId: filtered.threadId })
      assert.deepStrictEqual(
        model.requests.at(-1)?.messages.map((message) => message.role),
        ["user", "user", "user"]
      )
      const contents = (yield* messagesIn(filtered.threadId)).map((message) => message.content)
      assert.deepStrictEqual(contents, ["one", null, "two", null, "three", "Hi."])
    })
  )
})
