import { InMemory } from "@colloquy/adapters/in-memory"
import { Providers } from "@colloquy/core"
import {
  DocumentId,
  type EmbeddingDriver,
  type EmbeddingTarget,
  estimateTokens,
  ModelError,
  newId,
  noCharge,
  noUsage
} from "@colloquy/core/adapters"
import { asNewOwner } from "@colloquy/testing/contracts"
import {
  type ChunkHit,
  ChunkIndex,
  joinExcerpts,
  unknownPosition,
  prepareDocument,
  prepareTurns,
  Retrieval,
  SearchScope,
  vectorModel
} from "@colloquy/core/retrieval"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const target: EmbeddingTarget = { provider: "p", model: "m", dimensions: null }
const scope = SearchScope.make("documents")

/** Knows one synonym: a text about a kettle or about boiling points the same way. */
const meaning: EmbeddingDriver = {
  maxTexts: 10,
  maxCharacters: 1000,
  embed: ({ texts }) =>
    Effect.succeed({
      vectors: texts.map((text) => Float32Array.from(/kettle|boil/u.test(text) ? [1, 0] : [0, 1])),
      usage: { ...noUsage, inputTokens: texts.length }
    })
}

const broken: EmbeddingDriver = {
  ...meaning,
  embed: ({ model, provider }) => Effect.fail(new ModelError({ reason: "auth", provider, model }))
}

const over = (driver: EmbeddingDriver, index: Layer.Layer<ChunkIndex> = InMemory.layerChunkIndex) =>
  Retrieval.layer.pipe(
    Layer.provideMerge(index),
    Layer.provide(
      Providers.layer({ providers: [{ id: "p", embedding: driver }], defaults: { provider: "p", model: "m" } })
    )
  )

const withoutVectors = Layer.effect(
  ChunkIndex,
  Effect.map(ChunkIndex, (index) => ChunkIndex.of({ ...index, keepsVectors: false }))
).pipe(Layer.provide(InMemory.layerChunkIndex))

const texts = ["The kettle is on the stove.", "The cat is on the roof, and it was there for an hour."]

const fill = Effect.gen(function* () {
  const turns = texts.map((text) => ({ text, label: "", context: "", said: null }))
  const values = texts.map((text) => Float32Array.from(text.includes("kettle") ? [1, 0] : [0, 1]))
  const vectors = { model: vectorModel(target, values[0] ?? new Float32Array()), values }
  yield* (yield* ChunkIndex).put({ scope, documentId: yield* newId(DocumentId), vectors, ...prepareTurns(turns) })
})

const search = (query: string, embedding: EmbeddingTarget | null) =>
  Effect.gen(function* () {
    yield* fill
    const { search: find } = yield* Retrieval
    const { hits, lexicalOnly, usage } = yield* find({
      scopes: [scope],
      query,
      limit: 1,
      embedding,
      beginCharge: noCharge
    })
    return { found: hits.map(({ chunk }) => chunk.text), lexicalOnly, tokens: usage.inputTokens }
  })

const size = { tokens: 400, overlap: 50, count: estimateTokens }

/** A log of packages. Fifteen of thousands of lines name the one that is looked for. */
const log = Array.from({ length: 5_000 }, (_, at) => {
  const name = at % 1_000 < 3 ? "chromium" : `libbadger${at}`
  const state = ["install", "status half-installed", "status unpacked", "status installed"][at % 4]
  return `2026-11-22 22:22:${String(at % 60).padStart(2, "0")} ${state} ${name}:amd64 1.${at}-1~deb12u1\n`
}).join("")

/** Half of its parts have the other words of the question. */
const manual = Array.from({ length: 80 }, (_, at) => {
  const said =
    at % 2 === 0 ? "Each package is installed when the package before it was installed." : "Badgers dig in it."
  return `## Step ${at}\n\nThis is what was done in step ${at}, and by whom. ${said}\n\n`
}).join("")

it.effect("a word of the question that stands in a log is found beside documents with its other words", () =>
  asNewOwner(
    Effect.gen(function* () {
      const index = yield* ChunkIndex
      for (const [title, form, text] of [
        ["dpkg.txt", "prose", log],
        ["manual.md", "markdown", manual]
      ] as const) {
        const prepared = prepareDocument(title, [{ ...unknownPosition, form, text }], size)
        yield* index.put({ scope, documentId: yield* newId(DocumentId), vectors: null, ...prepared })
      }
      const { search: find } = yield* Retrieval
      const { hits } = yield* find({
        scopes: [scope],
        query: "when was package chromium installed",
        limit: 5,
        embedding: null,
        beginCharge: noCharge
      })
      assert.include(hits[0]?.chunk.text, "chromium")
    })
  ).pipe(Effect.provide(over(meaning)))
)

