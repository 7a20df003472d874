import { callTool, fail, finish, gate, say, ScriptedModel, think, uses } from "@colloquy/testing"
import { spanContent } from "@colloquy/core/adapters"
import { type HostedTool, SpanContent, Threads, Turns } from "@colloquy/core"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Tracer from "effect/Tracer"
import { story, weather } from "../support/Story.ts"

/** Remembers every span; the kernel under test is built inside. */
const recorder = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const named = (name: string) => spans.filter((span) => span.name === name)
  const attributes = (name: string) => Object.fromEntries(named(name)[0]?.attributes ?? [])
  return { spans, tracer, named, attributes }
}

const secret = "top-secret"
const hosted: HostedTool = {
  definition: { name: "look", description: secret, parameters: null },
  run: () => Effect.succeed(secret)
}

const spansInTool: Array<Tracer.AnySpan | undefined> = []

describe("without a tracer", () => {
  story(
    "no span is made: neither for the use case nor for the leg, the model or the tool",
    [callTool("look", {}, "c1"), say("Done.")],
    Effect.gen(function* () {
      const seen: Array<Tracer.AnySpan | undefined> = []
      const here = Effect.withFiber((fiber) => Effect.sync(() => void seen.push(fiber.cache.span)))
      yield* here
      const turns = yield* Turns
      const reply = yield* turns.send({ content: "Hi" })
      assert.strictEqual(reply.status, "COMPLETED")
      assert.deepStrictEqual([...seen, ...spansInTool], [undefined, undefined])
    }),
    {
      hosted: [
        {
          ...hosted,
          run: () =>
            Effect.withFiber((fiber) => {
              spansInTool.push(fiber.cache.span)
              return Effect.succeed("seen")
            })
        }
      ]
    }
  )
})

describe("spans", () => {
  const record = recorder()
  story(
    "follow the GenAI conventions for the model call and the tool, under the use case and the leg",
    [
      [callTool("look", { secret }, "c1"), uses({ inputTokens: 5, outputTokens: 2, cachedInputTokens: 1 })],
      [think(secret), say(secret), finish("stop", "real-model")]
    ],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: secret, systemPrompt: secret })
      yield* (yield* Turns).drain
      yield* (yield* Threads).get(reply.threadId)
      assert.deepStrictEqual(record.attributes("chat scripted-model"), {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted-model",
        "gen_ai.conversation.id": reply.threadId,
        "gen_ai.request.stream": true,
        "gen_ai.response.time_to_first_chunk": 0,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 1,
        "gen_ai.usage.reasoning.output_tokens": 0
      })
      const second = record.named("chat scripted-model")[1]
      assert.strictEqual(second?.kind, "client")
      assert.strictEqual(second?.attributes.get("gen_ai.response.model"), "real-model")
      assert.deepStrictEqual(record.attributes("execute_tool look"), {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1"
      })
      for (const name of ["Turns.start", "invoke_agent", "Threads.get"])
        assert.strictEqual(record.named(name).length, 1, name)
      assert.deepStrictEqual(record.attributes("invoke_agent"), {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted-model",
        "gen_ai.conversation.id": reply.threadId,
        "colloquy.run.id": reply.runId,
        "colloquy.assistant.id": reply.assistantId
      })
      assert.isTrue(record.spans.every((span) => span.status._tag === "Ended"))
    }).pipe(Effect.withTracer(record.tracer)),
    { hosted: [hosted] }
  )

  story(
    "hold no prompt, transcript, argument or output",
    [],
    Effect.sync(() => {
      const all = record.spans.map((span) => [span.name, [...span.attributes], span.events])
      assert.isAbove(all.length, 5)
      assert.notInclude(JSON.stringify(all), secret)
    })
  )

  const open = recorder()
  story(
    "carry prompts, answers, arguments and results where the host asks for them, and the settings of the answer",
    [callTool("look", { at: "Oslo" }, "c1"), say("It rains.")],
    Effect.gen(function* () {
      const modelOptions = { temperature: 0.5, seed: 7, stop: ["END"], maxOutputTokens: 50 }
      yield* (yield* Turns).send({ content: "Weather?", systemPrompt: "Be kind.", modelOptions })
      const [first = {}, second = {}] = open
        .named("chat scripted-model")
        .map(({ attributes }) => Object.fromEntries(attributes))
      assert.deepInclude(first, {
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.seed": 7,
        "gen_ai.request.stop_sequences": ["END"],
        "gen_ai.request.max_tokens": 50,
        "gen_ai.system_instructions": '[{"type":"text","content":"Be kind."}]',
        "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Weather?"}]}]'
      })
      const call = { type: "tool_call", id: "c1", name: "look", arguments: '{"at":"Oslo"}' }
      assert.deepStrictEqual(JSON.parse(String(first["gen_ai.output.messages"])), [
        { role: "assistant", parts: [call], finish_reason: "tool_calls" }
      ])
      assert.deepStrictEqual(JSON.parse(String(second["gen_ai.input.messages"])).at(-1), {
        role: "tool",
        parts: [{ type: "tool_call_response", id: "c1", response: secret }]
      })
      assert.include(String(second["gen_ai.output.messages"]), "It rains.")
      assert.deepInclude(open.attributes("execute_tool look"), {
        "gen_ai.tool.call.arguments": '{"at":"Oslo"}',
        "gen_ai.tool.call.result": secret
      })
    }).pipe(Effect.withTracer(open.tracer), Effect.provideService(SpanContent, spanContent)),
    { hosted: [hosted] }
  )

  const failed = recorder()
  story(
    "say how a model call failed",
    [fail("auth")],
    Effect.gen(function* () {
      yield* (yield* Turns).send({ content: "Hi" })
      assert.deepInclude(failed.attributes("chat scripted-model"), { "error.type": "auth" })
    }).pipe(Effect.withTracer(failed.tracer))
  )

  const deltas = recorder()
  story(
    "are as many for a thousand deltas as for one",
    [say("a"), say(...Array.from({ length: 1000 }, () => "a"))],
    Effect.gen(function* () {
      const turns = yield* Turns
      yield* turns.send({ content: "1" })
      const few = deltas.spans.length
      yield* turns.send({ content: "2" })
      assert.strictEqual(deltas.spans.length, 2 * few)
    }).pipe(Effect.withTracer(deltas.tracer))
  )
})

