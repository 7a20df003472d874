import { callTool, expect, fail, finish, say, ScriptedModel } from "@colloquy/testing"
import { Assistants, type AssistantId, type HostedTool, Turns, type TurnRequest } from "@colloquy/core"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { clock, messagesIn, storedLog, storedRun, story, tags, weather } from "../support/Story.ts"

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
    ["JSON output", { jsonOutput: true, tools: [] }, { jsonOutput: true, tools: [] }],
    [
      "model options",
      { modelOptions: { temperature: 0, seed: 3, maxOutputTokens: 9, toolChoice: "required" } },
      { sampling: { temperature: 0, seed: 3 }, maxOutputTokens: 9, toolChoice: "required" }
    ]
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
      assert.strictEqual((yield* storedRun(saved)).status, "COMPLETED")
      yield* turns.send({ content: "and now", threadId: saved.threadId })
      const [note] = yield* messagesIn(saved.threadId)
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
      const metadata = (yield* messagesIn(threadId)).map((message) => message.metadata)
      assert.deepStrictEqual(metadata, [{ a: 1, custom_timestamp: at }, null, { custom_timestamp: at }, null, {}, null])
    })
  )

  story(
    "the model that really answered is told where it is not the one that was asked",
    [[say("a"), finish("stop", "upstream/real")]],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi" })
      const [, answer] = yield* messagesIn(reply.threadId)
      assert.deepStrictEqual(
        [reply.model, answer?.model, (yield* storedRun(reply)).model],
        Array(3).fill("upstream/real")
      )
    })
  )
})

