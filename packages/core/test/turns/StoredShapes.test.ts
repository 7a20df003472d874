/**
 * What older and newer versions stored with a run, read by this one: a sample of every shape that was released. A shape is never taken off
 * this list; a new one is added when the plan or the explanation changes.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, expect, say } from "@colloquy/testing"
import { Principal, Turns } from "@colloquy/core"
import { RunStore } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { openKernel, weather } from "../support/Story.ts"

const first = {
  provider: "scripted",
  model: "scripted-model",
  system: "Be brief.",
  tools: [weather],
  hosted: [],
  thinking: { effort: "low" },
  routing: null,
  jsonOutput: false,
  ignored: [{ option: "json_output", because: "tools are active" }]
}

const plans: ReadonlyArray<readonly [string, Schema.JsonObject]> = [
  ["the first one", first],
  ["with `saves`", { ...first, saves: false }],
  ["the oldest conceivable one", { provider: "scripted", model: "scripted-model", tools: [weather] }],
  [
    "a newer one",
    {
      ...first,
      parts: { memory: { scope: "user" } },
      thinking: { effort: "low", style: "wide" },
      tools: [{ ...weather, cache: true }],
      ignored: [{ option: "a", because: "b", since: 2 }]
    }
  ],
  [
    "a newer one with values that are not known here",
    { ...first, thinking: { effort: "extreme" }, hosted: [{ id: 1 }] }
  ]
]

const explanations: ReadonlyArray<readonly [string, Schema.Json, number | undefined]> = [
  ["none", null, undefined],
  [
    "the first one",
    {
      model: "m",
      contextLimit: 10,
      reservedForAnswer: 2,
      usedTokens: 5,
      parts: [{ part: "turn", tokens: 5, messages: 1 }],
      leftOut: [{ part: "history", messages: 1, tokens: 2, because: "older" }]
    },
    5
  ],
  [
    "a newer one",
    {
      model: "m",
      contextLimit: null,
      reservedForAnswer: 2,
      usedTokens: 6,
      parts: [{ part: "memories", tokens: 6, messages: 0, weight: 3 }],
      leftOut: [{ part: "memories", messages: 1, tokens: 2, because: "no room", score: 1 }],
      shares: {}
    },
    6
  ],
  ["one in another form", { version: 9 }, undefined]
]

/** A run that waits for its client, as another version left it. */
const left = Effect.fnUntraced(function* (plan: Schema.JsonObject, explanation: Schema.Json = null) {
  const state = InMemory.makeState()
  const kernel = yield* openKernel([callTool("weather", {}, "c")], { stores: InMemory.layerFrom(state) })
  const asked = yield* kernel.run(Turns.use((turns) => turns.send({ content: "Hi", tools: [weather] })))
  yield* kernel.close
  const row = state.runs.get(asked.runId) ?? assert.fail()
  row.run = { ...row.run, plan, explanation }
  return { asked, state }
})

const submit = { outputs: [{ toolCallId: "c", output: "sun" }] }

describe("a plan that another version stored", () => {
  it.effect.each(plans)("%s: the outputs are taken, and what is not known here stays", ([_name, plan]) =>
    Effect.gen(function* () {
      const { asked, state } = yield* left(plan)
      const asksAsStored = expect((request) => assert.deepInclude(request.tools[0], weather))
      const kernel = yield* openKernel([[asksAsStored, say("Sunny.")]], { stores: InMemory.layerFrom(state) })
      const { threadId } = asked
      const reply = yield* kernel.run(
        Turns.use((turns) => Effect.flatMap(turns.submitToolOutputs({ threadId, ...submit }), (turn) => turn.reply))
      )
      assert.deepInclude(reply, { status: "COMPLETED", content: "Sunny." })
      const stored = yield* kernel.run(RunStore.use((store) => store.get(asked.runId)))
      const kept = stored._tag === "Some" ? stored.value.plan : null
      assert.deepInclude(kept, { provider: "scripted", tools: plan["tools"] })
      if (plan["parts"] !== undefined) {
        assert.deepInclude(kept, { parts: plan["parts"], thinking: plan["thinking"], ignored: plan["ignored"] })
      }
    }).pipe(Principal.provide("ada"))
  )

  it.effect.each(explanations)("an explanation, %s, is reported as far as it is understood", ([_name, json, used]) =>
    Effect.gen(function* () {
      const { asked, state } = yield* left(first, json)
      const kernel = yield* openKernel([], { stores: InMemory.layerFrom(state) })
      const { explanation, ignored } = yield* kernel.run(
        Turns.use((turns) => turns.report(asked.threadId, asked.runId))
      )
      assert.strictEqual(explanation?.usedTokens, used)
      assert.strictEqual(ignored.length, 1)
    }).pipe(Principal.provide("ada"))
  )
})
