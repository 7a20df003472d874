import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, say, ScriptedModel } from "@colloquy/testing"
import { Kernel, Principal, Turns } from "@colloquy/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

// A scripted model replaces a real one: no network, no key.
const model = ScriptedModel.layer([
  callTool("get_weather", { city: "Paris" }, "call_1"),
  say("It is sunny ", "in Paris.")
])
const kernel = Kernel.layer.pipe(Layer.provide([model, InMemory.layer]))

const conversation = Effect.gen(function* () {
  const turns = yield* Turns
  const tools = [{ name: "get_weather", description: "Current weather", parameters: null }]

  const first = yield* turns.send({ content: "How is the weather in Paris?", tools })
  yield* Console.log(first.status, first.toolCalls[0]?.name)

  const outputs = [{ toolCallId: "call_1", output: "sunny" }]
  const next = yield* turns.submitToolOutputs({ threadId: first.threadId, outputs })
  const reply = yield* next.reply
  yield* Console.log(reply.status, reply.content)
})

await Effect.runPromise(conversation.pipe(Principal.provide("ada"), Effect.provide(kernel)))
