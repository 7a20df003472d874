/** The conversation test kit, as its users meet it: with Effect and without. */
import {
  callTool,
  callTools,
  expect,
  fail,
  gate,
  pause,
  say,
  sayInChunks,
  ScriptedModel,
  TestKernel,
  think
} from "@colloquy/testing"
import { Principal, Turns } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import { TestClock } from "effect/testing"

const weather = { name: "weather", description: null, parameters: null }

describe("a test kernel without Effect", () => {
  it("answers a message in two lines", async () => {
    const kernel = await TestKernel.open([say("Hello, ", "Ada.")])
    assert.strictEqual((await kernel.send({ content: "Hi" })).content, "Hello, Ada.")
    await kernel.close()
  })

  it("streams with `for await`, and shows what the model was shown", async () => {
    const kernel = await TestKernel.open([[think("hm"), sayInChunks("Hello 👋!", 3)]])
    const texts: Array<string> = []
    for await (const event of kernel.stream({ content: "Hi", systemPrompt: "Be kind." })) {
      if (event._tag === "TextDelta") texts.push(event.text)
    }
    assert.deepStrictEqual(texts, ["Hel", "lo ", "👋!"])
    assert.deepInclude(kernel.model.requests[0], { system: "Be kind." })
    await kernel.close()
  })

  it("takes tool outputs, over many rounds", async () => {
    const kernel = await TestKernel.open([
      callTools(["weather", { city: "Paris" }, "a"], ["weather", { city: "Rome" }, "b"]),
      say("Sunny, rainy.")
    ])
    const asked = await kernel.send({ content: "Weather?", tools: [weather] })
    assert.deepStrictEqual(
      asked.toolCalls.map(({ id }) => id),
      ["a", "b"]
    )
    const outputs = [
      { toolCallId: "a", output: "sun" },
      { toolCallId: "b", output: "rain" }
    ]
    const next = await kernel.submitToolOutputs({ threadId: asked.threadId, outputs })
    assert.strictEqual((await next.reply()).content, "Sunny, rainy.")
    await kernel.close()
  })

  it("has time in its hands: no test sleeps", async () => {
    const kernel = await TestKernel.open([[pause("1 hour"), say("At last.")]], {
      settings: {
        chat: {
          retries: 0,
          longestRetryPause: 0,
          firstEventTimeout: "2 hours",
          idleTimeout: "1 hour",
          stepTimeout: "3 hours",
          maxToolCalls: 128,
          maxOutputCharacters: 1000
        }
      }
    })
    const turn = await kernel.start({ content: "Hi" })
    const reply = turn.reply()
    await kernel.adjust("1 hour")
    assert.strictEqual((await reply).content, "At last.")
    await kernel.close()
  })

  it("rejects with the kernel's own errors", async () => {
    const kernel = await TestKernel.open([])
    const refused = await kernel.send({ content: "" }).catch((error: unknown) => error)
    assert.deepInclude(refused, { _tag: "EmptyMessage" })
    await kernel.close()
  })

  it("reports a model that failed as the reply says it", async () => {
    const kernel = await TestKernel.open([fail("auth")])
    assert.deepNestedInclude(await kernel.send({ content: "Hi" }), { status: "FAILED", "fault.code": "auth" })
    await kernel.close()
  })

  it("fails the test at its end when the script was not followed", async () => {
    const unheard = await TestKernel.open([say("One."), say("Two.")])
    await unheard.send({ content: "Hi" })
    const complaint = await unheard.close().then(() => "", String)
    assert.include(complaint, "The script has 2 steps, but the model was called 1 times.")
  })

  it("ends what is still running when it is closed", async () => {
    const kernel = await TestKernel.open([[say("Half"), gate()]])
    const turn = await kernel.start({ content: "Hi", stream: true })
    const seen: Array<string> = []
    for await (const event of turn.events) {
      seen.push(event._tag)
      if (event._tag === "TextDelta") break
    }
    await kernel.close()
    assert.include(seen, "TextDelta")
  })
})

describe("a script", () => {
  const quiet = Logger.layer([])
  const outcome = (steps: Parameters<typeof TestKernel.layer>[0], turns: number) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(
        Effect.provide(
          Effect.forEach(
            Array.from({ length: turns }, (_, n) => `${n}`),
            (content) => Turns.use((service) => service.send({ content }))
          ),
          TestKernel.layer(steps)
        )
      )
      return Exit.isSuccess(exit) ? null : JSON.stringify(exit.cause) + String(exit.cause)
    }).pipe(Principal.provide("ada"), Effect.provide(quiet))

  it.effect("that is followed is silent", () =>
    Effect.map(outcome([say("a"), say("b")], 2), (complaint) => assert.isNull(complaint))
  )

  it.effect("complains of a step that was never asked for", () =>
    Effect.map(outcome([say("a"), say("b")], 1), (complaint) =>
      assert.include(complaint, "has 2 steps, but the model was called 1 times")
    )
  )

  it.effect("complains of a call too many", () =>
    Effect.map(outcome([say("a")], 2), (complaint) => assert.include(complaint, "called more often than that"))
  )

  it.effect("complains of a request that is not as expected", () =>
    Effect.map(outcome([[expect(({ system }) => assert.strictEqual(system, "x")), say("a")]], 1), (complaint) =>
      assert.include(complaint, "A check of step 1 failed")
    )
  )

  it.effect("may go on without end when it is told how", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const said: Array<string> = []
      for (const content of ["1", "2", "3"]) said.push((yield* turns.send({ content })).content)
      assert.deepStrictEqual(said, ["first", "and on", "and on"])
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(TestKernel.layer([say("first")], { model: { otherwise: say("and on") } }))
    )
  )

  it.effect("stands at a gate until it is opened, also when it was opened before", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      yield* model.release("early")
      const reply = yield* Effect.forkChild(turns.send({ content: "Hi" }))
      yield* model.reached("late")
      assert.isUndefined(reply.pollUnsafe())
      yield* model.release("late")
      assert.strictEqual((yield* Fiber.join(reply)).content, "ab")
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(TestKernel.layer([[gate("early"), say("a"), gate("late"), say("b")]]))
    )
  )

  it.effect("pauses by the clock of the test, for as long as it says", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* Effect.forkChild(turns.send({ content: "Hi" }), { startImmediately: true })
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(reply.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(reply)).content, "a")
    }).pipe(Principal.provide("ada"), Effect.provide(TestKernel.layer([[pause("30 seconds"), say("a")]])))
  )

  it.effect("gives every call an id of its own when it names none", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const { toolCalls } = yield* turns.send({ content: "?", tools: [weather] })
      assert.strictEqual(new Set(toolCalls.map(({ id }) => id)).size, 3)
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(TestKernel.layer([[callTool("weather"), callTools(["weather"], ["weather"])]]))
    )
  )
})
