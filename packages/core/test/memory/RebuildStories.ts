/** What becomes of memories when the host embeds with another model: on every storage, in real time, because the rebuilding is the work of another fiber. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { type AssistantId, Assistants, Kernel, type Principal, type Provider, Providers } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import { asNewOwner } from "@colloquy/testing/contracts"
import { Memory, Memories, MemoryStore } from "@colloquy/core/memory"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** Knows that boiling has to do with kettles. Each length of vectors is another model. */
const embedder = (id: string, dimensions: number): Provider => ({
  id,
  embedding: {
    maxTexts: 10,
    maxCharacters: 10_000,
    embed: ({ texts }) =>
      Effect.succeed({
        vectors: texts.map((text) => {
          const vector = new Float32Array(dimensions)
          vector[/kettle|boil/u.test(text) ? 0 : dimensions - 1] = 1
          return vector
        }),
        usage: noUsage
      })
  },
  defaultEmbedding: { model: "meaning", dimensions }
})

const talker: Provider = { id: "talker", chat: () => Stream.die("nobody talks here") }

const kernelWith = (stores: Layer.Layer<InMemory.Stores>, embedders: ReadonlyArray<Provider>) =>
  Memory.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      Providers.layer({ providers: [talker, ...embedders], defaults: { provider: "talker", model: "m" } }),
      Logger.layer([])
    ]),
    Layer.provideMerge(stores),
    Layer.fresh
  )

export const rebuildStories = (
  name: string,
  storage: Layer.Layer<InMemory.Stores, unknown>,
  { keepsVectors }: { readonly keepsVectors: boolean }
): void =>
  layer(storage, { excludeTestServices: true, timeout: "2 minutes" })(name, (it) => {
    /** The body in a process of its own, over the storage of the suite. */
    const inProcess = <A, E>(
      embedders: ReadonlyArray<Provider>,
      body: Effect.Effect<A, E, Kernel.Kernel | Memories | MemoryStore | Principal | Scope.Scope>
    ) =>
      Effect.gen(function* () {
        const services = yield* Effect.context<InMemory.Stores>()
        return yield* Effect.scoped(Effect.provide(body, kernelWith(Layer.succeedContext(services), embedders)))
      })

    const found = (id: AssistantId, query: string) =>
      Effect.map(
        Effect.flatMap(Memories, (memories) => memories.search(id, query, 10)),
        (hits) => hits.map(({ memory }) => memory.content)
      )

    /** Until every memory has a vector of the model. */
    const rebuilt = (
      id: AssistantId,
      model: string,
      dimensions: number
    ): Effect.Effect<void, unknown, MemoryStore | Principal> =>
      Effect.flatMap(MemoryStore, (store) => store.withoutVectors(id, { name: model, dimensions }, 1)).pipe(
        Effect.flatMap((missing) =>
          missing.length === 0 ? Effect.void : Effect.delay(rebuilt(id, model, dimensions), "10 millis")
        )
      )

    const contents = ["The kettle is new.", ...Array.from({ length: 120 }, (_, at) => `The cat has ${at} toys.`)]

    it.effect(
      "what was embedded with another model is found by its words at once, and by its meaning a moment later",
      () =>
        asNewOwner(
          Effect.gen(function* () {
            const [small, large] = [embedder("small", 2), embedder("large", 5)]
            const id = yield* inProcess(
              [small],
              Effect.gen(function* () {
                const assistant = yield* (yield* Assistants).create({ name: "A" })
                assert.deepInclude(assistant.embedding, { provider: "small", dimensions: 2 })
                const lines = contents.map((content) => JSON.stringify({ content }))
                yield* (yield* Memories).import(assistant.id, lines.join("\n"))
                if (keepsVectors) assert.strictEqual((yield* found(assistant.id, "boiling water"))[0], contents[0])
                return assistant.id
              })
            )
            yield* inProcess(
              [large],
              Effect.gen(function* () {
                const memories = yield* Memories
                // Nothing has the new model's vectors yet.
                assert.deepStrictEqual(yield* found(id, "boiling water"), [])
                assert.deepStrictEqual(yield* found(id, "new kettle"), [contents[0]])
                assert.strictEqual((yield* memories.list(id, null)).total, contents.length)
                if (keepsVectors) {
                  yield* rebuilt(id, "large/meaning", 5)
                  assert.strictEqual((yield* found(id, "boiling water"))[0], contents[0])
                }
                yield* memories.add(id, { content: "Steam from boiling soup." })
              })
            )
            // The model that the assistant names is back: its own memories and the one from between are found again.
            yield* inProcess(
              [large, small],
              Effect.gen(function* () {
                for (const query of ["new kettle", "soup"]) assert.lengthOf(yield* found(id, query), 1)
                if (keepsVectors) {
                  yield* rebuilt(id, "small/meaning", 2)
                  assert.sameMembers((yield* found(id, "boiling water")).slice(0, 2), [
                    contents[0] ?? "",
                    "Steam from boiling soup."
                  ])
                }
                yield* (yield* Memories).forgetAll(id)
              })
            )
          })
        )
    )

    it.effect("an assistant from before the host had any is searched by meaning, once there is one", () =>
      asNewOwner(
        Effect.gen(function* () {
          const id = yield* inProcess(
            [],
            Effect.gen(function* () {
              const assistant = yield* (yield* Assistants).create({ name: "A" })
              yield* (yield* Memories).add(assistant.id, { content: "The kettle is new." })
              return assistant.id
            })
          )
          yield* inProcess(
            [embedder("late", 3)],
            Effect.gen(function* () {
              assert.deepStrictEqual(yield* found(id, "boiling water"), [])
              if (!keepsVectors) return
              yield* rebuilt(id, "late/meaning", 3)
              assert.deepStrictEqual(yield* found(id, "boiling water"), ["The kettle is new."])
            })
          )
        })
      )
    )
  })
