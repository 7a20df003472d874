/** Memories of an assistant with an embedding model: found by meaning, and not lost when the model fails. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedModel } from "@colloquy/testing"
import { Assistants, Billing, Kernel, Principal, Providers } from "@colloquy/core"
import { type EmbeddingDriver, firstPage, ModelError, noUsage } from "@colloquy/core/adapters"
import { Memory, Memories, MemoryStore } from "@colloquy/core/memory"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { quiet } from "../support/Story.ts"

/** Knows one synonym: a text about a kettle or about boiling points the same way. Fails as long as it is told to. */
const makeMeaning = () => {
  const state = { isBroken: false, asked: 0 }
  const driver: EmbeddingDriver = {
    maxTexts: 10,
    maxCharacters: 1000,
    embed: ({ model, provider, texts }) =>
      (state.asked++, state.isBroken)
        ? Effect.fail(new ModelError({ reason: "auth", provider, model }))
        : Effect.succeed({
            vectors: texts.map((text) => Float32Array.from(/kettle|boil/u.test(text) ? [1, 0] : [0, 1])),
            usage: { ...noUsage, inputTokens: texts.length }
          })
  }
  return { state, driver }
}

/** How many follow-ups for vectors were stored when memories were about to be. */
const orderedBefore: Array<number> = []

const kernelWith = (driver: EmbeddingDriver) => {
  const state = InMemory.makeState()
  const watched = Layer.effect(
    MemoryStore,
    MemoryStore.useSync((store) => ({
      ...store,
      apply: (changes) => {
        const orders = [...state.followUps.values()].filter(({ followUp }) => followUp.kind === "memory.embed")
        orderedBefore.push(orders.length)
        return store.apply(changes)
      }
    }))
  ).pipe(Layer.provide(InMemory.layerFrom(state)))
  const providers = Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Providers.layer({
        providers: [provider, { id: "e", embedding: driver }],
        defaults: { provider: provider.id, model: "m" }
      })
    )
  )
  return Memory.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(providers),
    Layer.provideMerge(ScriptedModel.layer([])),
    Layer.provideMerge(Layer.merge(InMemory.layerFrom(state), watched)),
    Layer.fresh
  )
}

describe("memories with an embedding model", () => {
  it.effect("are found by meaning, also those that were written while the model failed", () => {
    const { driver, state } = makeMeaning()
    return Effect.gen(function* () {
      const memories = yield* Memories
      const embedding = { provider: "e", model: "m", dimensions: 2 }
      const { id } = yield* (yield* Assistants).create({ name: "A", embedding })
      yield* memories.add(id, { content: "The cat sleeps." })
      state.isBroken = true
      yield* memories.add(id, { content: "The kettle is new." })
      // The second waits for its vector: what will make it is stored before the memory.
      assert.deepStrictEqual(orderedBefore, [0, 1])
      assert.deepStrictEqual(yield* memories.search(id, "boiling water", 5), [])
      assert.strictEqual((yield* memories.search(id, "kettle", 5)).length, 1)
      state.isBroken = false
      const [before] = yield* memories.search(id, "boiling water", 5)
      assert.strictEqual(before?.memory.content, "The cat sleeps.")
      yield* TestClock.adjust("2 minutes")
      const [after] = yield* memories.search(id, "boiling water", 5)
      assert.strictEqual(after?.memory.content, "The kettle is new.")
      assert.deepStrictEqual(yield* (yield* MemoryStore).withoutVectors(id, { name: "e/m", dimensions: null }, 10), [])
      const { days } = yield* (yield* Billing).recentUsage(firstPage)
      // Two memories, and three questions that were answered with a vector.
      assert.deepStrictEqual(
        days.map(({ purpose, usage }) => [purpose, usage.inputTokens]),
        [["embedding", 4]]
      )
    }).pipe(Principal.provide("ada"), Effect.provide([kernelWith(driver), quiet]))
  })

  it.effect("that are imported while the model fails are all there, and it is not asked for each of them", () => {
    const { driver, state } = makeMeaning()
    return Effect.gen(function* () {
      const memories = yield* Memories
      const embedding = { provider: "e", model: "m", dimensions: 2 }
      const { id } = yield* (yield* Assistants).create({ name: "A", embedding })
      state.isBroken = true
      const lines = Array.from({ length: 450 }, (_, at) => JSON.stringify({ content: `kettle ${at}` }))
      assert.deepStrictEqual(yield* memories.import(id, lines.join("\n")), { imported: 450, skipped: 0 })
      // One step of the import, in requests of ten texts, four of them at once.
      assert.isAtMost(state.asked, 20)
      state.isBroken = false
      yield* TestClock.adjust("2 minutes")
      const missing = yield* (yield* MemoryStore).withoutVectors(id, { name: "e/m", dimensions: 2 }, 10)
      assert.deepStrictEqual(missing, [])
    }).pipe(Principal.provide("ada"), Effect.provide([kernelWith(driver), quiet]))
  })
})
