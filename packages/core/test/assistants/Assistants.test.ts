import { Assistants, DefaultEmbedding, Kernel, Principal, Threads, Turns } from "@colloquy/core"
import { firstPage } from "@colloquy/core/adapters"
import { InMemory } from "@colloquy/adapters/in-memory"
import { say, ScriptedModel } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { clock, failureFrom, story, weather } from "../support/Story.ts"

describe("an assistant", () => {
  story(
    "is read back as it was created",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const created = yield* assistants.create({
        name: "Guide",
        systemPrompt: "Be brief.",
        tools: [weather],
        model: "m"
      })
      assert.deepStrictEqual(yield* assistants.get(created.id), created)
      assert.deepInclude(created, { name: "Guide", model: "m", provider: null, searchLimit: 10, metadata: null })
    })
  )

  story(
    "reads back one text as description and system prompt, whichever was given",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const fields = ["description", "systemPrompt"] as const
      const texts = (assistant: { readonly description: string | null; readonly systemPrompt: string | null }) =>
        fields.map((field) => assistant[field])
      const byPrompt = yield* assistants.create({ name: "a", systemPrompt: "P" })
      const byDescription = yield* assistants.create({ name: "b", description: "D" })
      const byBoth = yield* assistants.create({ name: "c", description: "D", systemPrompt: "P" })
      assert.deepStrictEqual([byPrompt, byDescription, byBoth].map(texts), [
        ["P", "P"],
        ["D", "D"],
        ["D", "P"]
      ])
      assert.deepStrictEqual(texts(yield* assistants.update(byPrompt.id, { systemPrompt: "Q" })), ["Q", "Q"])
      assert.deepStrictEqual(texts(yield* assistants.update(byBoth.id, { description: "E" })), ["E", "P"])
      assert.deepStrictEqual(texts(yield* assistants.update(byBoth.id, { systemPrompt: "R" })), ["E", "R"])
      assert.deepStrictEqual(texts((yield* assistants.clone(byBoth.id, { systemPrompt: "S" })).assistant), ["E", "S"])
      assert.deepStrictEqual(texts((yield* assistants.clone(byPrompt.id, { systemPrompt: "S" })).assistant), ["S", "S"])
      assert.deepStrictEqual(texts(yield* assistants.update(byBoth.id, { systemPrompt: null })), ["E", null])
      assert.deepStrictEqual(texts(yield* assistants.update(byBoth.id, { description: "D", systemPrompt: "P" })), [
        "D",
        "P"
      ])
      assert.deepStrictEqual(texts(yield* assistants.update(byBoth.id, { name: "renamed" })), ["D", "P"])
      assert.deepStrictEqual(texts(yield* assistants.update(byPrompt.id, { systemPrompt: null })), [null, null])
    })
  )

  story(
    "has its tools replaced by an update, and cleared by an empty list",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const { id } = yield* assistants.create({ name: "a", tools: [weather] })
      assert.deepStrictEqual((yield* assistants.update(id, { tools: [clock] })).tools, [clock])
      assert.deepStrictEqual((yield* assistants.update(id, { name: "b" })).tools, [clock])
      assert.deepStrictEqual((yield* assistants.update(id, { tools: [] })).tools, [])
    })
  )

  story(
    "has a clone whose name is cut by characters, and never in half of one",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const nameOfClone = Effect.fnUntraced(function* (name: string, given?: string) {
        const { id } = yield* assistants.create({ name })
        return (yield* assistants.clone(id, given === undefined ? {} : { name: given })).assistant.name
      })
      assert.strictEqual(yield* nameOfClone("Ada"), "Ada Copy")
      assert.strictEqual(yield* nameOfClone("😀".repeat(255)), `${"😀".repeat(250)} Copy`)
      assert.strictEqual(yield* nameOfClone(`a${"😀".repeat(254)}`), `a${"😀".repeat(249)} Copy`)
      assert.deepInclude(yield* failureFrom(nameOfClone("Ada", "n".repeat(256))), {
        _tag: "NameTooLong",
        field: "name"
      })
    })
  )

  story(
    "keeps the embedding model of its creation; an update that differs is refused by field and changes nothing",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const embedding = { provider: null, model: "m", dimensions: 8 }
      const created = yield* assistants.create({ name: "a", embedding })
      const refused = yield* failureFrom(
        assistants.update(created.id, { name: "changed", embedding: { model: "other", dimensions: 9 } })
      )
      assert.deepInclude(refused, { _tag: "EmbeddingModelFixed", fields: ["model", "dimensions"] })
      assert.deepStrictEqual(yield* assistants.get(created.id), created)
      const same = yield* assistants.update(created.id, { name: "changed", embedding })
      assert.deepStrictEqual([same.name, same.embedding], ["changed", embedding])
    })
  )

  it.effect("embeds with what the host gave to the kernel when it does not say", () =>
    Effect.gen(function* () {
      const created = yield* (yield* Assistants).create({ name: "a" })
      const reply = yield* (yield* Turns).send({ content: "Hi" })
      const made = yield* (yield* Assistants).get(reply.assistantId)
      assert.deepStrictEqual([created.embedding, made.embedding], [ours, ours])
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(
        Kernel.layer.pipe(
          Layer.provide([ScriptedModel.layer([say("Hi")]), InMemory.layer, Layer.succeed(DefaultEmbedding, ours)])
        )
      )
    )
  )

  const ours = { provider: "ours", model: "e", dimensions: 16 }

  story(
    "is listed oldest first, in pages, and by its exact name",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      for (const name of ["a", "b", "a", "A"]) yield* assistants.create({ name })
      const names = (page: typeof firstPage, name?: string) =>
        Effect.map(assistants.list(page, name), (all) => all.map((each) => each.name))
      assert.deepStrictEqual(yield* names(firstPage), ["a", "b", "a", "A"])
      assert.deepStrictEqual(yield* names({ skip: 1, limit: 2 }), ["b", "a"])
      assert.deepStrictEqual(yield* names(firstPage, "a"), ["a", "a"])
      assert.deepStrictEqual(yield* names(firstPage, ""), [])
    })
  )

  story(
    "gives a clone its configuration under a new id and name, and keeps its threads",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const threads = yield* Threads
      const embedding = { provider: null, model: "m", dimensions: 8 }
      const source = yield* assistants.create({ name: "x".repeat(255), systemPrompt: "P", tools: [weather], embedding })
      yield* assistants.createThread(source.id, null)
      const { assistant: clone, copied } = yield* assistants.clone(source.id, {})
      const { id, name, createdAt, updatedAt, ...rest } = clone
      assert.deepStrictEqual(copied, {})
      const { id: sourceId, name: _n, createdAt: _c, updatedAt: _u, ...sourceRest } = source
      assert.notStrictEqual(id, sourceId)
      assert.strictEqual(name, `${"x".repeat(250)} Copy`)
      assert.deepStrictEqual(createdAt, updatedAt)
      assert.deepStrictEqual(rest, sourceRest)
      const listing = { page: firstPage, assistantId: id, includeMessages: false }
      assert.deepStrictEqual(yield* threads.list(listing), [])
      const other = yield* assistants.clone(source.id, { name: "Other", systemPrompt: "Q" })
      assert.deepInclude(other.assistant, { name: "Other", systemPrompt: "Q", description: "Q" })
    })
  )

  story(
    "takes its threads, messages and runs with it when it is removed",
    [say("Hello.")],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const reply = yield* (yield* Turns).send({ content: "Hi" })
      yield* assistants.remove(reply.assistantId)
      assert.strictEqual((yield* failureFrom(assistants.get(reply.assistantId)))._tag, "AssistantNotFound")
      assert.strictEqual((yield* failureFrom((yield* Threads).get(reply.threadId)))._tag, "ThreadNotFound")
      const report = (yield* Turns).report(reply.threadId, reply.runId)
      assert.strictEqual((yield* failureFrom(report))._tag, "RunNotFound")
      assert.strictEqual((yield* failureFrom(assistants.remove(reply.assistantId)))._tag, "AssistantNotFound")
    })
  )

  story(
    "that does not exist is refused by every use case",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const { id } = yield* assistants.create({ name: "gone" })
      yield* assistants.remove(id)
      const refused = yield* Effect.all(
        [
          assistants.get(id),
          assistants.update(id, { name: "b" }),
          assistants.update(id, { embedding: { model: "m" } }),
          assistants.clone(id, {}),
          assistants.remove(id),
          assistants.createThread(id, null),
          (yield* Turns).start({ content: "Hi", assistantId: id })
        ].map((use) =>
          Effect.map(failureFrom<unknown, { readonly _tag: string }, Principal>(use), (error) => error._tag)
        )
      )
      assert.deepStrictEqual(new Set(refused), new Set(["AssistantNotFound"]))
      assert.isTrue(Option.isNone(yield* (yield* Threads).create(id, null)))
    })
  )
})
