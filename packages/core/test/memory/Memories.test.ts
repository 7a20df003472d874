/** Memories written by hand: the use cases over the in-memory store. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Assistants, Principal } from "@colloquy/core"
import { Memories, MemoryId } from "@colloquy/core/memory"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { quiet } from "../support/Story.ts"
import { type Body, memoryKernel, remembered } from "./MemoryKernel.ts"

const test = (title: string, body: Body) =>
  it.effect(title, () =>
    body.pipe(Principal.provide("ada"), Effect.provide([memoryKernel([], InMemory.makeState()), quiet]))
  )

const openAssistant = Effect.flatMap(Assistants, (assistants) => assistants.create({ name: "A" })).pipe(
  Effect.map(({ id }) => id)
)

describe("Memories", () => {
  test(
    "keep a text verbatim, answer a copy with the one that is there, and change it with its metadata left",
    Effect.gen(function* () {
      const memories = yield* Memories
      const a = yield* openAssistant
      const first = yield* memories.add(a, { content: "  I like  TEA! ", metadata: { by: "hand" } })
      assert.deepInclude(first, { content: "  I like  TEA! ", source: null, metadata: { by: "hand" } })
      assert.deepStrictEqual(yield* memories.add(a, { content: "i like tea" }), first)
      const other = yield* memories.add(a, { content: "I like coffee." })
      const changed = yield* memories.update(a, first.id, { content: "I like mate." })
      assert.deepInclude(changed, { content: "I like mate.", metadata: { by: "hand" } })
      assert.deepInclude(yield* Effect.flip(memories.update(a, other.id, { content: "i like mate" })), {
        reason: "copy"
      })
      assert.deepStrictEqual(
        (yield* memories.update(a, first.id, { content: "I like mate.", metadata: null })).metadata,
        null
      )
      assert.strictEqual((yield* memories.history(a, first.id)).length, 2)
      const [hit] = yield* memories.search(a, "who likes mate", 5)
      assert.deepInclude(hit, { score: 1 })
      assert.strictEqual(hit?.memory.id, first.id)
      assert.deepStrictEqual(yield* memories.remove(a, first.id), { memories: 1, versions: 2 })
      for (const call of [memories.get, memories.history, memories.remove]) {
        assert.strictEqual(
          (yield* Effect.flip(Effect.asVoid<unknown, { readonly _tag: string }, Principal>(call(a, first.id))))._tag,
          "MemoryNotFound"
        )
      }
      assert.strictEqual((yield* memories.stats(a)).total, 1)
      assert.deepStrictEqual(yield* memories.forgetAll(a), { memories: 1, versions: 0 })
      assert.deepStrictEqual(yield* memories.stats(a), { total: 0, lastUpdated: null })
    })
  )

  for (const [content, reason] of [
    ["", "empty"],
    [" … ", "empty"],
    ["word ".repeat(900), "too_long"],
    ["My password is hunter22.", "secret"]
  ] as const) {
    test(
      `refuse what is ${reason}: ${JSON.stringify(content.slice(0, 20))}`,
      Effect.gen(function* () {
        const memories = yield* Memories
        const a = yield* openAssistant
        assert.deepInclude(yield* Effect.flip(memories.add(a, { content })), { _tag: "MemoryUnusable", reason })
        const { id } = yield* memories.add(a, { content: "fine" })
        assert.deepInclude(yield* Effect.flip(memories.update(a, id, { content })), { _tag: "MemoryUnusable", reason })
        assert.deepStrictEqual(yield* remembered(a), ["fine"])
      })
    )
  }

  for (const [systemPrompt, content, found, notFound] of [
    [null, "Ada lives in Oslo.", ["Where do I live?", "living", "OSLO"], ["in", "What is in it?", "wer ist in der"]],
    [null, "Ada hates war.", ["Who hated wars?", "war"], ["Was ist das?"]],
    ["Du bist ein Helfer und antwortest auf Deutsch.", "Ada mag Katzen.", ["Eine Katze?"], ["was ist in der"]],
    [
      "Tu es un assistant qui aide dans la langue de Ada.",
      "Ada aime le chocolat.",
      ["Qui aimait les chocolats ?"],
      ["le"]
    ]
  ] as const) {
    test(
      `of a few words are found by other forms of them, and never by words that say nothing: ${content}`,
      Effect.gen(function* () {
        const memories = yield* Memories
        const { id } = yield* (yield* Assistants).create({ name: "A", systemPrompt })
        yield* memories.add(id, { content })
        for (const query of found) assert.strictEqual((yield* memories.search(id, query, 5)).length, 1, query)
        for (const query of notFound) assert.strictEqual((yield* memories.search(id, query, 5)).length, 0, query)
      })
    )
  }

  test(
    "go out and come in as JSON lines, all or none",
    Effect.gen(function* () {
      const memories = yield* Memories
      const [a, b] = [yield* openAssistant, yield* openAssistant]
      yield* memories.add(a, { content: 'Line\n"one" \u2028 🏳️‍🌈', metadata: { deep: [1, { a: null }] } })
      yield* memories.add(a, { content: "Two." })
      const lines = yield* memories.export(a)
      assert.strictEqual(lines.trimEnd().split("\n").length, 2)
      assert.deepStrictEqual(yield* memories.import(b, lines), { imported: 2, skipped: 0 })
      assert.deepStrictEqual(yield* memories.import(b, `${lines}\r\n\n${lines}`), { imported: 0, skipped: 4 })
      assert.strictEqual(yield* memories.export(b), lines)
      assert.deepStrictEqual((yield* memories.list(b, { skip: 1, limit: 5 })).total, 2)
      const wrong =
        '{"content": "Three."}\n\n{"content": 3}\nnot json\n{"content": "x", "from": "soon"}\n{"content": "!"}'
      const error = yield* Effect.flip(memories.import(b, wrong))
      if (error._tag !== "MemoryLinesUnusable") throw error
      assert.deepStrictEqual(
        error.problems.map(({ line }) => line),
        [3, 4, 5, 6]
      )
      assert.strictEqual((yield* memories.stats(b)).total, 2)
    })
  )

  test(
    "leave time for everything else while many of them come in",
    Effect.gen(function* () {
      const memories = yield* Memories
      const id = yield* openAssistant
      const lines = Array.from({ length: 400 }, (_, at) =>
        JSON.stringify({ content: `${at} ${"sk-a ".repeat(700)}` })
      ).join("\n")
      let turns = 0
      const other = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => turns++)
          )
        ),
        { startImmediately: true }
      )
      assert.deepStrictEqual(yield* memories.import(id, lines), { imported: 400, skipped: 0 })
      yield* Fiber.interrupt(other)
      // The lines are looked at in steps, and indexed in steps.
      assert.isAtLeast(turns, 10)
      const manyFaults = yield* Effect.flip(memories.import(id, "x\n".repeat(100_000)))
      assert.strictEqual(manyFaults._tag === "MemoryLinesUnusable" ? manyFaults.problems.length : 0, 100)
    })
  )

  test(
    "go with a clone of the assistant, without what they said before, and each is its own from then on",
    Effect.gen(function* () {
      const memories = yield* Memories
      const assistants = yield* Assistants
      const a = yield* openAssistant
      const { id } = yield* memories.add(a, { content: "Tea.", metadata: { by: "hand" } })
      yield* memories.update(a, id, { content: "Mate." })
      yield* memories.add(a, { content: "Cats." })
      const { assistant, copied } = yield* assistants.clone(a, {})
      assert.deepStrictEqual(copied, { memories: 2 })
      assert.deepStrictEqual(yield* remembered(assistant.id), ["Mate.", "Cats."])
      const [copy] = (yield* memories.list(assistant.id, null)).memories
      if (copy === undefined) return assert.fail("There is no copy.")
      assert.deepStrictEqual([copy.metadata, copy.id === id], [{ by: "hand" }, false])
      assert.deepStrictEqual(yield* memories.history(assistant.id, copy.id), [])
      yield* memories.forgetAll(a)
      assert.strictEqual((yield* memories.search(assistant.id, "mate", 5)).length, 1)
      const without = yield* assistants.clone(assistant.id, { without: ["memories"] })
      assert.deepStrictEqual([without.copied, yield* remembered(without.assistant.id)], [{}, []])
    })
  )

  test(
    "of others look as if there were none",
    Effect.gen(function* () {
      const memories = yield* Memories
      const a = yield* openAssistant
      const { id } = yield* memories.add(a, { content: "mine" })
      yield* Principal.provide("grace")(
        Effect.gen(function* () {
          const b = yield* openAssistant
          const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }, Principal>> = [
            memories.list(a, null),
            memories.get(a, id),
            memories.add(a, { content: "x" }),
            memories.update(a, id, { content: "x" }),
            memories.remove(a, id),
            memories.forgetAll(a),
            memories.search(a, "mine", 5),
            memories.stats(a),
            memories.export(a),
            memories.import(a, '{"content": "x"}')
          ]
          for (const call of calls) {
            assert.strictEqual((yield* Effect.flip(call))._tag, "AssistantNotFound")
          }
          assert.strictEqual((yield* Effect.flip(memories.get(b, id)))._tag, "MemoryNotFound")
          assert.strictEqual((yield* Effect.flip(memories.remove(b, MemoryId.make("x"))))._tag, "MemoryNotFound")
        })
      )
      assert.deepStrictEqual(yield* remembered(a), ["mine"])
    })
  )
})
