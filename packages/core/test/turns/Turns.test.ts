import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, reason, say, ScriptedModel, type ScriptStep, uses } from "@colloquy/adapters/scripted"
import { Assistants, HostedTools, Kernel, Principal, Threads, Turns, isTerminal } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

const kernel = (steps: ReadonlyArray<ScriptStep>) =>
  Kernel.layer.pipe(Layer.provideMerge(ScriptedModel.layer(steps)), Layer.provideMerge(InMemory.layer))

describe("a turn", () => {
  it.effect("answers, and the thread holds question and answer", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const threads = yield* Threads
      const reply = yield* turns.send({ content: "Hello" })
      assert.strictEqual(reply.content, "Hello, Ada.")
      assert.strictEqual(reply.status, "COMPLETED")
      const { messages } = yield* threads.get(reply.threadId)
      assert.deepStrictEqual(messages.map((m) => [m.sequence, m.role, m.content]), [[1, "user", "Hello"], [2, "assistant", "Hello, Ada."]])
      assert.strictEqual(messages[1]?.id, reply.messageId)
    }).pipe(Principal.provide("ada"), Effect.provide(kernel([say("Hello, ", "Ada.")]))))

  it.effect("tools", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const threads = yield* Threads
      const tools = [{ name: "weather", description: null, parameters: null }]
      const turn = yield* turns.start({ content: "Weather?", tools, stream: true })
      const events = yield* Stream.runCollect(turn.events)
      console.log(events)
      const end = events.find(isTerminal)
      assert.strictEqual(end?._tag, "ToolSubmitRequired")
      const next = yield* turns.submitToolOutputs({ threadId: turn.threadId, outputs: [{ toolCallId: "call_0_1", output: "sun" }] })
      console.log(yield* Stream.runCollect(next.events))
      console.log(yield* threads.get(turn.threadId))
      console.log(JSON.stringify((yield* turns.report(turn.threadId, turn.runId)).explanation))
    }).pipe(Principal.provide("ada"), Effect.provide(kernel([[reason("hm"), say("Let me see"), callTool("weather", { city: "Paris" })], [say("Sun"), uses({ inputTokens: 3 })]]))))
})
