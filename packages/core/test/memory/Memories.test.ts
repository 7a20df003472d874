/** Memories written by hand: the use cases over the in-memory store. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Assistants, noQuota, Principal, Quotas } from "@colloquy/core"
import { Memories, MemoryId, MemoryStore } from "@colloquy/core/memory"
import { prepareTurns } from "@colloquy/core/retrieval"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
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
    "of a session are found by the words beside them, as long as these are there",
    Effect.gen(function* () {
      const memories = yield* Memories
      const a = yield* openAssistant
      const contents = (query: string) =>
        Effect.map(memories.search(a, query, 10), (hits) => hits.map(({ memory }) => memory.content).toSorted())
      const say = (content: string, minute: number, session = "s") =>
        memories.add(a, { content, session, speaker: "Mira", saidAt: new Date(Date.UTC(2026, 4, 3, 10, minute)) })
      const asked = yield* say("Did the kittens arrive?", 1)
      const yes = yield* say("Yes, three of them!", 2)
      yield* say("Lovely.", 3)
      yield* say("Nothing about that.", 4)
      yield* say("Another day.", 2, "another")
      assert.deepStrictEqual(yield* contents("How many kittens?"), [
        "Did the kittens arrive?",
        "Lovely.",
        "Yes, three of them!"
      ])
      assert.strictEqual((yield* contents("What did Mira say on 3 May 2026?")).length, 5)
      // Said later, but about an earlier moment.
      yield* say("They are all black.", 2)
      assert.include(yield* contents("kittens"), "They are all black.")
      assert.notInclude(yield* contents("kittens"), "Lovely.")
      yield* memories.update(a, asked.id, { content: "Did the puppies arrive?" })
      assert.deepStrictEqual(yield* contents("kittens"), [])
      assert.strictEqual((yield* contents("puppies")).length, 3)
      yield* memories.update(a, asked.id, { content: "Did the puppies arrive?", session: "another" })
      assert.deepStrictEqual(yield* contents("puppies"), ["Another day.", "Did the puppies arrive?"])
      assert.include(yield* contents("three"), "They are all black.")
      yield* memories.remove(a, yes.id)
      assert.deepStrictEqual(yield* contents("three"), [])
    })
  )

  test(
    "go through lines with when, where and by whom they were said, and names that are none are refused",
    Effect.gen(function* () {
      const memories = yield* Memories
      const a = yield* openAssistant
      const lines = ["Did the kittens arrive?", "Yes, three!", "Lovely."].map((content, at) =>
        JSON.stringify({ content, session: "s", said_at: `2026-05-0${at + 1}`, speaker: "Mira" })
      )
      yield* memories.import(a, lines.join("\n"))
      const exported = (yield* memories.export(a)).trimEnd().split("\n")
      assert.deepInclude(JSON.parse(exported[1] ?? ""), {
        content: "Yes, three!",
        session: "s",
        said_at: "2026-05-02T00:00:00.000Z",
        speaker: "Mira"
      })
      assert.strictEqual((yield* memories.search(a, "kittens", 5)).length, 3)
      const [line, ...problems] = ["", "x".repeat(256)].map((session) => JSON.stringify({ content: "x", session }))
      const wrong = [line, ...problems, '{"content": "y", "said_at": "soon"}'].join("\n")
      const error = yield* Effect.flip(memories.import(a, wrong))
      if (error._tag !== "MemoryLinesUnusable") throw error
      assert.lengthOf(error.problems, 3)
      assert.deepInclude(yield* Effect.flip(memories.add(a, { content: "y", speaker: " " })), { reason: "name" })
    })
  )

  test(
    "are asked for what was true at a time: what had not begun or was over is left out, and an earlier text is told",
    Effect.gen(function* () {
      const memories = yield* Memories
      const store = yield* MemoryStore
      const a = yield* openAssistant
      const line = (content: string, from?: string, until?: string) => JSON.stringify({ content, from, until })
      yield* memories.import(
        a,
        [
          line("The user lives in Oslo.", "2020-01-01"),
          line("The user lives on a boat.", "2026-05-01", "2026-06-01"),
          line("The user lives with a cat."),
          line("The user will live alone.", "2027-01-01")
        ].join("\n")
      )
      const at = Effect.fnUntraced(function* (time: string | null, limit = 10) {
        const hits = yield* memories.search(
          a,
          "Where does the user live?",
          limit,
          time === null ? null : new Date(time)
        )
        return hits.map(({ memory }) => memory.content).toSorted()
      })
      const [oslo, boat, cat, alone] = (yield* memories.list(a, null)).memories
      if (oslo === undefined) throw new Error("Nothing was imported.")
      assert.deepStrictEqual(yield* at(null), [boat, cat, alone, oslo].map((each) => each?.content ?? "").toSorted())
      assert.deepStrictEqual(yield* at("2026-05-15"), [oslo, boat, cat].map((each) => each?.content ?? "").toSorted())
      assert.deepStrictEqual(yield* at("2026-06-01"), [oslo, cat].map((each) => each?.content ?? "").toSorted())
      assert.deepStrictEqual(yield* at("2019-01-01"), [cat?.content ?? ""])
      const moved = { ...oslo, content: "The user moved from Oslo to Bergen.", validFrom: new Date("2026-07-01") }
      const indexed = { ...prepareTurns([{ text: moved.content, label: "", context: "", said: null }]), vectors: null }
      const changes = [{ _tag: "Update", memory: moved, indexed } as const]
      yield* store.apply({ assistantId: a, changes, beside: [], learned: null, at: new Date("2026-07-02") })
      const then = yield* memories.search(a, "Did the user move?", 1, new Date("2026-05-15"))
      assert.deepStrictEqual(
        then.map(({ memory }) => [memory.id, memory.content, memory.validUntil?.toISOString()]),
        [[oslo.id, oslo.content, "2026-07-01T00:00:00.000Z"]]
      )
      const now = yield* memories.search(a, "Did the user move?", 1, new Date("2026-08-01"))
      assert.strictEqual(now[0]?.memory.content, moved.content)
      assert.lengthOf(yield* at("2026-05-15", 1), 1)
    })
  )

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

  it.effect("that are there already need no room when they come in again", () =>
    Effect.gen(function* () {
      const memories = yield* Memories
      const a = yield* openAssistant
      const lines = Array.from({ length: 60 }, (_, at) => JSON.stringify({ content: `Fact ${at}` }))
      // As an import leaves it that ended half way.
      yield* memories.import(a, lines.slice(0, 50).join("\n"))
      assert.deepStrictEqual(yield* memories.import(a, lines.join("\n")), { imported: 10, skipped: 50 })
      const more = yield* Effect.flip(memories.import(a, JSON.stringify({ content: "One more" })))
      assert.strictEqual(more._tag, "OverLimit")
    }).pipe(
      Principal.provide("ada"),
      Effect.provide([
        memoryKernel([], InMemory.makeState()).pipe(
          Layer.provide(Layer.succeed(Quotas, () => ({ ...noQuota, memories: 60 })))
        ),
        quiet
      ])
    )
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
