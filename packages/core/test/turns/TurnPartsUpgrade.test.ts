/** Two versions of a host over one database: what one planned, the other goes on with, or leaves out. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, say, ScriptedModel, TestKernel } from "@colloquy/testing"
import { Principal, type TurnPart, TurnParts, Turns } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { quiet, storedRun, weather } from "../support/Story.ts"

const part = <Plan>(plan: Schema.Codec<Plan, Schema.Json>, planned: Plan): TurnPart<Plan> => ({
  name: "finder",
  plan,
  decide: ({ options }) => Effect.succeed(options === undefined ? null : { plan: planned }),
  recall: () =>
    Effect.succeed([
      { name: "excerpts", intro: "Material:", items: [{ text: "tea is hot", rank: 0 }], place: "turn", weight: 1 }
    ]),
  tools: () => [
    {
      definition: { name: "find_more", description: null, parameters: { type: "object", properties: {} } },
      run: () => Effect.succeed("found")
    }
  ]
})

const first = part(Schema.Struct({ query: Schema.String }), { query: "tea" })
/** Knows one field more, and has a default for it. */
const newer = part(Schema.Struct({ query: Schema.String, limit: Schema.optionalKey(Schema.Int) }), {
  query: "tea",
  limit: 3
})
const unreadable = part(Schema.Struct({ queries: Schema.Array(Schema.String) }), { queries: ["tea"] })

const kernelWith = <Plan>(
  state: InMemory.State,
  steps: ReadonlyArray<Parameters<typeof TestKernel.layer>[0][number]>,
  joins: TurnPart<Plan> | null
) =>
  (joins === null ? Layer.empty : TurnParts.part(joins)).pipe(
    Layer.provideMerge(TestKernel.layer(steps, { stores: InMemory.layerFrom(state) })),
    Layer.fresh
  )

/** A turn begins under one version, pauses for its client, and goes on under another; gives what the model was asked then. */
const upgrade = <Before, After>(before: TurnPart<Before>, after: TurnPart<After> | null) =>
  Effect.gen(function* () {
    const state = InMemory.makeState()
    const waiting = yield* Effect.provide(
      Turns.use((turns) => turns.send({ content: "tea?", tools: [weather], options: { finder: {} } })),
      kernelWith(state, [callTool("weather", {}, "c1")], before)
    )
    assert.strictEqual(waiting.status, "REQUIRES_ACTION")
    return yield* Effect.provide(
      Effect.gen(function* () {
        const turns = yield* Turns
        const outputs = [{ toolCallId: "c1", output: "rain" }]
        const reply = yield* (yield* turns.submitToolOutputs({ threadId: waiting.threadId, outputs })).reply
        assert.strictEqual(reply.status, "COMPLETED")
        const [request] = (yield* ScriptedModel).requests
        return { request, run: yield* storedRun(waiting) }
      }),
      kernelWith(state, [say("Done.")], after)
    )
  }).pipe(Principal.provide("ada"), Effect.provide(quiet))

const firstMessageTexts = (request: Effect.Success<ReturnType<typeof upgrade>>["request"]) =>
  request?.messages[0]?.role === "user"
    ? request.messages[0].content.map((each) => (each.type === "text" ? each.text : each.type))
    : []

const toolNames = (request: Effect.Success<ReturnType<typeof upgrade>>["request"]) =>
  request?.tools.map(({ name }) => name)

describe("a part of another version", () => {
  it.effect("that reads the stored plan goes on: what was recalled, and its tools", () =>
    Effect.gen(function* () {
      const { request } = yield* upgrade(first, newer)
      assert.deepStrictEqual(firstMessageTexts(request), ["Material:\n\ntea is hot", "tea?"])
      assert.deepStrictEqual(toolNames(request), ["find_more", "weather"])
    })
  )

  it.effect("that is older reads a newer plan as far as it knows it", () =>
    Effect.gen(function* () {
      const { request } = yield* upgrade(newer, first)
      assert.deepStrictEqual(firstMessageTexts(request), ["Material:\n\ntea is hot", "tea?"])
    })
  )

  it.effect("that cannot read the plan is off for this run, and its plan stays with the run", () =>
    Effect.gen(function* () {
      const { request, run } = yield* upgrade(first, unreadable)
      assert.deepStrictEqual(firstMessageTexts(request), ["tea?"])
      assert.deepStrictEqual(toolNames(request), ["weather"])
      assert.deepInclude(run.plan, { parts: { finder: { query: "tea" } } })
    })
  )

  it.effect("that is gone is off for this run", () =>
    Effect.gen(function* () {
      const { request } = yield* upgrade(first, null)
      assert.deepStrictEqual(firstMessageTexts(request), ["tea?"])
    })
  )
})
