import { expect, finish, say, ScriptedModel } from "@colloquy/testing"
import { Assistants, type AssistantId, type HostedTool, Turns, type TurnRequest } from "@colloquy/core"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { clock, messagesOf, runOf, story, storedLog, tags, weather } from "../support/Story.ts"

const stored = {
  name: "Guide",
  systemPrompt: "stored prompt",
  description: "stored description",
  tools: [weather],
  provider: "scripted",
  model: "stored-model"
}

describe("the options of a turn", () => {
  story(
    "fall back to the assistant, then to the host's defaults",
    [say("a"), say("b")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const { id } = yield* (yield* Assistants).create(stored)
      yield* turns.send({ content: "Hi", assistantId: id })
      yield* turns.send({ content: "Hi" })
      assert.deepInclude(model.requests[0], {
        provider: "scripted",
        model: "stored-model",
        system: "stored prompt",
        tools: [weather],
        thinking: null,
        routing: null,
        jsonOutput: false
      })
      assert.deepInclude(model.requests[1], { provider: "scripted", model: "scripted-model", system: null, tools: [] })
    })
  )

  const overrides: ReadonlyArray<readonly [string, Partial<TurnRequest>, object]> = [
    ["system prompt", { systemPrompt: "other" }, { system: "other" }],
    ["empty system prompt", { systemPrompt: "" }, { system: null }],
    ["fallback to the description", { systemFallback: "description" }, { system: "stored description" }],
    ["model", { model: "other-model" }, { model: "other-model" }],
    ["list of tools", { tools: [clock] }, { tools: [clock] }],
    ["empty list of tools", { tools: [] }, { tools: [] }],
    ["thinking", { thinking: { effort: "high", budgetTokens: 5 } }, { thinking: { effort: "high", budgetTokens: 5 } }],
    ["empty thinking", { thinking: {} }, { thinking: {} }],
    ["routing", { routing: { sort: "price", providers: ["a"] } }, { routing: { sort: "price", providers: ["a"] } }],
    ["JSON output", { jsonOutput: true, tools: [] }, { jsonOutput: true, tools: [] }]
  ]
  for (const [name, option, shown] of overrides) {
    story(
      `hold for one turn and are not saved: ${name}`,
      [say("a"), say("b")],
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const assistants = yield* Assistants
        const created = yield* assistants.create(stored)
        const { threadId } = yield* (yield* Turns).send({ content: "Hi", assistantId: created.id, ...option })
        assert.deepInclude(model.requests[0], shown)
        yield* (yield* Turns).send({ content: "Hi", threadId })
        assert.deepInclude(model.requests[1], { system: "stored prompt", model: "stored-model", tools: [weather] })
        assert.deepInclude(model.requests[1], { thinking: null, routing: null, jsonOutput: false })
        assert.deepStrictEqual(yield* assistants.get(created.id), created)
      })
    )
  }

  const hosted: HostedTool = { definition: clock, run: () => Effect.succeed("noon") }
  const jsonIn = (id: AssistantId | undefined): Partial<TurnRequest> => (id === undefined ? {} : { assistantId: id })
  const withTools: ReadonlyArray<readonly [string, Partial<TurnRequest>, boolean, ReadonlyArray<HostedTool>]> = [
    ["with tools of the turn", { tools: [weather] }, false, []],
    ["with tools of the assistant", {}, true, []],
    ["with hosted tools", {}, false, [hosted]]
  ]
  for (const [name, request, ofAssistant, tools] of withTools) {
    story(
      `JSON output is ignored ${name}, and the run says so`,
      [say("a")],
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const created = ofAssistant ? (yield* (yield* Assistants).create(stored)).id : undefined
        const turns = yield* Turns
        const reply = yield* turns.send({ content: "Hi", jsonOutput: true, ...request, ...jsonIn(created) })
        assert.strictEqual(model.requests[0]?.jsonOutput, false)
        const { ignored } = yield* turns.report(reply.threadId, reply.runId)
        assert.deepStrictEqual(
          ignored.map(({ option }) => option),
          ["json_output"]
        )
      }),
      { hosted: tools }
    )
  }

  story(
    "JSON output without tools is asked for, and nothing is said to be ignored",
    [say("{}")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* turns.send({ content: "Hi", jsonOutput: true })
      assert.deepStrictEqual((yield* turns.report(reply.threadId, reply.runId)).ignored, [])
    })
  )

  story(
    "a message that is only saved says of all that it asked of a model that it had no effect",
    [],
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* turns.send({
        content: "Hi",
        sendToModel: false,
        model: "m",
        systemPrompt: "s",
        tools: [weather],
        thinking: { effort: "low" },
        routing: { sort: "price" },
        jsonOutput: true,
        ignored: [{ option: "image_config", because: "image_generation is off" }]
      })
      const { ignored } = yield* turns.report(reply.threadId, reply.runId)
      assert.deepStrictEqual(
        ignored.map(({ option }) => option),
        ["image_config", "model_name", "system_prompt", "tools", "thinking", "router", "json_output"]
      )
      const plain = yield* turns.send({ content: "Hi", sendToModel: false, jsonOutput: false })
      assert.deepStrictEqual((yield* turns.report(plain.threadId, plain.runId)).ignored, [])
    })
  )

  story(
    "thinking is left out for a model that does not reason, and the run says so",
    [expect((request) => assert.isNull(request.thinking))],
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* turns.send({ content: "Hi", thinking: { effort: "low" } })
      const { ignored } = yield* turns.report(reply.threadId, reply.runId)
      assert.deepStrictEqual(
        ignored.map(({ option }) => option),
        ["thinking"]
      )
    }),
    { model: { info: { supportsThinking: false } } }
  )

  story(
    "a message that is only saved asks no model, costs nothing, and is part of what later turns show",
    [expect((request) => assert.deepStrictEqual(request.messages.length, 2))],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const saved = yield* turns.send({ content: "note", sendToModel: false })
      assert.strictEqual(model.requests.length, 0)
      assert.deepInclude(saved, { role: "user", status: "COMPLETED", content: "note", model: null })
      assert.deepStrictEqual([saved.usage.inputTokens, saved.usage.outputTokens], [0, 0])
      assert.deepStrictEqual(tags(yield* storedLog(saved)), ["UserMessage", "MessageSaved"])
      assert.strictEqual((yield* runOf(saved)).status, "COMPLETED")
      yield* turns.send({ content: "and now", threadId: saved.threadId })
      const [note] = yield* messagesOf(saved.threadId)
      assert.deepInclude(note, { id: saved.messageId, content: "note", role: "user" })
    })
  )

  story(
    "a message of any size may be only saved",
    [],
    Effect.gen(function* () {
      const saved = yield* (yield* Turns).send({ content: "x".repeat(10_000), sendToModel: false })
      assert.strictEqual(saved.status, "COMPLETED")
    }),
    { model: { info: { contextLimit: 100 } } }
  )

  story(
    "metadata and the custom timestamp are kept with the user's message alone",
    [say("a"), say("b"), say("c")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const at = "2001-01-01T00:00:00Z"
      const { threadId } = yield* turns.send({ content: "1", metadata: { a: 1 }, customTimestamp: at })
      yield* turns.send({ content: "2", threadId, customTimestamp: at })
      yield* turns.send({ content: "3", threadId, metadata: {} })
      const metadata = (yield* messagesOf(threadId)).map((message) => message.metadata)
      assert.deepStrictEqual(metadata, [{ a: 1, custom_timestamp: at }, null, { custom_timestamp: at }, null, {}, null])
    })
  )

  story(
    "the model that really answered is told where it is not the one that was asked",
    [[say("a"), finish("stop", "upstream/real")]],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi" })
      const [, answer] = yield* messagesOf(reply.threadId)
      assert.deepStrictEqual([reply.model, answer?.model, (yield* runOf(reply)).model], Array(3).fill("upstream/real"))
    })
  )
})
