/** A tool that yields is left out of a turn in which another tool has its name. */
import { callTool, say, ScriptedModel, TestKernel } from "@colloquy/testing"
import { type HostedTool, HostedTools, Principal, TurnParts, Turns } from "@colloquy/core"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const tool = (name: string, description: string, yields = false): HostedTool => ({
  definition: { name, description, parameters: null },
  run: () => Effect.succeed(`${description} ran`),
  yields
})

const part = (name: string, tools: ReadonlyArray<HostedTool>) =>
  TurnParts.part({ name, plan: Schema.Null, decide: () => Effect.succeed({ plan: null }), tools: () => tools })

/** A turn in which the client has the tool `write`, and the model calls `draw`: the tools that it is told, and what ran. */
const turnWith = (installed: Layer.Layer<never, never, HostedTools | TurnParts>) =>
  Effect.gen(function* () {
    const clients = { name: "write", description: "the client's", parameters: null }
    const reply = yield* (yield* Turns).send({ content: "?", tools: [clients] })
    assert.strictEqual(reply.status, "COMPLETED")
    const [first, second] = (yield* ScriptedModel).requests
    return {
      told: first?.tools.map(({ description, name }) => [name, description]),
      ran: second?.messages.flatMap((message) => (message.role === "tool" ? [message.output] : []))
    }
  }).pipe(
    Principal.provide("ada"),
    Effect.provide(
      installed.pipe(Layer.provideMerge(TestKernel.layer([callTool("draw", {}), say("Done.")])), Layer.fresh)
    )
  )

it.effect("of the host yields to a part's tool and to the client's", () =>
  Effect.gen(function* () {
    const ofHost = HostedTools.tools([tool("draw", "the host's", true), tool("write", "the host's", true)])
    const { ran, told } = yield* turnWith(Layer.merge(ofHost, part("studio", [tool("draw", "the part's")])))
    assert.deepStrictEqual(told, [
      ["draw", "the part's"],
      ["write", "the client's"]
    ])
    assert.deepStrictEqual(ran, ["the part's ran"])
  })
)

it.effect("of a part yields to the tools of the host, of the client and of another part", () =>
  Effect.gen(function* () {
    const yielding = ["draw", "read", "write"].map((name) => tool(name, "the part's", true))
    const ofHost = HostedTools.tools([tool("draw", "the host's")])
    const parts = Layer.merge(part("reader", [tool("read", "the other part's")]), part("servers", yielding))
    const { ran, told } = yield* turnWith(Layer.merge(ofHost, parts))
    assert.deepStrictEqual(told, [
      ["read", "the other part's"],
      ["draw", "the host's"],
      ["write", "the client's"]
    ])
    assert.deepStrictEqual(ran, ["the host's ran"])
  })
)
