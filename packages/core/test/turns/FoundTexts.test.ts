/** What parts and tools find: they rewrite it before they keep or tell it, the kernel rewrites the rest, and each text is rewritten once. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { type HostedTool, type LiveTurn, Principal, SpanContent, TurnParts, Turns } from "@colloquy/core"
import { spanContent } from "@colloquy/core/adapters"
import { part as plainPart, tool } from "@colloquy/core/promises"
import { callTool, say, ScriptedModel, type ScriptStep, TestKernel } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { TestClock } from "effect/testing"
import { makeGuard, partWith as part, secret } from "../support/Guarded.ts"
import { textIn } from "../support/StoredText.ts"
import { quiet } from "../support/Story.ts"

interface Options extends TestKernel.TestKernelOptions {
  readonly parts: ReadonlyArray<Layer.Layer<never, never, TurnParts>>
}

const ask = Effect.fnUntraced(function* (steps: ReadonlyArray<ScriptStep>, { parts, ...options }: Options) {
  const state = InMemory.makeState()
  const joined = parts.reduce((all, each) => Layer.merge(all, each))
  const kernel = joined.pipe(
    Layer.provideMerge(TestKernel.layer(steps, { ...options, stores: InMemory.layerFrom(state) })),
    Layer.fresh
  )
  const asked = Effect.gen(function* () {
    const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", stream: true }))
    const events = JSON.stringify(yield* Stream.runCollect(turn.events))
    const reply = yield* turn.reply
    const { explanation } = yield* Turns.use((turns) => turns.report(turn.threadId, turn.runId))
    const requests = JSON.stringify((yield* ScriptedModel).requests)
    return { reply, events, requests, stored: textIn(state), notes: explanation?.leftOut ?? [] }
  })
  return yield* asked.pipe(Principal.provide("ada"), Effect.provide([kernel, quiet]))
})

const rewriteBy = ({ rewriting }: LiveTurn, text: string) =>
  rewriting === null ? Effect.succeed(text) : rewriting.rewrite(text)

const prompt = (...texts: ReadonlyArray<string>) => [
  { name: "m", intro: "i", items: texts.map((text, rank) => ({ text, rank })), place: "turn" as const, weight: 1 }
]

/** Keeps and tells what it has found, and frames it for the model. */
const finder = part("finder", {
  recall: Effect.fnUntraced(function* (_, turn) {
    const found = yield* rewriteBy(turn, "found sk-4")
    turn.tell({ type: "found", data: { found } })
    turn.keep({ found })
    const framed = `Note: ${found}`
    turn.rewriting?.done(framed)
    return prompt(framed, found, "left sk-5 to the kernel")
  })
})

