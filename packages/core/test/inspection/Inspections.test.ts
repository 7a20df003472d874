/** A run is looked at afterwards: its steps with their times, and the prompt as the model read it. In virtual time. */
import { callTool, fail, gate, say, ScriptedModel, TestKernel, uses } from "@colloquy/testing"
import {
  Assistants,
  HostedTools,
  Principal,
  RunNotFound,
  ThreadId,
  TurnParts,
  Turns,
  type HostedTool
} from "@colloquy/core"
import { newId } from "@colloquy/core/adapters"
import { Inspections } from "@colloquy/core/inspection"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { failureFrom, quiet, story } from "../support/Story.ts"

const inspections = Effect.provide(Inspections, Inspections.layer())

const slowTool: HostedTool = {
  definition: { name: "look_up", description: "Looks it up", parameters: { type: "object", properties: {} } },
  run: () => Effect.delay(Effect.succeed("rain"), "3 seconds")
}

const recaller = TurnParts.part({
  name: "recaller",
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null }),
  recall: () =>
    Effect.delay(
      Effect.succeed([
        { name: "notes", intro: "Notes:", items: [{ text: "It often rains.", rank: 0 }], place: "turn", weight: 1 }
      ] as const),
      "2 seconds"
    )
})

const lengths = (
  steps: ReadonlyArray<{ readonly kind: string; readonly startedAt: number | null; readonly endedAt: number | null }>
) =>
  steps.map(({ endedAt, kind, startedAt }) => [
    kind,
    startedAt === null || endedAt === null ? null : endedAt - startedAt
  ])

const weather = {
  name: "get_weather",
  description: null,
  parameters: { type: "object", properties: {} }
}

describe("the inspection of a run", () => {
  it.effect("tells each step with its time, and what the model read", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const { inspect } = yield* inspections
      const { id } = yield* (yield* Assistants).create({ name: "a", systemPrompt: "Be short." })
      const first = yield* Effect.forkChild(turns.send({ content: "Hi", assistantId: id }))
      yield* TestClock.adjust("2 seconds")
      const { threadId } = yield* Fiber.join(first)
      const model = yield* ScriptedModel
      const fiber = yield* Effect.forkChild(turns.send({ content: "Rain?", threadId }))
      yield* TestClock.adjust("2 seconds")
      yield* model.reached()
      yield* TestClock.adjust("5 seconds")
      yield* model.release()
      yield* TestClock.adjust("3 seconds")
      const { runId } = yield* Fiber.join(fiber)
      const { charges, prompts, steps } = yield* inspect(threadId, runId)
      assert.deepStrictEqual(charges, [])
      assert.deepStrictEqual(lengths(steps), [
        ["recall", 2000],
        ["model", 5000],
        ["tool", 3000],
        ["model", 0],
        ["settle", 0]
      ])
      assert.deepStrictEqual(
        steps.map(({ name }) => name),
        [null, "scripted-model", "look_up", "scripted-model", null]
      )
      assert.deepInclude(steps[1]?.usage, { inputTokens: 9, outputTokens: 4 })
      const requests = model.requests.at(-1)
      assert.deepStrictEqual(
        prompts.map(({ inputTokens, parts }) => [inputTokens, parts.at(-1)?.messages.map(({ text }) => text)]),
        [
          [9, ["Rain?"]],
          [10, ["Rain?", "look_up{}", "rain"]]
        ]
      )
      for (const { estimatedTokens, parts } of prompts) {
        assert.strictEqual(
          estimatedTokens,
          parts.reduce((sum, part) => sum + part.estimatedTokens, 0)
        )
      }
      const texts = new Map(prompts.at(-1)?.parts.map(({ messages, part }) => [part, messages]))
      assert.deepStrictEqual([...texts.keys()], ["system", "tools", "history", "notes", "turn"])
      assert.deepStrictEqual(texts.get("system"), [{ role: "system", text: requests?.system ?? "" }])
      assert.deepStrictEqual(texts.get("tools"), [{ role: "system", text: JSON.stringify(requests?.tools[0]) }])
      assert.deepStrictEqual(texts.get("history"), [
        { role: "user", text: "Hi" },
        { role: "assistant", text: "Hello." }
      ])
      assert.deepStrictEqual(texts.get("notes"), [{ role: "user", text: "Notes:\n\nIt often rains." }])
      assert.deepStrictEqual(
        texts.get("turn")?.map(({ role, text }) => [role, text]),
        [
          ["user", "Rain?"],
          ["assistant", "look_up{}"],
          ["tool", "rain"]
        ]
      )
    }).pipe(
      Principal.provide("ada"),
      Effect.provide([
        Layer.fresh(
          Layer.merge(recaller, HostedTools.tools([slowTool])).pipe(
            Layer.provideMerge(
              TestKernel.layer([
                say("Hello."),
                [gate(), callTool("look_up", {}), uses({ inputTokens: 9, outputTokens: 4 })],
                say("Yes.")
              ])
            )
          )
        ),
        quiet
      ])
    )
  )

  story(
    "tells how long the client took",
    [callTool("get_weather", {}), say("Sunny.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { inspect } = yield* inspections
      const { id } = yield* (yield* Assistants).create({ name: "a", tools: [weather] })
      const open = yield* turns.send({ content: "Weather?", assistantId: id })
      const waiting = yield* inspect(open.threadId, open.runId)
      assert.deepStrictEqual(lengths(waiting.steps), [
        ["recall", 0],
        ["model", 0]
      ])
      yield* TestClock.adjust("7 seconds")
      const outputs = [{ toolCallId: open.toolCalls[0]?.id ?? "", output: "sun" }]
      const turn = yield* turns.submitToolOutputs({ threadId: open.threadId, runId: open.runId, outputs })
      yield* turn.reply
      const { prompts, steps } = yield* inspect(open.threadId, open.runId)
      assert.deepStrictEqual(
        prompts.map(({ parts }) => parts.at(-1)?.messages.map(({ text }) => text)),
        [["Weather?"], ["Weather?", "get_weather{}", "sun"]]
      )
      assert.deepStrictEqual(lengths(steps), [
        ["recall", 0],
        ["model", 0],
        ["client", 7000],
        ["model", 0],
        ["settle", 0]
      ])
    })
  )

  story(
    "of a run that failed ends with the model call that failed, and of an unknown run there is none",
    [fail("auth")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { inspect } = yield* inspections
      const fiber = yield* Effect.forkChild(turns.send({ content: "Hi" }))
      yield* TestClock.adjust("1 minute")
      const { runId, threadId } = yield* Fiber.join(fiber)
      const { steps } = yield* inspect(threadId, runId)
      assert.strictEqual(steps.at(-1)?.kind, "model")
      assert.isNotNull(steps.at(-1)?.endedAt ?? null)
      const elsewhere = yield* failureFrom(inspect(yield* newId(ThreadId), runId))
      assert.instanceOf(elsewhere, RunNotFound)
      assert.instanceOf(yield* failureFrom(Principal.provide("bob")(inspect(threadId, runId))), RunNotFound)
    })
  )
})
