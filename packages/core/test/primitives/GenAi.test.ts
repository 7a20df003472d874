/** The names of the telemetry stand in one file, and searches and follow-ups have them too. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { FollowUps, Principal, Providers, SpanContent } from "@colloquy/core"
import { DocumentId, newId, noCharge, spanContent } from "@colloquy/core/adapters"
import { ChunkIndex, prepareTurns, Retrieval, SearchScope } from "@colloquy/core/retrieval"
import { sampleFollowUp } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const sources = join(import.meta.dirname, "../../../*/src/**/*.ts")

const recorder = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const named = (name: string) =>
    spans.filter((span) => span.name === name).map(({ attributes }) => Object.fromEntries(attributes))
  return { tracer, named }
}

describe("the names of the GenAI conventions", () => {
  it("stand in one file", () => {
    const files = globSync(sources).filter((file) => /"gen_ai\./u.test(readFileSync(file, "utf8")))
    assert.deepStrictEqual(
      files.map((file) => file.split(/[\\/]/u).at(-1)),
      ["GenAi.ts"]
    )
  })

  it.effect("are those of a search, whose question and documents are content", () =>
    Effect.gen(function* () {
      const { named, tracer } = recorder()
      const scope = SearchScope.make("documents")
      const documentId = yield* newId(DocumentId)
      const turn = { text: "The kettle is on the stove.", label: "", context: "", said: null }
      yield* (yield* ChunkIndex).put({ scope, documentId, vectors: null, ...prepareTurns([turn]) })
      const { search } = yield* Retrieval
      const asked = { scopes: [scope], query: "kettle", limit: 3, embedding: null, beginCharge: noCharge }
      yield* Effect.withTracer(search(asked), tracer)
      yield* search(asked).pipe(Effect.withTracer(tracer), Effect.provideService(SpanContent, spanContent))
      const [plain, open] = named("retrieval")
      const told = { "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.top_k": 3, "colloquy.retrieval.hits": 1 }
      assert.deepStrictEqual(plain, told)
      assert.strictEqual(open?.["gen_ai.retrieval.query.text"], "kettle")
      const [found] = JSON.parse(String(open?.["gen_ai.retrieval.documents"]))
      assert.strictEqual(found.id, documentId)
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(
        Retrieval.layer.pipe(
          Layer.provideMerge(InMemory.layerChunkIndex),
          Layer.provide(Providers.layer({ providers: [{ id: "p" }], defaults: { provider: "p", model: "m" } }))
        )
      )
    )
  )

  it.effect("are those of a follow-up, with the number of the attempt", () => {
    const { named, tracer } = recorder()
    return Effect.gen(function* () {
      const followUps = yield* FollowUps
      const done = yield* Deferred.make<void>()
      yield* followUps.register({ kind: "learn", run: () => Effect.asVoid(Deferred.succeed(done, undefined)) })
      yield* followUps.add([yield* sampleFollowUp("learn", { key: "a" })])
      yield* TestClock.adjust("5 seconds")
      yield* Deferred.await(done)
      assert.deepStrictEqual(named("FollowUps.attempt"), [
        { "colloquy.follow_up.kind": "learn", "colloquy.follow_up.attempt": 1 }
      ])
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(
        FollowUps.layer.pipe(
          Layer.provideMerge(Layer.unwrap(Effect.sync(() => InMemory.layerFrom(InMemory.makeState()))))
        )
      ),
      Effect.withTracer(tracer)
    )
  })
})
