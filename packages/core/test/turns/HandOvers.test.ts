/** Conversations that are handed over in the middle of a turn, and the legs that follow. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, Crash, hang, pause, say, scripted, ScriptedModel } from "@colloquy/testing"
import {
  Assistants,
  type AssistantId,
  Kernel,
  noQuota,
  Principal,
  Providers,
  Quotas,
  Threads,
  type TurnPart,
  TurnParts,
  Turns
} from "@colloquy/core"
import { Helpers } from "@colloquy/core/helpers"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { failureFrom, openKernel, storedRun, story, transcript, weather } from "../support/Story.ts"
import { slowStores } from "../support/WatchedStores.ts"

const handoff = (assistantId: AssistantId, name: string) => ({ assistantId, name, description: `Goes on as ${name}` })

/** What the model was told with each of its calls: its instructions and the names of its tools. */
const asked = Effect.map(ScriptedModel, ({ requests }) =>
  requests.map(({ system, tools }) => [system, ...tools.map(({ name }) => name)])
)

describe("a conversation that is handed over", () => {
  story(
    "goes to the first of two that a step names",
    [
      callTools(["hand_off_to_second", { reason: "?" }, "1"], ["hand_off_to_third", { reason: "?" }, "2"]),
      say("I am here.")
    ],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const { id: second } = yield* assistants.create({ name: "second", systemPrompt: "Second" })
      const { id: third } = yield* assistants.create({ name: "third", systemPrompt: "Third" })
      const first = yield* assistants.create({
        name: "first",
        systemPrompt: "First",
        handoffs: [handoff(second, "second"), handoff(third, "third")]
      })
      const reply = yield* Turns.use((turns) => turns.send({ content: "Hi", assistantId: first.id }))
      assert.deepStrictEqual(
        (yield* asked).map(([system]) => system),
        ["First", "Second"]
      )
      assert.strictEqual(reply.assistantId, second)
      const { thread } = yield* Threads.use((threads) => threads.get(reply.threadId))
      assert.strictEqual(thread.actingAssistantId, second)
    }),
    { stores: slowStores(InMemory.makeState()) }
  )

  story(
    "goes on with the plan of the assistant that has it, also after it was given back",
    [
      callTool("hand_off_to_second", { reason: "?" }),
      callTool("weather", {}, "w1"),
      callTool("hand_back", { reason: "?" }),
      callTool("clock", {}, "c1"),
      say("Done.")
    ],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const turns = yield* Turns
      const { id: second } = yield* assistants.create({ name: "second", systemPrompt: "Second", tools: [weather] })
      const first = yield* assistants.create({
        name: "first",
        systemPrompt: "First",
        tools: [{ name: "clock", description: null, parameters: null }],
        handoffs: [handoff(second, "second")]
      })
      const { runId, threadId } = yield* turns.send({ content: "Hi", assistantId: first.id })
      yield* Effect.flatMap(
        turns.submitToolOutputs({ threadId, outputs: [{ toolCallId: "w1", output: "sunny" }] }),
        ({ reply }) => reply
      )
      const reply = yield* Effect.flatMap(
        turns.submitToolOutputs({ threadId, outputs: [{ toolCallId: "c1", output: "noon" }] }),
        (turn) => turn.reply
      )
      assert.deepInclude(reply, { content: "Done.", assistantId: first.id })
      assert.deepStrictEqual(yield* asked, [
        ["First", "hand_off_to_second", "clock"],
        ["Second", "hand_back", "weather"],
        ["Second", "hand_back", "weather"],
        ["First", "hand_off_to_second", "clock"],
        ["First", "hand_off_to_second", "clock"]
      ])
      assert.strictEqual((yield* storedRun({ threadId, runId })).status, "COMPLETED")
    })
  )

  story(
    "that was given back offers no way back in the legs that follow",
    [
      callTool("hand_off_to_second", { reason: "?" }),
      say("Second here."),
      callTool("hand_back", { reason: "?" }),
      callTool("clock", {}, "c1"),
      say("Done.")
    ],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const turns = yield* Turns
      const { id: second } = yield* assistants.create({ name: "second", systemPrompt: "Second" })
      const first = yield* assistants.create({
        name: "first",
        systemPrompt: "First",
        tools: [{ name: "clock", description: null, parameters: null }],
        handoffs: [handoff(second, "second")]
      })
      const { threadId } = yield* turns.send({ content: "Hi", assistantId: first.id })
      yield* turns.send({ content: "And now back", threadId })
      yield* Effect.flatMap(
        turns.submitToolOutputs({ threadId, outputs: [{ toolCallId: "c1", output: "noon" }] }),
        ({ reply }) => reply
      )
      assert.deepStrictEqual((yield* asked).slice(2), [
        ["Second", "hand_back"],
        ["First", "hand_off_to_second", "clock"],
        ["First", "hand_off_to_second", "clock"]
      ])
    })
  )

  story(
    "is answered anew by the assistant that has it, with that assistant's own instructions and tools",
    [callTool("hand_off_to_second", { reason: "?" }), say("Second here."), say("Second again.")],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const turns = yield* Turns
      const { id: second } = yield* assistants.create({ name: "second", systemPrompt: "Second", tools: [weather] })
      const first = yield* assistants.create({
        name: "first",
        systemPrompt: "First",
        modelOptions: { temperature: 0.5 },
        handoffs: [handoff(second, "second")]
      })
      const { messageId, threadId } = yield* turns.send({ content: "Hi", assistantId: first.id })
      const reply = yield* turns.send({ content: "", threadId, instead: { messageId, in: "place" } })
      assert.deepInclude(reply, { content: "Second again.", assistantId: second })
      const again = (yield* ScriptedModel).requests.at(-1)
      assert.deepStrictEqual((yield* asked).at(-1), ["Second", "hand_back", "weather"])
      assert.isUndefined(again?.sampling)
    })
  )

  it.effect("counts the limit of a run at the prices of the model that answers", () =>
    Effect.gen(function* () {
      const paced = Array.from({ length: 50 }, () => [say("word ".repeat(100)), pause("1 millis")])
      const provider = scripted([callTool("hand_off_to_second", { reason: "?" }), paced])
      const priced = (usd: number) => ({ inputCostPerMillionTokens: 0, outputCostPerMillionTokens: usd })
      const known = { ...provider, describe: (model: string) => priced(model === "dear" ? 1000 : 0.01) }
      const kernel = Helpers.layer().pipe(
        Layer.provideMerge(Kernel.layer),
        Layer.fresh,
        Layer.provide([
          Providers.layer({ providers: [known], defaults: { provider: known.id, model: "cheap" } }),
          Layer.succeed(Quotas, () => ({ ...noQuota, usdPerRun: 1 }))
        ]),
        Layer.provideMerge(InMemory.layer)
      )
      yield* Effect.gen(function* () {
        const assistants = yield* Assistants
        const { id: second } = yield* assistants.create({ name: "second", provider: known.id, model: "dear" })
        const first = yield* assistants.create({ name: "first", handoffs: [handoff(second, "second")] })
        const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", assistantId: first.id }))
        yield* TestClock.adjust("1 second")
        yield* turn.reply
        assert.strictEqual((yield* storedRun(turn)).fault?.code, "budget_exceeded")
        // A thousand tokens cost a dollar there.
        const [, [, , said] = assert.fail()] = yield* transcript(turn.threadId)
        assert.isBelow(said?.length ?? 0, 8000)
      }).pipe(Principal.provide("ada"), Effect.provide(kernel))
    })
  )

  it.effect("has follow-ups of the assistant that has it, also when its process died", () =>
    Effect.gen(function* () {
      const stores = InMemory.layerFrom(InMemory.makeState())
      const doom = yield* Crash.make()
      const one = yield* openKernel([callTool("hand_off_to_second", { reason: "?" }), [say("Half"), hang]], {
        stores: doom.stores(stores)
      })
      const ended: Array<AssistantId> = []
      const watching: TurnPart<boolean> = {
        name: "watching",
        plan: Schema.Boolean,
        decide: () => Effect.succeed({ plan: true }),
        followUps: (_, { assistantId }) => {
          ended.push(assistantId)
          return []
        }
      }
      yield* one.run(Layer.build(TurnParts.part(watching)))
      const assistants = yield* one.run(Assistants)
      const { id: second } = yield* assistants.create({ name: "second" })
      const first = yield* assistants.create({ name: "first", handoffs: [handoff(second, "second")] })
      const turn = yield* one.run(
        Turns.use((turns) => turns.start({ content: "Hi", assistantId: first.id, stream: true }))
      )
      yield* TestClock.adjust("1 second")
      doom.kill()
      yield* Effect.addFinalizer(() => doom.bury)
      const two = yield* openKernel([], { stores })
      yield* two.run(Layer.build(TurnParts.part(watching)))
      yield* TestClock.adjust("40 seconds")
      assert.deepInclude(yield* two.run(storedRun(turn)), { status: "FAILED" })
      assert.deepStrictEqual(ended, [second])
    }).pipe(Principal.provide("ada"))
  )

  it.effect("does not go on without a guard that has joined with the assistant that has it", () =>
    Effect.gen(function* () {
      const stores = InMemory.layerFrom(InMemory.makeState())
      const one = yield* openKernel([callTool("hand_off_to_second", { reason: "?" }), callTool("weather", {}, "w1")], {
        stores
      })
      yield* one.run(Layer.build(TurnParts.part(joining)))
      const assistants = yield* one.run(Assistants)
      const { id: second } = yield* assistants.create({ name: "second", tools: [weather] })
      const first = yield* assistants.create({ name: "first", handoffs: [handoff(second, "second")] })
      const { status, threadId } = yield* one.run(
        Turns.use((turns) => turns.send({ content: "Hi", assistantId: first.id }))
      )
      assert.strictEqual(status, "REQUIRES_ACTION")
      const submit = Turns.use((turns) =>
        turns.submitToolOutputs({ threadId, outputs: [{ toolCallId: "w1", output: "sunny" }] })
      )
      const without = yield* openKernel([], { stores })
      assert.deepInclude(yield* without.run(failureFrom(submit)), { _tag: "TurnRefused", reason: "absent" })
      const two = yield* openKernel([say("Sunny.")], { stores })
      yield* two.run(Layer.build(TurnParts.part(joining)))
      const { content } = yield* Effect.flatMap(two.run(submit), ({ reply }) => reply)
      assert.strictEqual(content, "SUNNY.")
    }).pipe(Principal.provide("ada"))
  )
})

/** Reviews the answers of assistants to which a conversation was handed over, and of no other. */
const joining: TurnPart<boolean> = {
  name: "joining",
  plan: Schema.Boolean,
  concerns: () => false,
  decide: () => Effect.succeed(null),
  handOver: () => true,
  review: () => ({ by: "whole", judge: ({ text }) => Effect.succeed({ _tag: "Change", text: text.toUpperCase() }) })
}
