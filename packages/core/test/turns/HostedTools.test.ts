import { callTool, callTools, expect, hang, remembers, say, ScriptedModel, TestKernel } from "@colloquy/testing"
import { type HostedTool, HostedToolFailed, HostedTools, Principal, Turns } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { failureFrom, messagesIn, quiet, storedRun, story, tags, transcript, weather } from "../support/Story.ts"

const hosted = (name: string, run: HostedTool["run"], options: Partial<HostedTool> = {}): HostedTool => ({
  definition: { name, description: null, parameters: null },
  run,
  ...options
})
const echo = hosted("echo", (args) => Effect.succeed(args))

const resultsIn = Effect.map(ScriptedModel, (model) =>
  (model.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.output] : []))
)
const send = Turns.use((turns) => turns.send({ content: "?" }))

describe("a hosted tool", () => {
  story(
    "runs inside the turn: the model is asked again with its result, and the client sees one answer",
    [[say("Wait."), callTool("echo", { a: 1 }, "c")], say("Done.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* (yield* Turns).start({ content: "?", stream: true })
      const events = yield* Stream.runCollect(turn.events)
      assert.include(tags(events), "HostedResult")
      assert.deepStrictEqual(model.requests[1]?.messages.slice(1), [
        {
          role: "assistant",
          content: "Wait.",
          toolCalls: [{ id: "c", name: "echo", arguments: '{"a":1}' }],
          providerData: null
        },
        { role: "tool", toolCallId: "c", toolName: "echo", output: '{"a":1}' }
      ])
      assert.deepStrictEqual(yield* transcript(turn.threadId), [
        ["user", "COMPLETED", "?"],
        ["assistant", "COMPLETED", "Wait.\n\nDone."]
      ])
    }),
    { hosted: [echo] }
  )

  story(
    "stays in the history of later turns, call and result together, each step as the model wrote it",
    [[say("Wait."), callTool("echo", {}, "c"), remembers("data")], say("Done."), say("Next.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { threadId } = yield* send
      yield* (yield* Turns).send({ content: "more", threadId })
      const messages = model.requests[2]?.messages ?? []
      assert.deepStrictEqual(messages.slice(0, 3), model.requests[1]?.messages)
      assert.deepStrictEqual(messages[3], { role: "assistant", content: "Done.", toolCalls: [], providerData: null })
      assert.deepInclude(messages[1], { content: "Wait.", providerData: { provider: "scripted", data: "data" } })
    }),
    { hosted: [echo] }
  )

  story(
    "gets an id of its own for each call, also when a model starts its ids again in each step",
    [callTool("echo", { a: 1 }, "0"), callTool("echo", { a: 2 }, "0"), say("Done.")],
    Effect.gen(function* () {
      yield* send
      const messages = (yield* ScriptedModel).requests[2]?.messages.slice(1) ?? []
      const ids = messages.flatMap((message) =>
        message.role === "assistant"
          ? message.toolCalls.map(({ id }) => id)
          : message.role === "tool"
            ? [message.toolCallId]
            : []
      )
      assert.deepStrictEqual(ids, ["0", "0", "0_2", "0_2"])
      assert.deepStrictEqual(yield* resultsIn, ['{"a":1}', '{"a":2}'])
    }),
    { hosted: [echo] }
  )

  const meeting = Deferred.makeUnsafe<void>()
  const other = Deferred.makeUnsafe<void>()
  story(
    "runs beside the others of its step",
    [callTools(["a"], ["b"]), say("Done.")],
    Effect.gen(function* () {
      assert.strictEqual((yield* send).content, "Done.")
      assert.deepStrictEqual(yield* resultsIn, ["a met b", "b met a"])
    }),
    {
      hosted: [
        hosted("a", () =>
          Effect.as(Effect.andThen(Deferred.succeed(meeting, undefined), Deferred.await(other)), "a met b")
        ),
        hosted("b", () =>
          Effect.as(Effect.andThen(Deferred.succeed(other, undefined), Deferred.await(meeting)), "b met a")
        )
      ]
    }
  )

  const failing: ReadonlyArray<readonly [string, HostedTool, RegExp]> = [
    [
      "fails",
      hosted("t", () => Effect.fail(new HostedToolFailed({ message: "No such city." }))),
      /^Error: No such city\.$/u
    ],
    ["has a defect", hosted("t", () => Effect.die(new Error("secret"))), /^Error: the tool failed/u],
    [
      "throws before it gives an effect",
      hosted("t", () => {
        throw new Error("secret")
      }),
      /^Error: the tool failed/u
    ],
    [
      "cannot say how long it may take",
      hosted("t", () => Effect.succeed("never run"), {
        timeout: () => {
          throw new Error("secret")
        }
      }),
      /^Error: the tool failed/u
    ],
    ["interrupts itself", hosted("t", () => Effect.interrupt), /^Error: the tool failed/u],
    ["answers nothing", hosted("t", () => Effect.sync(() => undefined as never)), /^Error: the tool failed/u]
  ]
  for (const [name, tool, text] of failing) {
    story(
      `that ${name} becomes a text for the model, not a failed run`,
      [callTool("t"), say("Never mind.")],
      Effect.gen(function* () {
        assert.deepInclude(yield* send, { status: "COMPLETED", content: "Never mind." })
        const [result] = yield* resultsIn
        assert.match(result ?? "", text)
        assert.notInclude(result, "secret")
      }),
      { hosted: [tool] }
    )
  }

  const slow: ReadonlyArray<readonly [string, HostedTool]> = [
    ["hangs", hosted("t", () => Effect.never, { timeout: "5 seconds" })],
    [
      "hangs and does not let itself be interrupted",
      hosted("t", () => Effect.uninterruptible(Effect.never), { timeout: "5 seconds" })
    ]
  ]
  for (const [name, tool] of slow) {
    story(
      `that ${name} is given up after its time`,
      [callTool("t"), say("Never mind.")],
      Effect.gen(function* () {
        const reply = yield* Effect.forkChild(send, { startImmediately: true })
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual((yield* Fiber.join(reply)).content, "Never mind.")
        assert.match((yield* resultsIn)[0] ?? "", /did not answer within 5s/u)
      }),
      { hosted: [tool] }
    )

    story(
      `that ${name} does not hold up a cancel`,
      [callTool("t")],
      Effect.gen(function* () {
        const turns = yield* Turns
        const turn = yield* turns.start({ content: "?", stream: true })
        yield* Stream.runHead(Stream.filter(turn.events, (event) => event._tag === "ToolCallReady"))
        const run = yield* turns.cancel(turn.threadId, turn.runId)
        assert.strictEqual(run.status, "CANCELLED")
      }),
      { hosted: [tool] }
    )
  }

  const malformed = ["{", "", "null", "[]", '"text"', "1", "{'a': 1}", '{"a":1} trailing']
  for (const args of malformed) {
    story(
      `gets no malformed arguments: ${JSON.stringify(args)}`,
      [callTool("echo", args), say("Sorry.")],
      Effect.gen(function* () {
        assert.strictEqual((yield* send).status, "COMPLETED")
        // A call without any argument text is a call with none.
        assert.match(
          (yield* resultsIn)[0] ?? "",
          args === "" ? /^\{\}$/u : /^Error: the arguments are not a JSON object/u
        )
      }),
      { hosted: [echo] }
    )
  }

  story(
    "or a client's tool with malformed arguments, and an unknown name, are answered by the kernel; nobody is asked",
    [callTools(["weather", "{"], ["nothing", {}]), say("Sorry.")],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "?", tools: [weather] })
      assert.strictEqual(reply.status, "COMPLETED")
      assert.deepStrictEqual(
        (yield* resultsIn).map((text) => text.slice(0, 24)),
        ["Error: the arguments are", "Error: there is no tool "]
      )
    })
  )

  story(
    "beside a client's tool in one step runs at once, its result is stored, and the client is asked for the rest alone",
    [[say("Wait."), callTools(["echo", { a: 1 }, "h"], ["weather", {}, "c"])], say("Done.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "?", tools: [weather] })
      assert.deepStrictEqual(
        asked.toolCalls.map(({ id }) => id),
        ["c"]
      )
      const stored = (yield* messagesIn(asked.threadId)).at(-1)
      assert.deepStrictEqual(
        stored?.toolCalls.map(({ id }) => id),
        ["c"]
      )
      assert.deepStrictEqual(
        stored?.steps[0]?.hostedResults.map(({ output }) => output),
        ['{"a":1}']
      )
      const refused = yield* failureFrom(
        turns.submitToolOutputs({
          threadId: asked.threadId,
          outputs: [
            { toolCallId: "h", output: "mine" },
            { toolCallId: "c", output: "sun" }
          ]
        })
      )
      assert.deepInclude(refused, { problems: [{ toolCallId: "h", index: 0, problem: "already_answered" }] })
      yield* (yield* turns.submitToolOutputs({
        threadId: asked.threadId,
        outputs: [{ toolCallId: "c", output: "sun" }]
      })).reply
      assert.deepStrictEqual(
        model.requests[1]?.messages
          .slice(1)
          .map((message) => (message.role === "tool" ? message.output : message.role)),
        ["assistant", '{"a":1}', "sun"]
      )
    }),
    { hosted: [echo] }
  )

  story(
    "is not called again when the model numbers its calls anew in each step",
    [callTool("echo", { n: 1 }, "0"), callTools(["echo", { n: 2 }, "0"], ["weather", {}, "1"]), say("Done.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "?", tools: [weather] })
      assert.deepStrictEqual(
        asked.toolCalls.map(({ name }) => name),
        ["weather"]
      )
      const outputs = asked.toolCalls.map(({ id }) => ({ toolCallId: id, output: "sun" }))
      yield* (yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })).reply
      assert.deepStrictEqual(yield* resultsIn, ['{"n":1}', '{"n":2}', "sun"])
    }),
    { hosted: [echo] }
  )

  let ran = 0
  const counted = hosted("echo", () => Effect.sync(() => ran++))
  story(
    "runs in so many rounds as the host allows; then the model is told to answer in words, and does",
    [
      callTool("echo"),
      callTool("echo"),
      [expect((request) => assert.strictEqual(request.toolChoice, "none")), say("In words.")]
    ],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      assert.strictEqual((yield* send).content, "In words.")
      assert.deepStrictEqual(
        model.requests.map((request) => request.toolChoice),
        ["auto", "auto", "none"]
      )
    }),
    { hosted: [echo], settings: { hostedRounds: 2 } }
  )

  story(
    "is not run any more when the model goes on calling after its last round, and the run says why it failed",
    [callTool("echo"), callTool("echo"), say("Next.")],
    Effect.gen(function* () {
      const reply = yield* send
      assert.deepInclude(reply, { status: "FAILED" })
      assert.strictEqual(reply.fault?.code, "too_many_tool_rounds")
      assert.strictEqual(ran, 1)
      const next = yield* (yield* Turns).send({ content: "more", threadId: reply.threadId })
      assert.strictEqual(next.content, "Next.")
    }),
    { hosted: [counted], settings: { hostedRounds: 1 } }
  )

  story(
    "may be offered in some turns only, and one that is not cannot be called",
    [callTool("secret"), say("Sorry.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* send
      assert.deepStrictEqual(model.requests[0]?.tools, [])
      assert.match((yield* resultsIn)[0] ?? "", /no tool named/u)
    }),
    { hosted: [hosted("secret", () => Effect.die("called"), { offered: ({ metadata }) => metadata !== null })] }
  )

  story(
    "keeps its name: a client's tool of the same name is refused before anything is stored",
    [],
    Effect.gen(function* () {
      const clash = { name: "echo", description: null, parameters: null }
      const refused = yield* failureFrom((yield* Turns).send({ content: "?", tools: [weather, clash] }))
      assert.deepInclude(refused, { _tag: "ToolNameTaken", name: "echo", index: 1 })
    }),
    { hosted: [echo] }
  )

  story(
    "knows for whom it works, and which call it answers",
    [callTool("who", {}, "c"), say("Done.")],
    Effect.gen(function* () {
      const reply = yield* send
      const { assistantId, runId, threadId } = reply
      assert.deepStrictEqual(JSON.parse((yield* resultsIn)[0] ?? ""), {
        ownerId: "ada",
        toolCallId: "c",
        assistantId,
        runId,
        threadId
      })
    }),
    {
      hosted: [
        hosted("who", (_, call) =>
          Effect.map(Principal, ({ ownerId }) => {
            const { assistantId, runId, threadId, toolCallId } = call
            return { ownerId, toolCallId, assistantId, runId, threadId }
          })
        )
      ]
    }
  )

  story(
    "has its result cut at the host's limit, never inside a character",
    [callTool("long"), say("Done.")],
    Effect.gen(function* () {
      yield* send
      assert.deepStrictEqual(yield* resultsIn, ["xxx"])
    }),
    {
      hosted: [hosted("long", () => Effect.succeed(`xxx\ud83d\ude00${"x".repeat(100)}`))],
      settings: { maxToolResult: 4 }
    }
  )

  story(
    "is interrupted with its run, and the result that another one had is kept",
    [callTools(["echo", { a: 1 }, "h"], ["t", {}, "t"]), say("Next.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "?", stream: true })
      yield* Stream.runHead(Stream.filter(turn.events, (event) => event._tag === "HostedResult"))
      yield* turns.cancel(turn.threadId, turn.runId)
      const [, answer] = yield* messagesIn(turn.threadId)
      assert.deepStrictEqual(
        answer?.steps[0]?.hostedResults.map(({ toolCallId }) => toolCallId),
        ["h"]
      )
      assert.deepStrictEqual([answer?.status, answer?.toolCalls], ["CANCELLED", []])
      yield* turns.send({ content: "more", threadId: turn.threadId })
      const roles = model.requests[1]?.messages.map((message) => message.role)
      assert.deepStrictEqual(roles, ["user", "assistant", "tool", "tool", "user"])
    }),
    { hosted: [echo, hosted("t", () => Effect.never)] }
  )

  story(
    "that is slow does not let the run's lease expire",
    [callTool("t"), hang],
    Effect.gen(function* () {
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "?" })
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual((yield* storedRun(turn)).status, "IN_PROGRESS")
      yield* TestClock.adjust("15 seconds")
      yield* turns.cancel(turn.threadId, turn.runId)
    }),
    { hosted: [hosted("t", () => Effect.never)] }
  )

  it.effect("of two layers add up, in any order, and two of one name are refused when the kernel is built", () => {
    const one = HostedTools.tools([echo])
    const further = HostedTools.tools([hosted("other", () => Effect.succeed("too"))])
    const kernel = (...layers: ReadonlyArray<typeof one>) =>
      Layer.mergeAll(Layer.empty, ...layers).pipe(
        Layer.provideMerge(TestKernel.layer([callTools(["echo", { a: 1 }, "a"], ["other", {}, "b"]), say("Done.")])),
        Layer.fresh
      )
    const both = Effect.gen(function* () {
      yield* send
      const offered = (yield* ScriptedModel).requests[0]?.tools.map(({ name }) => name)
      return [offered, yield* resultsIn]
    }).pipe(Principal.provide("ada"))
    return Effect.gen(function* () {
      const expected = [
        ["echo", "other"],
        ['{"a":1}', "too"]
      ]
      assert.deepStrictEqual(yield* Effect.provide(both, kernel(one, further)), expected)
      assert.deepStrictEqual(yield* Effect.provide(both, kernel(further, one)), expected)
      const again = HostedTools.tools([echo])
      const twice = yield* Effect.exit(Effect.scoped(Layer.build(kernel(one, again))))
      assert.isTrue(Exit.isFailure(twice) && Cause.pretty(twice.cause).includes('"echo"'))
    }).pipe(Effect.provide(quiet))
  })
})
