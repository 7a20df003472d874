import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, expect, gate, say, ScriptedModel } from "@colloquy/testing"
import { type RunId, type ThreadId, type ToolOutputsRequest, Turns } from "@colloquy/core"
import { type ToolOutputProblem } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import {
  clock,
  failureFrom,
  messagesIn,
  openKernel,
  storedLog,
  storedRun,
  story,
  tags,
  terminalEvent,
  transcript,
  weather
} from "../support/Story.ts"

const twoCalls = [say("Let me see."), callTools(["weather", { city: "Paris" }, "a"], ["clock", {}, "b"])]
const tools = [weather, clock]
const raced = InMemory.makeState()
const both = [
  { toolCallId: "b", output: "noon" },
  { toolCallId: "a", output: "sun" }
]
const ask = Turns.use((turns) => turns.send({ content: "Weather and time?", tools }))
const submit = (request: ToolOutputsRequest) =>
  Turns.use((turns) => Effect.flatMap(turns.submitToolOutputs(request), (turn) => turn.reply))

describe("a round trip of tools", () => {
  story(
    "asks the client for all calls of a step at once, and goes on with their outputs, in any order",
    [twoCalls, say("Sunny, at noon.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const asked = yield* ask
      assert.deepInclude(asked, { status: "REQUIRES_ACTION", content: "Let me see." })
      assert.deepStrictEqual(asked.toolCalls, [
        { id: "a", name: "weather", arguments: '{"city":"Paris"}' },
        { id: "b", name: "clock", arguments: "{}" }
      ])
      const answered = yield* submit({ threadId: asked.threadId, runId: asked.runId, outputs: both })
      assert.deepInclude(answered, {
        status: "COMPLETED",
        content: "Sunny, at noon.",
        runId: asked.runId,
        toolCalls: []
      })
      assert.notStrictEqual(answered.messageId, asked.messageId)
      assert.deepStrictEqual(model.requests[1]?.messages.slice(1), [
        { role: "assistant", content: "Let me see.", toolCalls: asked.toolCalls, providerData: null },
        { role: "tool", toolCallId: "a", toolName: "weather", output: "sun" },
        { role: "tool", toolCallId: "b", toolName: "clock", output: "noon" }
      ])
    })
  )

  story(
    "is one row for each round, with the calls and what was submitted for them",
    [twoCalls, say("Sunny, at noon.")],
    Effect.gen(function* () {
      const asked = yield* ask
      yield* submit({ threadId: asked.threadId, outputs: both })
      const [user, round, answer] = yield* messagesIn(asked.threadId)
      assert.deepStrictEqual(new Set([user?.runId, round?.runId, answer?.runId]), new Set([asked.runId]))
      assert.deepInclude(round, { status: "COMPLETED", toolCalls: asked.toolCalls })
      assert.deepStrictEqual(round?.toolResults, [
        { toolCallId: "a", toolName: "weather", output: "sun", hosted: false },
        { toolCallId: "b", toolName: "clock", output: "noon", hosted: false }
      ])
      assert.deepInclude(answer, { content: "Sunny, at noon.", toolCalls: [], toolResults: [] })
    })
  )

  story(
    "streams two legs with one end each and rising numbers",
    [twoCalls, say("Sunny, at noon.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "Weather?", tools, stream: true })
      const first = yield* Stream.runCollect(turn.events)
      const next = yield* turns.submitToolOutputs({ threadId: turn.threadId, outputs: both, stream: true })
      const second = yield* Stream.runCollect(next.events)
      assert.deepStrictEqual(
        [terminalEvent(first)._tag, terminalEvent(second)._tag],
        ["ToolSubmitRequired", "RunEnded"]
      )
      assert.strictEqual(second[0]?._tag, "RunContinuing")
      assert.deepStrictEqual(yield* storedLog(turn), [...first, ...second])
    })
  )

  story(
    "may take many rounds, each with calls of its own",
    [...Array.from({ length: 5 }, (_, n) => callTool("weather", { n }, `call${n}`)), say("Done.")],
    Effect.gen(function* () {
      const asked = yield* ask
      let reply = asked
      for (let round = 0; round < 5; round++) {
        assert.deepStrictEqual(
          reply.toolCalls.map(({ id }) => id),
          [`call${round}`]
        )
        const outputs = [{ toolCallId: `call${round}`, output: `${round}` }]
        reply = yield* submit({ threadId: asked.threadId, outputs })
      }
      assert.strictEqual(reply.content, "Done.")
      const run = yield* storedRun(asked)
      assert.deepStrictEqual([run.leg, run.status, run.usage.inputTokens], [5, "COMPLETED", 60])
      assert.strictEqual((yield* messagesIn(asked.threadId)).length, 7)
    })
  )

  story(
    "goes on where a provider numbers its calls anew in every step",
    [callTool("weather", {}, "0"), callTools(["weather", {}, "0"], ["clock", {}, "0"]), say("Done.")],
    Effect.gen(function* () {
      const first = yield* ask
      const second = yield* submit({ threadId: first.threadId, outputs: [{ toolCallId: "0", output: "1" }] })
      assert.deepStrictEqual(
        second.toolCalls.map(({ id }) => id),
        ["0", "0_2"]
      )
      const outputs = second.toolCalls.map(({ id }) => ({ toolCallId: id, output: id }))
      assert.strictEqual((yield* submit({ threadId: first.threadId, outputs })).status, "COMPLETED")
    })
  )

  const refusals: ReadonlyArray<readonly [string, ToolOutputsRequest["outputs"], ReadonlyArray<ToolOutputProblem>]> = [
    ["partial", [{ toolCallId: "a", output: "" }], [{ toolCallId: "b", index: null, problem: "missing" }]],
    ["unknown", [...both, { toolCallId: "x", output: "" }], [{ toolCallId: "x", index: 2, problem: "unknown" }]],
    ["duplicate", [...both, { toolCallId: "a", output: "" }], [{ toolCallId: "a", index: 2, problem: "duplicate" }]],
    ["empty", [], ["a", "b"].map((toolCallId) => ({ toolCallId, index: null, problem: "missing" as const }))],
    [
      "all wrong",
      [
        { toolCallId: "x", output: "" },
        { toolCallId: "b", output: "" },
        { toolCallId: "b", output: "" }
      ],
      [
        { toolCallId: "x", index: 0, problem: "unknown" },
        { toolCallId: "b", index: 2, problem: "duplicate" },
        { toolCallId: "a", index: null, problem: "missing" }
      ]
    ]
  ]
  for (const [name, outputs, problems] of refusals) {
    story(
      `refuses outputs that do not match by name, and changes nothing: ${name}`,
      [twoCalls, say("Sunny, at noon.")],
      Effect.gen(function* () {
        const asked = yield* ask
        const before = [yield* storedRun(asked), yield* messagesIn(asked.threadId), yield* storedLog(asked)]
        const refused = yield* failureFrom(submit({ threadId: asked.threadId, outputs }))
        assert.deepInclude(refused, { _tag: "ToolOutputsRejected", problems })
        assert.deepStrictEqual(
          [yield* storedRun(asked), yield* messagesIn(asked.threadId), yield* storedLog(asked)],
          before
        )
        assert.strictEqual((yield* submit({ threadId: asked.threadId, outputs: both })).status, "COMPLETED")
      })
    )
  }

  story(
    "refuses outputs that come late, by name, while the run goes on and after it has ended",
    [twoCalls, [gate(), say("Done.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const asked = yield* ask
      const { threadId, runId } = asked
      const next = yield* (yield* Turns).submitToolOutputs({ threadId, outputs: both })
      yield* model.reached()
      const late = failureFrom(submit({ threadId, runId, outputs: both }))
      const problems: ReadonlyArray<ToolOutputProblem> = [
        { toolCallId: "b", index: 0, problem: "already_answered" },
        { toolCallId: "a", index: 1, problem: "already_answered" }
      ]
      assert.deepInclude(yield* late, { _tag: "ToolOutputsRejected", problems })
      assert.strictEqual((yield* failureFrom(submit({ threadId, outputs: both })))._tag, "NothingPending")
      yield* model.release()
      yield* next.reply
      assert.deepInclude(yield* late, { _tag: "ToolOutputsRejected", problems })
      assert.strictEqual((yield* failureFrom(submit({ threadId, outputs: both })))._tag, "NothingPending")
      assert.strictEqual((yield* failureFrom(submit({ threadId, runId, outputs: [] })))._tag, "NothingPending")
    })
  )

  story(
    "refuses outputs for a run that never called a tool, that is unknown, or that belongs to another thread",
    [say("Hi."), twoCalls],
    Effect.gen(function* () {
      const plain = yield* Turns.use((turns) => turns.send({ content: "Hi" }))
      const asked = yield* ask
      const refusal = (threadId: ThreadId, runId: RunId) =>
        Effect.map(failureFrom(submit({ threadId, runId, outputs: both })), (error) => error._tag)
      assert.strictEqual(yield* refusal(plain.threadId, plain.runId), "NothingPending")
      assert.strictEqual(yield* refusal(plain.threadId, asked.runId), "RunNotFound")
      assert.strictEqual(yield* refusal(asked.threadId, plain.runId), "RunNotFound")
      assert.strictEqual((yield* storedRun(asked)).status, "REQUIRES_ACTION")
    })
  )

  story(
    "lets one of many submissions win when they race, in whichever process, and names the calls to the others",
    [twoCalls, [gate(), say("Done.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const other = yield* openKernel([], { stores: InMemory.layerFrom(raced) })
      const asked = yield* ask
      const request = { threadId: asked.threadId, runId: asked.runId, outputs: both }
      const here = yield* Turns
      const start = Effect.exit(here.submitToolOutputs(request))
      const there = other.run(Effect.exit(Turns.use((turns) => turns.submitToolOutputs(request))))
      const exits = yield* Effect.all([start, there, start, there, start], { concurrency: "unbounded" })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
      for (const exit of exits) {
        if (Exit.isSuccess(exit)) continue
        assert.include(JSON.stringify(exit), "already_answered")
      }
      yield* model.reached()
      yield* model.release()
      yield* here.drain
      assert.strictEqual((yield* storedRun(asked)).status, "COMPLETED")
      assert.strictEqual(model.requests.length, 2)
    }),
    { stores: InMemory.layerFrom(raced) }
  )

  story(
    "uses the run's own tools and thinking again, and those that come with the outputs instead",
    [
      twoCalls,
      [expect((request) => assert.deepStrictEqual(request.tools, tools)), callTool("clock", {}, "c")],
      [
        expect((request) => {
          assert.deepStrictEqual(request.tools, [clock])
          assert.deepStrictEqual(request.thinking, { effort: "low" })
        }),
        callTool("clock", {}, "d")
      ],
      [
        expect((request) => {
          assert.deepStrictEqual(request.tools, [clock])
          assert.deepStrictEqual(request.thinking, { effort: "low" })
        }),
        say("Done.")
      ]
    ],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "?", tools, thinking: { effort: "high" } })
      yield* submit({ threadId, outputs: both })
      const c = [{ toolCallId: "c", output: "" }]
      yield* submit({ threadId, outputs: c, tools: [clock], thinking: { effort: "low" } })
      yield* submit({ threadId, outputs: [{ toolCallId: "d", output: "" }] })
    })
  )

  story(
    "leaves thinking out for a model that does not reason, also when it comes with the outputs",
    [callTool("weather", {}, "a"), expect((request) => assert.isNull(request.thinking))],
    Effect.gen(function* () {
      const { threadId } = yield* (yield* Turns).send({ content: "?", tools })
      yield* submit({ threadId, outputs: [{ toolCallId: "a", output: "" }], thinking: { effort: "low" } })
    }),
    { model: { info: { supportsThinking: false } } }
  )

  story(
    "gives outputs to the model as they came: empty, large, or full of odd characters",
    [callTools(["weather", {}, "a"], ["weather", {}, "b"]), say("Done."), say("Again.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { threadId } = yield* (yield* Turns).send({ content: "?", tools })
      const odd = `\u0000${"x".repeat(100_000)}\ud83d"`
      const outputs = [
        { toolCallId: "a", output: "" },
        { toolCallId: "b", output: odd }
      ]
      yield* submit({ threadId, outputs })
      yield* (yield* Turns).send({ content: "more", threadId })
      for (const request of model.requests.slice(1)) {
        const given = request.messages.flatMap((message) => (message.role === "tool" ? [message.output] : []))
        assert.deepStrictEqual(given, ["", odd])
      }
    })
  )
})