describe("a part that recalls", () => {
  it.effect("rewrites before it keeps and tells, and the kernel rewrites only the rest", () =>
    Effect.gen(function* () {
      const guard = makeGuard()
      const { events, reply, requests, stored } = yield* ask([say("Done.")], {
        parts: [TurnParts.part(guard.part), TurnParts.part(finder)]
      })
      assert.deepStrictEqual(reply.supplements["finder"], { found: "found [key]" })
      for (const text of [events, requests, stored]) assert.notMatch(text, secret)
      for (const text of ["Note: found [key]", "left [key] to the kernel"]) assert.include(requests, text)
      assert.deepStrictEqual(guard.found(), [
        ["recalled", "found sk-4"],
        ["recalled", "left sk-5 to the kernel"]
      ])
      assert.deepStrictEqual(guard.again(), [])
    })
  )

  it.effect("is told that no part rewrites", () =>
    Effect.map(ask([say("Done.")], { parts: [TurnParts.part(finder)] }), ({ reply }) =>
      assert.deepStrictEqual(reply.supplements["finder"], { found: "found sk-4" })
    )
  )

  it.effect("and cannot rewrite is left out, with a note that says so", () =>
    Effect.gen(function* () {
      const failing = part("guard", {
        rewrite: (text, { kind }) => (kind === "message" ? Effect.succeed(text) : Effect.die("a fault"))
      })
      const { notes, reply, stored } = yield* ask([say("Done.")], {
        parts: [TurnParts.part(failing), TurnParts.part(finder)]
      })
      assert.strictEqual(reply.content, "Done.")
      assert.notMatch(stored, secret)
      assert.deepInclude(notes, { part: "finder", messages: 0, tokens: 0, because: "it could not be checked" })
    })
  )

  it.effect("has the time of a guard besides its own", () =>
    Effect.gen(function* () {
      const slow = part("guard", {
        rewrite: (text, { kind }) => Effect.delay(Effect.succeed("…"), kind === "message" ? 0 : "12 seconds")
      })
      const asking = ask([say("Done.")], { parts: [TurnParts.part(slow), TurnParts.part(finder)] })
      const asked = yield* Effect.forkChild(asking, { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.include((yield* Fiber.join(asked)).requests, "Note: …")
    })
  )

  it.effect("as plain code has the same function", () =>
    Effect.gen(function* () {
      const guard = makeGuard()
      const plain = plainPart({
        name: "plain",
        recall: async (turn) => {
          const text = await turn.rewrite("plain sk-8")
          turn.keep({ text })
          return text
        }
      })
      const guarded = yield* ask([say("Done.")], { parts: [TurnParts.part(guard.part), plain] })
      assert.deepStrictEqual(guarded.reply.supplements["plain"], { text: "plain [key]" })
      assert.notMatch(guarded.stored, secret)
      assert.deepStrictEqual([guard.found().length, guard.again().length], [1, 0])
      const free = yield* ask([say("Done.")], { parts: [plain] })
      assert.deepStrictEqual(free.reply.supplements["plain"], { text: "plain sk-8" })
    })
  )
})

describe("a hosted tool", () => {
  const look: HostedTool = {
    definition: { name: "look", description: null, parameters: null },
    run: Effect.fnUntraced(function* (_, call) {
      const found = yield* Effect.orDie(rewriteBy(call, "found sk-6"))
      call.keep({ found })
      const output = `Result: ${found}`
      call.rewriting?.done(output)
      return output
    })
  }
  const dump = (output: string): HostedTool => ({ ...look, run: () => Effect.succeed(output) })
  const steps = [callTool("look", {}, "c1"), say("Done.")]

  it.effect("rewrites what it keeps, and its output is not rewritten again", () =>
    Effect.gen(function* () {
      const guard = makeGuard()
      const { events, reply, requests, stored } = yield* ask(steps, {
        parts: [TurnParts.part(guard.part)],
        hosted: [look]
      })
      assert.deepStrictEqual(reply.supplements["tools"], { found: "found [key]" })
      for (const text of [events, requests, stored]) assert.notMatch(text, secret)
      assert.include(requests, "Result: found [key]")
      assert.deepStrictEqual(guard.found(), [["tool_output", "found sk-6"]])
      assert.deepStrictEqual(guard.again(), [])
    })
  )

  it.effect("as plain code has a function for what it keeps", () =>
    Effect.gen(function* () {
      const guard = makeGuard()
      const plain = tool({
        name: "look",
        description: "Looks",
        parameters: { type: "object" },
        execute: async (_, turn) => {
          const found = await turn.rewrite("found sk-6")
          turn.keep({ found })
          return found
        }
      })
      const guarded = yield* ask(steps, { parts: [TurnParts.part(guard.part)], hosted: [plain] })
      assert.deepStrictEqual(guarded.reply.supplements["tools"], { found: "found [key]" })
      assert.notMatch(guarded.stored, secret)
      assert.deepStrictEqual([guard.found().length, guard.again().length], [1, 0])
      const free = yield* ask(steps, { parts: [Layer.empty], hosted: [plain] })
      assert.deepStrictEqual(free.reply.supplements["tools"], { found: "found sk-6" })
    })
  )

  it.effect("has an output that is rewritten before it is cut", () =>
    Effect.gen(function* () {
      const guard = part("guard", {
        rewrite: (text) => Effect.succeed(text.replace(/BEGIN[\s\S]*?END/gu, "[key]"))
      })
      const { requests } = yield* ask(steps, {
        parts: [TurnParts.part(guard)],
        hosted: [dump(`${"a".repeat(10)}BEGIN abc END${"b".repeat(50)}`)],
        settings: { maxToolResult: 20 }
      })
      assert.notInclude(requests, "BEGIN")
      assert.include(requests, `"aaaaaaaaaa[key]bbbbb"`)
    })
  )

  it.effect("has an output in its span that is rewritten, where the host asks for content", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      yield* ask(steps, { parts: [TurnParts.part(makeGuard().part)], hosted: [dump("sk-7")] }).pipe(
        Effect.withTracer(tracer),
        Effect.provideService(SpanContent, spanContent)
      )
      const span = spans.find(({ name }) => name === "execute_tool look")
      assert.strictEqual(span?.attributes.get("gen_ai.tool.call.result"), "[key]")
    })
  )
})
