/**
 * A tool that runs on the server: the host writes the function, the model decides when to call it, and the kernel runs it inside the turn.
 * The client gets an answer without a round trip. A failure becomes a text for the model, so that the model can go on.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, say, ScriptedModel } from "@colloquy/testing"
import { type HostedTool, HostedToolFailed, HostedTools, Kernel, Principal, Turns } from "@colloquy/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const orders = new Map([["A-17", "on its way, arrives on Friday"]])

const orderStatus: HostedTool = {
  definition: {
    name: "order_status",
    description: "Tells where an order is.",
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] }
  },
  run: (args) => {
    const order = args["order"]
    const status = typeof order === "string" ? orders.get(order) : undefined
    return status === undefined
      ? Effect.fail(new HostedToolFailed({ message: "There is no such order. Ask for the number again." }))
      : Effect.succeed({ order: order ?? null, status })
  }
}

const model = ScriptedModel.layer([callTool("order_status", { order: "A-17" }), say("It arrives on Friday.")])
const kernel = HostedTools.tools([orderStatus]).pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provide([model, InMemory.layer])
)

const conversation = Effect.gen(function* () {
  const turns = yield* Turns
  const reply = yield* turns.send({ content: "Where is my order A-17?" })
  yield* Console.log(reply.status, reply.content)
})

await Effect.runPromise(conversation.pipe(Principal.provide("ada"), Effect.provide(kernel)))