describe("a run that waits for its client", () => {
  const state = InMemory.makeState()
  story(
    "goes on in another process, and after a restart, from the store alone",
    [],
    Effect.gen(function* () {
      const first = yield* openKernel([twoCalls], { stores: InMemory.layerFrom(state) })
      const asked = yield* first.run(ask)
      yield* first.close
      const second = yield* openKernel([callTool("weather", {}, "c")], { stores: InMemory.layerFrom(state) })
      const again = yield* second.run(submit({ threadId: asked.threadId, outputs: both }))
      assert.deepInclude(again, { status: "REQUIRES_ACTION", runId: asked.runId })
      yield* second.close
      const third = yield* openKernel([[gate(), say("Done.")]], { stores: InMemory.layerFrom(state) })
      const outputs = [{ toolCallId: "c", output: "rain" }]
      const last = yield* Effect.forkChild(third.run(submit({ threadId: asked.threadId, outputs })))
      yield* third.run(ScriptedModel.use((model) => Effect.andThen(model.reached(), model.release())))
      assert.strictEqual((yield* Fiber.join(last)).content, "Done.")
      const log = yield* third.run(storedLog(asked))
      const ends = tags(log).filter((tag) => tag === "ToolSubmitRequired" || tag === "RunEnded")
      assert.deepStrictEqual(ends, ["ToolSubmitRequired", "ToolSubmitRequired", "RunEnded"])
      assert.strictEqual((yield* third.run(transcript(asked.threadId))).length, 4)
    })
  )

  story(
    "is not touched by time: outputs may come days later",
    [callTool("weather", {}, "a"), say("Sunny.")],
    Effect.gen(function* () {
      const asked = yield* ask
      yield* TestClock.adjust("2 hours")
      const reply = yield* submit({ threadId: asked.threadId, outputs: [{ toolCallId: "a", output: "sun" }] })
      assert.strictEqual(reply.status, "COMPLETED")
    })
  )
})

describe("outputs that do not fit the model's window", () => {
  story(
    "are refused; the run goes on waiting and takes shorter ones",
    [callTool("weather", {}, "c"), say("Sunny.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "Hi", tools: [weather] })
      const outputs = (output: string) =>
        turns.submitToolOutputs({ threadId: asked.threadId, outputs: [{ toolCallId: "c", output }] })
      const refused = yield* failureFrom(outputs("word ".repeat(20_000)))
      assert.deepInclude(refused, { _tag: "ContextTooLong", ofOutputs: true })
      assert.include(String(refused), "this turn with its tool outputs")
      assert.strictEqual((yield* storedRun(asked)).status, "REQUIRES_ACTION")
      assert.strictEqual((yield* (yield* outputs("sun")).reply).content, "Sunny.")
    }),
    { model: { info: { contextLimit: 4000 } } }
  )
})
