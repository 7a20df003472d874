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

const ofHost = [tool("draw", "the host's", true), tool("write", "the host's", true)]

const part = TurnParts.part({
  name: "studio",
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null }),
  tools: () => [tool("draw", "the part's")]
})

it.effect("of the host yields to a part's tool and to the client's", () =>
  Effect.gen(function* () {
    const clients = { name: "write", description: "the client's", parameters: null }
    const reply = yield* (yield* Turns).send({ content: "?", tools: [clients] })
    assert.strictEqual(reply.status, "COMPLETED")
    const [first, second] = (yield* ScriptedModel).requests
    assert.deepStrictEqual(
      first?.tools.map(({ description, name }) => [name, description]),
      [
        ["draw", "the part's"],
        ["write", "the client's"]
      ]
    )
    assert.deepStrictEqual(
      second?.messages.flatMap((message) => (message.role === "tool" ? [message.output] : [])),
      ["the part's ran"]
    )
  }).pipe(
    Principal.provide("ada"),
    Effect.provide(
      Layer.mergeAll(HostedTools.tools(ofHost), part).pipe(
        Layer.provideMerge(TestKernel.layer([callTool("draw", {}), say("Done.")])),
        Layer.fresh
      )
    )
  )
)

it.effect("of a part yields to the tools of the host, of the client and of another part", () =>
  Effect.gen(function* () {
    const clients = { name: "write", description: "the client's", parameters: null }
    const reply = yield* (yield* Turns).send({ content: "?", tools: [clients] })
    assert.strictEqual(reply.status, "COMPLETED")
    const [first, second] = (yield* ScriptedModel).requests
    assert.deepStrictEqual(
      first?.tools.map(({ description, name }) => [name, description]),
      [
        ["read", "the other part's"],
        ["draw", "the host's"],
        ["write", "the client's"]
      ]
    )
    assert.deepStrictEqual(
      second?.messages.flatMap((message) => (message.role === "tool" ? [message.output] : [])),
      ["the host's ran"]
    )
  }).pipe(
    Principal.provide("ada"),
    Effect.provide(
      Layer.mergeAll(
        HostedTools.tools([tool("draw", "the host's")]),
        TurnParts.part({
          name: "reader",
          plan: Schema.Null,
          decide: () => Effect.succeed({ plan: null }),
          tools: () => [tool("read", "the other part's")]
        }),
        TurnParts.part({
          name: "servers",
          plan: Schema.Null,
          decide: () => Effect.succeed({ plan: null }),
          tools: () => ["draw", "read", "write"].map((name) => tool(name, "the part's", true))
        })
      ).pipe(Layer.provideMerge(TestKernel.layer([callTool("draw", {}), say("Done.")])), Layer.fresh)
    )
  )
)