describe("a search", () => {
  it.effect("finds by meaning what has none of the words, and says what that cost", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* search("boiling water", target), {
        found: [texts[0] ?? ""],
        lexicalOnly: null,
        tokens: 1
      })
    }).pipe(asNewOwner, Effect.provide(over(meaning)))
  )

  it.effect("without a model is by words, and says so", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* search("cats on roofs", null), {
        found: [texts[1] ?? ""],
        lexicalOnly: "no_embedding_model",
        tokens: 0
      })
    }).pipe(asNewOwner, Effect.provide(over(meaning)))
  )

  it.effect("goes on by words when the model fails, and says so", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* search("cats on roofs", target), {
        found: [texts[1] ?? ""],
        lexicalOnly: "embedding_failed",
        tokens: 0
      })
    }).pipe(asNewOwner, Effect.provide(over(broken)))
  )

  it.effect("asks no model where no vectors are kept, and says so", () =>
    Effect.gen(function* () {
      const found = yield* search("cats on roofs", target)
      assert.deepInclude(found, { lexicalOnly: "vectors_not_kept", tokens: 0 })
    }).pipe(asNewOwner, Effect.provide(over(meaning, withoutVectors)))
  )
})

const documentIds = [DocumentId.make("a"), DocumentId.make("b")] as const

const hit = (
  score: number,
  ordinal: number,
  text: string,
  fields: Partial<ChunkHit & ChunkHit["chunk"]> = {}
): ChunkHit => ({
  scope,
  documentId: fields.documentId ?? documentIds[0],
  score,
  lexical: score,
  semantic: null,
  chunk: {
    ...unknownPosition,
    ordinal,
    text,
    repeated: fields.repeated ?? 0,
    page: fields.page ?? null,
    ...(fields.start === undefined ? {} : { start: fields.start })
  }
})

/** A token a letter. */
const count = (text: string) => text.length

describe("excerpts", () => {
  it("of neighbours on a page become one, without what they repeat, with their position in the document", () => {
    const hits = [
      hit(0.9, 4, "two. three. ", { repeated: 5, page: 2, start: 30 }),
      hit(0.5, 3, " one. two. ", { page: 2, start: 19 }),
      hit(0.45, 5, "four.", { page: 2, start: 39 }),
      hit(0.4, 6, "five.", { page: 3, start: 46 })
    ]
    const [first, second, ...others] = joinExcerpts(hits, 1000, count)
    assert.deepStrictEqual(others, [])
    assert.deepInclude(second, { text: "five.", own: "five.", start: 46, end: 51, firstOrdinal: 6, lastOrdinal: 6 })
    assert.deepStrictEqual(
      [first],
      [
        {
          scope,
          documentId: documentIds[0],
          text: "one. two. three.\n\nfour.",
          own: "one. two. three. \n\nfour.",
          start: 20,
          end: 44,
          position: { ...unknownPosition, page: 2 },
          firstOrdinal: 3,
          lastOrdinal: 5,
          score: 0.9,
          lexical: 0.9,
          semantic: null
        }
      ]
    )
  })

  it("stand in the order of their document, the best document first", () => {
    const other = { documentId: documentIds[1] }
    const hits = [hit(1, 7, "b7", other), hit(0.9, 5, "a5"), hit(0.8, 2, "b2", other), hit(0.7, 1, "a1")]
    assert.deepStrictEqual(
      joinExcerpts(hits, 1000, count).map(({ text }) => text),
      ["b2", "b7", "a1", "a5"]
    )
  })

  it("are the best that fit the budget", () => {
    const hits = [hit(1, 1, "12345"), hit(0.9, 3, "1234567"), hit(0.8, 5, "1234"), hit(0.7, 7, "12")]
    assert.deepStrictEqual(
      joinExcerpts(hits, 10, count).map(({ text }) => text),
      ["12345", "1234"]
    )
    assert.deepStrictEqual(joinExcerpts(hits, 0, count), [])
  })

  it("hold a text once, whatever its spaces and its document", () => {
    const hits = [hit(1, 1, "The same\ntext."), hit(0.9, 1, "The same  text. ", { documentId: documentIds[1] })]
    assert.deepStrictEqual(
      joinExcerpts(hits, 1000, count).map(({ documentId }) => documentId),
      [documentIds[0]]
    )
  })
})