describe("the model options of a turn", () => {
  story(
    "are the assistant's, field by field replaced by the message's; null removes those of the assistant",
    [say("a"), say("b"), say("c")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const assistants = yield* Assistants
      const modelOptions = { temperature: 0.5, topP: 0.9, stop: ["END"], maxOutputTokens: 100 }
      const { id } = yield* assistants.create({ name: "Guide", modelOptions })
      assert.deepStrictEqual((yield* assistants.get(id)).modelOptions, modelOptions)
      const { threadId } = yield* turns.send({ content: "1", assistantId: id })
      assert.deepInclude(model.requests[0], {
        sampling: { temperature: 0.5, topP: 0.9, stop: ["END"] },
        maxOutputTokens: 100
      })
      yield* turns.send({ content: "2", threadId, modelOptions: { temperature: 0, seed: 7 } })
      assert.deepStrictEqual(model.requests[1]?.sampling, { temperature: 0, topP: 0.9, stop: ["END"], seed: 7 })
      yield* assistants.update(id, { name: "Other" })
      assert.deepStrictEqual((yield* assistants.get(id)).modelOptions, modelOptions)
      yield* assistants.update(id, { modelOptions: null })
      yield* turns.send({ content: "3", threadId })
      assert.isUndefined(model.requests[2]?.sampling)
      assert.isNull(model.requests[2]?.maxOutputTokens)
    })
  )

  story(
    "hold after tool outputs, and a forced call is wanted once",
    [callTool("weather", {}, "a"), say("Sunny.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const modelOptions = { toolChoice: { name: "weather" }, temperature: 0.1 } as const
      const asked = yield* turns.send({ content: "?", tools: [weather], modelOptions })
      assert.deepInclude(asked, { status: "REQUIRES_ACTION", stopReason: "tools", ignored: [] })
      assert.deepStrictEqual(model.requests[0]?.toolChoice, { name: "weather" })
      const outputs = [{ toolCallId: "a", output: "sun" }]
      const next = yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })
      assert.deepInclude(yield* next.reply, { status: "COMPLETED", stopReason: "stop" })
      assert.deepInclude(model.requests[1], { toolChoice: "auto", sampling: { temperature: 0.1 } })
      assert.deepStrictEqual(
        (yield* messagesIn(asked.threadId)).map(({ stopReason }) => stopReason),
        [null, "tools", "stop"]
      )
    })
  )

  story(
    "that choose a tool which the turn does not have are ignored, and the reply says so",
    [say("a"), say("b")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const model = yield* ScriptedModel
      const named = yield* turns.send({ content: "1", tools: [weather], modelOptions: { toolChoice: { name: "no" } } })
      const none = yield* turns.send({ content: "2", modelOptions: { toolChoice: "required" } })
      const option = "model_options.tool_choice"
      assert.deepStrictEqual(named.ignored, [{ option, because: "the turn has no such tool" }])
      assert.deepStrictEqual(none.ignored, [{ option, because: "the turn has no tools" }])
      assert.deepStrictEqual((yield* turns.report(none.threadId, none.runId)).ignored, none.ignored)
      assert.deepStrictEqual(
        model.requests.map(({ toolChoice }) => toolChoice),
        ["auto", "auto"]
      )
    })
  )

  const counted: HostedTool = { definition: clock, run: () => Effect.succeed("noon") }
  story(
    "limit the model calls of a run: the last one is asked without tools, and the answer says that it is",
    [callTool("clock"), callTool("clock"), say("Noon.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const reply = yield* (yield* Turns).send({ content: "?", modelOptions: { maxSteps: 3 } })
      assert.deepInclude(reply, { status: "COMPLETED", content: "Noon.", stopReason: "steps" })
      assert.deepStrictEqual(
        model.requests.map(({ toolChoice }) => toolChoice),
        ["auto", "auto", "none"]
      )
      assert.strictEqual((yield* messagesIn(reply.threadId))[1]?.stopReason, "steps")
    }),
    { hosted: [counted] }
  )

  story(
    "limit the model calls over the client's tools too, and a model that calls in its last one ends there",
    [callTool("weather", {}, "a"), [say("I look again."), callTool("weather", {}, "b")], say("Next.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "?", tools: [weather], modelOptions: { maxSteps: 2 } })
      const outputs = [{ toolCallId: "a", output: "sun" }]
      const next = yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })
      assert.deepInclude(yield* next.reply, { status: "COMPLETED", content: "I look again.", stopReason: "steps" })
      assert.strictEqual(model.requests[1]?.toolChoice, "none")
      yield* turns.send({ content: "2", threadId: asked.threadId })
      const roles = model.requests[2]?.messages.map(({ role }) => role)
      assert.deepStrictEqual(roles, ["user", "assistant", "tool", "assistant", "tool", "user"])
    })
  )

  story(
    "limit nothing where nothing is called",
    [say("One."), say("Two.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      assert.deepInclude(yield* turns.send({ content: "1", modelOptions: { maxSteps: 1 } }), { stopReason: "stop" })
      assert.deepInclude(yield* turns.send({ content: "2" }), { stopReason: "stop" })
    })
  )

  const ends = [
    ["length", "COMPLETED", "length"],
    ["filtered", "COMPLETED", "filtered"],
    ["stop", "COMPLETED", "stop"]
  ] as const
  for (const [reason, status, stopReason] of ends) {
    story(
      `the reason of an answer that ended by ${reason} is told and kept`,
      [[say("Once upon"), finish(reason)]],
      Effect.gen(function* () {
        const reply = yield* (yield* Turns).send({ content: "?" })
        assert.deepInclude(reply, { status, stopReason, content: "Once upon" })
        assert.deepInclude((yield* messagesIn(reply.threadId))[1], { status, stopReason })
      })
    )
  }

  story(
    "an answer that failed has no reason of its end, and one that is only saved says that options had no effect",
    [[say("Once"), fail("auth")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      assert.deepInclude(yield* turns.send({ content: "?" }), { status: "FAILED", stopReason: null })
      const saved = yield* turns.send({ content: "?", sendToModel: false, modelOptions: { seed: 1 } })
      assert.deepInclude(saved, { stopReason: null })
      assert.deepStrictEqual(saved.ignored, [{ option: "model_options", because: "the message is only saved" }])
    })
  )
})
