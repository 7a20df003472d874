/**
 * How an application tests its conversations: a script replaces the model, memory replaces the database, and a test clock replaces time.
 * The test fails when the model is called too often or too rarely, and it can check the model's requests.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, expect, fail, gate, say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import { Kernel, Principal, Threads, Turns } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

const talking = (...script: ReadonlyArray<ScriptStep>) =>
  Kernel.layer.pipe(Layer.provideMerge(ScriptedModel.layer(script)), Layer.provideMerge(InMemory.layer))

describe("our assistant", () => {
  it.effect("looks the weather up before it answers", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const tools = [{ name: "weather", description: "The weather of a city", parameters: null }]
      const first = yield* turns.send({ content: "Do I need an umbrella?", systemPrompt: "Be brief.", tools })
      assert.strictEqual(first.status, "REQUIRES_ACTION")
      const outputs = first.toolCalls.map((call) => ({ toolCallId: call.id, output: "rain" }))
      const next = yield* turns.submitToolOutputs({ threadId: first.threadId, outputs })
      assert.strictEqual((yield* next.reply).content, "Yes.")
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(
        talking(
          [expect((request) => assert.strictEqual(request.system, "Be brief.")), callTool("weather", { city: "Oslo" })],
          [expect((request) => assert.strictEqual(request.messages.at(-1)?.role, "tool")), say("Yes.")]
        )
      )
    )
  )

  it.effect("survives a model that is overloaded for a moment", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* Effect.forkChild(turns.send({ content: "Hello" }))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(reply)).content, "Hello!")
    }).pipe(Principal.provide("ada"), Effect.provide(talking(fail("overloaded"), say("Hello!"))))
  )

  it.effect("keeps what was said when the user cancels", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const model = yield* ScriptedModel
      const { threadId, runId } = yield* turns.start({ content: "Tell me everything", stream: true })
      yield* model.reached()
      yield* turns.cancel(threadId, runId)
      const { messages } = yield* (yield* Threads).get(threadId)
      assert.deepStrictEqual(
        messages.map((message) => [message.status, message.content]),
        [
          ["COMPLETED", "Tell me everything"],
          ["CANCELLED", "In the beginning"]
        ]
      )
    }).pipe(Principal.provide("ada"), Effect.provide(talking([say("In the beginning"), gate(), say("...")])))
  )
})
