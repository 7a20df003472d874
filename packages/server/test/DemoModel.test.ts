/** The demo model inside of a kernel, with its pauses on a test clock. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { say, ScriptedModel, TestKernel } from "@colloquy/testing"
import { HostedTools, Kernel, Principal, Providers, type TurnRequest, type TurnEvent, Turns } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { clock } from "../src/demo/Clock.ts"
import { demoModelName, demoProvider } from "../src/demo/DemoModel.ts"
import { demoObject } from "../src/demo/DemoObject.ts"

const defaults = { provider: "demo", model: demoModelName }
const kernel = HostedTools.tools([clock]).pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provide([Providers.layer({ providers: [demoProvider()], defaults }), InMemory.layer])
)

const inKernel = <A, E>(effect: Effect.Effect<A, E, Turns | Principal>) =>
  effect.pipe(Principal.provide("ada"), Effect.provide(kernel))

/** The events of one streamed turn, after all its pauses. */
const turnEvents = Effect.fnUntraced(function* (request: TurnRequest) {
  const turns = yield* Turns
  const turn = yield* turns.start({ ...request, stream: true })
  const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
  yield* TestClock.adjust("1 minute")
  return yield* Fiber.join(reading)
})

const replyTo = Effect.fnUntraced(function* (request: TurnRequest) {
  const turns = yield* Turns
  const sending = yield* Effect.forkChild(turns.send(request))
  yield* TestClock.adjust("1 minute")
  return yield* Fiber.join(sending)
})

const count = (events: Iterable<TurnEvent>, tag: TurnEvent["_tag"]) =>
  [...events].filter((event) => event._tag === tag).length

const weather = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["days"]
  }
}

describe("the demo model", () => {
  it.effect("says that it is a demo, word by word", () =>
    Effect.gen(function* () {
      const events = yield* turnEvents({ content: "Who are you?" })
      assert.isAbove(count(events, "TextDelta"), 10)
      assert.strictEqual(count(events, "ReasoningDelta"), 0)
      const end = events.at(-1)
      assert.include(end?._tag === "RunEnded" ? end.content : "", "I am Colloquy's demo model")
    }).pipe(inKernel)
  )

  it.effect("takes its time", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const sending = yield* Effect.forkChild(turns.send({ content: "count to 10" }))
      yield* TestClock.adjust("270 millis")
      assert.isUndefined(sending.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(sending)).content, "1 2 3 4 5 6 7 8 9 10")
    }).pipe(inKernel)
  )

  it.effect("reasons aloud when it is asked to think, and only then", () =>
    Effect.gen(function* () {
      const events = yield* turnEvents({ content: "count to 3", thinking: {} })
      assert.isAbove(count(events, "ReasoningDelta"), 3)
    }).pipe(inKernel)
  )

  it.effect("calls the hosted clock for the time", () =>
    Effect.gen(function* () {
      const reply = yield* replyTo({ content: "Hello! What time is it?" })
      assert.strictEqual(reply.status, "COMPLETED")
      assert.include(reply.content, "server_clock says: 1970-01-01T00:0")
    }).pipe(inKernel)
  )

  it.effect("has the clock alone: no other model is offered a tool that its user has not chosen", () =>
    Effect.gen(function* () {
      const real = yield* ScriptedModel
      yield* replyTo({ content: "What time is it?", provider: "scripted" })
      assert.deepStrictEqual(
        real.requests.map(({ tools }) => tools),
        [[]]
      )
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(
        HostedTools.tools([clock]).pipe(Layer.provideMerge(TestKernel.layer([say("It is late.")])), Layer.fresh)
      )
    )
  )

  it.effect("calls a client's tool by its name, with arguments of the right types, and tells its result", () =>
    Effect.gen(function* () {
      const first = yield* replyTo({ content: "Please get_weather", tools: [weather] })
      assert.strictEqual(first.status, "REQUIRES_ACTION")
      assert.deepStrictEqual(JSON.parse(first.toolCalls[0]?.arguments ?? ""), { days: 1 })
      const turns = yield* Turns
      const outputs = [{ toolCallId: first.toolCalls[0]?.id ?? "", output: "rain" }]
      const next = yield* turns.submitToolOutputs({ threadId: first.threadId, outputs })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* next.reply).content, "get_weather says: rain")
    }).pipe(inKernel)
  )

  it.effect("leaves a tool alone that nobody names", () =>
    Effect.gen(function* () {
      const reply = yield* replyTo({ content: "How is the weather?", tools: [weather] })
      assert.strictEqual(reply.status, "COMPLETED")
    }).pipe(inKernel)
  )

  it.effect("answers in JSON when JSON is wanted", () =>
    Effect.gen(function* () {
      const reply = yield* replyTo({ content: "Hello", jsonOutput: true })
      assert.deepStrictEqual(JSON.parse(reply.content), { demo: true, you_said: "Hello" })
    }).pipe(inKernel)
  )

  it.effect("names the options that change nothing at it", () =>
    Effect.gen(function* () {
      const reply = yield* replyTo({
        content: "Hi",
        thinking: { effort: "low", budgetTokens: 5 },
        routing: { sort: "price" }
      })
      const { ignored } = yield* (yield* Turns).report(reply.threadId, reply.runId)
      assert.deepStrictEqual(
        ignored.map(({ option }) => option),
        ["router", "thinking.effort", "thinking.budget_tokens"]
      )
    }).pipe(inKernel)
  )
})

describe("a value of a schema", () => {
  it("has the shape of the schema, with references, alternatives and depth", () => {
    const schema = {
      type: "object",
      properties: {
        item: { $ref: "#/$defs/item" },
        kinds: { type: "array", items: { enum: ["tea", "coffee"] } },
        size: { anyOf: [{ type: "integer", minimum: 3 }, { type: "null" }] },
        self: { $ref: "#" }
      },
      $defs: { item: { type: ["string", "null"], maxLength: 3 } }
    }
    const value = demoObject({ ...schema, properties: { ...schema.properties, self: { const: 1 } } }, "Two teas")
    assert.deepStrictEqual(value, { item: "Two", kinds: ["tea"], size: 3, self: 1 })
    assert.isBelow(JSON.stringify(demoObject(schema, "x")).length, 10_000)
  })

  it("has only what is required, where the schema says what that is, also within alternatives", () => {
    const properties = { url: { type: "string" }, id: { type: "integer" } }
    assert.deepStrictEqual(demoObject({ type: "object", properties, required: [] }, "x"), {})
    const either = [{ required: ["id"] }, { required: ["url"] }]
    assert.deepStrictEqual(demoObject({ type: "object", properties, anyOf: either }, "x"), { id: 1 })
  })
})