const metricSum = (state: object) => ("sum" in state ? state.sum : null)

/** What the metrics of a name have counted, with the attributes of each. */
const counted = (name: string) =>
  Effect.map(Metric.snapshot, (all): Array<Readonly<Record<string, unknown>>> =>
    all.flatMap((metric) =>
      metric.id === name && (metric.type === "Counter" || metric.type === "Histogram")
        ? [{ ...metric.attributes, count: Number(metric.state.count), sum: metricSum(metric.state) }]
        : []
    )
  )

describe("metrics", () => {
  story(
    "count turns by their end, tokens by kind, and the times to the first event and in the queue",
    [
      [gate(), say("a"), uses({ inputTokens: 5, outputTokens: 2 })],
      fail("auth"),
      [callTool("weather"), uses({ inputTokens: 7, outputTokens: 3 })]
    ],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* turns.start({ content: "1" })
      const { threadId } = first
      yield* (yield* ScriptedModel).reached()
      const second = yield* Effect.forkChild(turns.send({ content: "2", threadId }), { startImmediately: true })
      yield* (yield* ScriptedModel).release()
      yield* Fiber.join(second)
      yield* turns.send({ content: "3", threadId, tools: [weather] })
      yield* turns.drain
      const model = { "gen_ai.provider.name": "scripted", "gen_ai.request.model": "scripted-model" }
      const chat = { ...model, "gen_ai.operation.name": "chat" }
      assert.sameDeepMembers(yield* counted("colloquy.turns"), [
        { ...model, status: "COMPLETED", count: 1, sum: null },
        { ...model, status: "FAILED", count: 1, sum: null },
        { ...model, status: "REQUIRES_ACTION", count: 1, sum: null }
      ])
      const tokens = { ...chat, unit: "{token}", count: 2 }
      assert.sameDeepMembers(yield* counted("gen_ai.client.token.usage"), [
        { ...tokens, "gen_ai.token.type": "input", sum: 12 },
        { ...tokens, "gen_ai.token.type": "output", sum: 5 }
      ])
      const firstChunk = yield* counted("gen_ai.client.operation.time_to_first_chunk")
      assert.deepStrictEqual(firstChunk, [{ ...chat, unit: "s", count: 2, sum: 0 }])
      assert.sameDeepMembers(yield* counted("gen_ai.client.operation.duration"), [
        { ...chat, unit: "s", count: 2, sum: 0 },
        { ...chat, unit: "s", count: 1, sum: 0, "error.type": "auth" }
      ])
      assert.deepStrictEqual(yield* counted("colloquy.turn.queue_time"), [{ count: 1, sum: 0 }])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
