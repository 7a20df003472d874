/** The contract of `ChunkIndex`. Terms and impacts are written by hand, so that the expected ranking is easy to see. */
import { DocumentId, firstPage, newId } from "@colloquy/core/adapters"
import { unknownPosition, prepareTurns, termsByLanguage } from "@colloquy/core/retrieval"
import {
  type Chunk,
  ChunkIndex,
  type ChunkSearch,
  type Impacts,
  type IndexedDocument,
  type IndexKey,
  termRarity,
  SearchScope,
  type VectorModel
} from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ContractTest } from "./ContractTest.ts"
import { asNewOwner, awkwardJson } from "./Samples.ts"

export const chunkIndexContract = (test: ContractTest<ChunkIndex>, keepsVectors: boolean): void => {
  test("MUST say whether it keeps vectors", function* () {
    assert.strictEqual((yield* ChunkIndex).keepsVectors, keepsVectors)
  })

  test("MUST give the chunks of a document back, equal in every field, page by page", function* () {
    const index = yield* ChunkIndex
    const document = yield* newDocument(awkwardChunks)
    yield* index.put(document)
    assert.deepStrictEqual(yield* index.chunks(document, firstPage), { chunks: awkwardChunks, total: 3 })
    const second = yield* index.chunks(document, { skip: 1, limit: 1 })
    assert.deepStrictEqual(second, { chunks: awkwardChunks.slice(1, 2), total: 3 })
    // More than a store may count in 32 bits.
    for (const skip of [3, 2 ** 31])
      assert.deepStrictEqual(yield* index.chunks(document, { skip, limit: 9 }), { chunks: [], total: 3 })
    const rest = yield* index.chunks(document, { skip: 2, limit: 2 ** 31 })
    assert.deepStrictEqual(rest, { chunks: awkwardChunks.slice(2), total: 3 })
  })

  test("MUST give nothing for a document that is unknown, in another scope or another owner's", function* () {
    const index = yield* ChunkIndex
    const document = yield* newDocument([chunk(0, "kettle")])
    yield* asNewOwner(index.put(document))
    yield* expectGone(document)
    yield* index.put(document)
    yield* expectGone({ ...document, scope: yield* newScope })
    yield* expectGone({ ...document, documentId: yield* newId(DocumentId) })
  })

  test("MUST score by the impacts and the rarity of the terms over all chunks of the scopes, best first", function* () {
    const [scope, other] = [yield* newScope, yield* newScope]
    const one = yield* put(
      { scope },
      [
        ["kettle", 1500],
        ["stove", 300]
      ],
      [["stove", 900]],
      [["pan", 1]]
    )
    const two = yield* put({ scope: other }, [["stove", 1200]])
    const hits = yield* search({ scopes: [scope, other], terms: english("kettle", "stove", "unknown") })
    const [kettle, stove] = [termRarity(1, 4) / 1000, termRarity(3, 4) / 1000]
    const expected = [
      [one.documentId, 0, 1.5 * kettle + 0.3 * stove],
      [two.documentId, 0, 1.2 * stove],
      [one.documentId, 1, 0.9 * stove]
    ] as const
    assert.deepStrictEqual(
      hits.map((hit) => [hit.documentId, hit.chunk.ordinal]),
      expected.map(([documentId, ordinal]) => [documentId, ordinal])
    )
    hits.forEach((hit, index) => {
      assert.approximately(hit?.lexical ?? 0, expected[index]?.[2] ?? 0, 1e-9)
      assert.approximately(hit.score, (expected[index]?.[2] ?? 0) / expected[0][2], 1e-9)
      assert.isNull(hit.semantic)
    })
    assert.deepStrictEqual(
      hits.map((hit) => hit.scope),
      [scope, other, scope]
    )
  })

  test("MUST order equal scores as their documents were put, and by ordinal, and give no more than the limit", function* () {
    const scope = yield* newScope
    const ids = (yield* Effect.all([newId(DocumentId), newId(DocumentId), newId(DocumentId)])).toReversed()
    yield* Effect.forEach(ids, (documentId) => put({ scope, documentId }, [["kettle", 500]], [["kettle", 500]]))
    const expected = ids.flatMap((id) => [
      [id, 0],
      [id, 1]
    ])
    for (const limit of [6, 4, 1, 100]) {
      const hits = yield* search({ scopes: [scope], terms: english("kettle"), limit })
      assert.deepStrictEqual(
        hits.map((hit) => [hit.documentId, hit.chunk.ordinal]),
        expected.slice(0, limit)
      )
    }
  })

  test("MUST ask the documents of each language for that language's terms only", function* () {
    const scope = yield* newScope
    const english = yield* put({ scope }, [["hous", 500]])
    const german = yield* put({ scope, language: "de" }, [["haus", 500]])
    const terms = new Map([
      ["en", ["hous"]],
      ["de", ["haus"]],
      ["fr", ["maison"]]
    ] as const)
    const found = yield* search({ scopes: [scope], terms })
    assert.deepStrictEqual(
      found.map((hit) => hit.documentId),
      [english.documentId, german.documentId]
    )
    assert.deepStrictEqual(yield* search({ scopes: [scope], terms: new Map([["fr", ["haus"]]]) }), [])
  })

  test("MUST find nothing without scopes, without terms, and in scopes that are unknown or another owner's", function* () {
    const scope = yield* newScope
    yield* asNewOwner(put({ scope }, [["kettle", 500]]))
    assert.deepStrictEqual(yield* search({ scopes: [scope], terms: english("kettle") }), [])
    yield* put({ scope }, [["kettle", 900]])
    assert.strictEqual((yield* search({ scopes: [scope], terms: english("kettle") })).length, 1)
    assert.deepStrictEqual(yield* search({ scopes: [], terms: english("kettle") }), [])
    assert.deepStrictEqual(yield* search({ scopes: [scope], terms: new Map() }), [])
    assert.deepStrictEqual(yield* search({ scopes: [yield* newScope], terms: english("kettle") }), [])
  })

  test("MUST NOT let another owner's chunks change a score", function* () {
    const scope = yield* newScope
    const mine = yield* put({ scope }, [["kettle", 500]], [["pan", 500]])
    const before = yield* search({ scopes: [scope], terms: english("kettle") })
    yield* asNewOwner(put({ scope, documentId: mine.documentId }, [["kettle", 500]], [["kettle", 500]]))
    assert.deepStrictEqual(yield* search({ scopes: [scope], terms: english("kettle") }), before)
  })

  test("MUST replace a document as a whole", function* () {
    const index = yield* ChunkIndex
    const first = yield* put({}, [["kettle", 500]], [["kettle", 600]], [["pan", 1]])
    yield* put(first, [["stove", 700]])
    assert.deepStrictEqual(yield* search({ scopes: [first.scope], terms: english("kettle") }), [])
    const [hit, ...none] = yield* search({ scopes: [first.scope], terms: english("stove") })
    assert.deepStrictEqual(none, [])
    assert.approximately(hit?.lexical ?? 0, (0.7 * termRarity(1, 1)) / 1000, 1e-9)
    assert.strictEqual((yield* index.chunks(first, firstPage)).total, 1)
    yield* put(first)
    assert.strictEqual((yield* index.chunks(first, firstPage)).total, 0)
  })

  test("MUST show old chunks or new ones, never both, while a document is put again and again", function* () {
    const scope = yield* newScope
    const generation = (size: number) => Array.from({ length: size }, (): Terms => [["kettle", 100 * size]])
    const document = yield* put({ scope }, ...generation(5))
    const rewrite = Effect.forEach([3, 2, 4, 1, 6], (size) => put(document, ...generation(size)))
    const look = Effect.gen(function* () {
      for (let times = 0; times < 15; times++) {
        const hits = yield* search({ scopes: [scope], terms: english("kettle") })
        const impact = ((hits[0]?.lexical ?? 0) * 1_000_000) / termRarity(hits.length, hits.length)
        assert.approximately(impact, 100 * hits.length, 1e-6)
        assert.isAbove(hits.length, 0)
      }
    })
    yield* Effect.all([rewrite, rewrite, look, look], { concurrency: "unbounded" })
  })

  test("MUST keep a document of many hundred chunks, and count all of them", function* () {
    const index = yield* ChunkIndex
    const many = Array.from({ length: 700 }, (_, at): Terms => [
      ["kettle", 100],
      [`only${at}`, 1000]
    ])
    const document = yield* put({}, ...many)
    assert.strictEqual((yield* index.chunks(document, firstPage)).total, 700)
    for (const at of [0, 255, 256, 699]) {
      const [hit] = yield* search({ scopes: [document.scope], terms: english("kettle", `only${at}`) })
      assert.strictEqual(hit?.chunk.ordinal, at)
      assert.approximately(hit?.lexical ?? 0, (0.1 * termRarity(700, 700) + termRarity(1, 700)) / 1000, 1e-9)
    }
    yield* index.remove(document)
    assert.deepStrictEqual(yield* search({ scopes: [document.scope], terms: english("kettle") }), [])
  })

  test("MUST find chunks by a term that all of a thousand have, which weighs nothing", function* () {
    const { scope } = yield* put({}, ...everyOne(1000))
    const hits = yield* search({ scopes: [scope], terms: english("kettle"), limit: 2 })
    assert.deepStrictEqual(
      hits.map(({ chunk: { ordinal }, lexical, score, semantic }) => ({ ordinal, lexical, score, semantic })),
      [
        { ordinal: 0, lexical: 0, score: 0, semantic: null },
        { ordinal: 1, lexical: 0, score: 0, semantic: null }
      ]
    )
  })

  test("MUST remove a document, and answer whether it was there", function* () {
    const index = yield* ChunkIndex
    const scope = yield* newScope
    const [gone, kept] = [yield* put({ scope }, [["kettle", 500]]), yield* put({ scope }, [["kettle", 400]])]
    assert.isFalse(yield* asNewOwner(index.remove(gone)))
    assert.isTrue(yield* index.remove(gone))
    assert.isFalse(yield* index.remove(gone))
    yield* expectGone(gone)
    const [hit, ...none] = yield* search({ scopes: [scope], terms: english("kettle") })
    assert.deepStrictEqual(none, [])
    assert.strictEqual(hit?.documentId, kept.documentId)
    assert.approximately(hit?.lexical ?? 0, (0.4 * termRarity(1, 1)) / 1000, 1e-9)
  })

  test("MUST remove a scope with all its documents, and no other", function* () {
    const index = yield* ChunkIndex
    const [scope, other] = [yield* newScope, yield* newScope]
    const gone = yield* Effect.forEach([1, 2, 3], () => put({ scope }, [["kettle", 500]]))
    const kept = yield* put({ scope: other }, [["kettle", 500]])
    yield* asNewOwner(index.removeScope(scope))
    assert.strictEqual((yield* search({ scopes: [scope], terms: english("kettle") })).length, 3)
    yield* index.removeScope(scope)
    yield* index.removeScope(scope)
    for (const document of gone) yield* expectGone(document)
    const hits = yield* search({ scopes: [scope, other], terms: english("kettle") })
    assert.deepStrictEqual(
      hits.map((hit) => hit.documentId),
      [kept.documentId]
    )
    yield* put({ scope }, [["kettle", 500]])
    assert.strictEqual((yield* search({ scopes: [scope], terms: english("kettle") })).length, 1)
  })

  test("MUST copy a document to another scope, where it lives on by itself", function* () {
    const index = yield* ChunkIndex
    const from = yield* newDocument(awkwardChunks, [["kettle", 500]])
    yield* index.put(from)
    const to: IndexKey = { scope: yield* newScope, documentId: yield* newId(DocumentId) }
    yield* put(to, [["stove", 1]])
    assert.isFalse(yield* asNewOwner(index.copy(from, to)))
    assert.isTrue(yield* index.copy(from, to))
    yield* index.remove(from)
    assert.isFalse(yield* index.copy(from, to))
    assert.deepStrictEqual(yield* index.chunks(to, firstPage), { chunks: awkwardChunks, total: 3 })
    const hits = yield* search({ scopes: [to.scope, from.scope], terms: english("kettle", "stove") })
    assert.deepStrictEqual(
      hits.map((hit) => [hit.documentId, hit.chunk]),
      awkwardChunks.map((each) => [to.documentId, each])
    )
  })

  test("MUST count like a recount after many changes", function* () {
    const index = yield* ChunkIndex
    const scope = yield* newScope
    const ids = yield* Effect.all(Array.from({ length: 5 }, () => newId(DocumentId)))
    const held = new Map<DocumentId, number>()
    for (let step = 0; step < 60; step++) {
      const documentId = ids[(step * 7) % 5] ?? assert.fail("There are five ids.")
      const size = (step * 5) % 4
      if (size === 0) {
        assert.strictEqual(yield* index.remove({ scope, documentId }), held.delete(documentId))
      } else {
        const chunks = Array.from({ length: size }, (): Terms => [["kettle", 10 * (step + 1)]])
        yield* put({ scope, documentId }, ...chunks)
        held.set(documentId, size)
      }
    }
    const all = [...held.values()].reduce((a, b) => a + b, 0)
    const hits = yield* search({ scopes: [scope], terms: english("kettle"), limit: 2 ** 31 })
    assert.strictEqual(hits.length, all)
    const impacts = hits.map((hit) => Math.round(((hit.lexical ?? 0) * 1_000_000) / termRarity(all, all)))
    assert.isTrue(impacts.every((impact) => impact % 10 === 0 && impact > 0))
  })

  test("MUST find a message by any form of its words and by the words of its neighbours", function* () {
    const scope = yield* newScope
    const said = new Date(Date.UTC(2026, 2, 4))
    const turns = [
      "I have been thinking about the garden that we saw from the train.",
      "Which of the plants did you like?",
      "The climbing roses, and I would have them over the door.",
      "My brother is repairing an old boat with his friends.",
      "They hope to be sailing it by the summer."
    ].map((text, at) => ({ text, label: at % 2 === 0 ? "Ada" : "Ben", context: "", said }))
    const index = yield* ChunkIndex
    yield* index.put({ scope, documentId: yield* newId(DocumentId), vectors: null, ...prepareTurns(turns) })
    const top = (query: string) =>
      Effect.map(search({ scopes: [scope], terms: termsByLanguage(query) }), ([hit]) => hit?.chunk.ordinal)
    assert.strictEqual(yield* top("Which rose does Ada like?"), 2)
    assert.strictEqual(yield* top("boats that were repaired"), 3)
    assert.strictEqual(yield* top("When do they sail?"), 4)
  })

  if (keepsVectors) vectorContract(test)
  else {
    test("MUST drop vectors that it cannot keep, and search by terms", function* () {
      const index = yield* ChunkIndex
      const document = yield* put({ vectors: vectors([1, 0]) }, [["kettle", 500]])
      assert.deepStrictEqual(yield* index.withoutVectors([document.scope], model, 10), [])
      const hits = yield* search({ scopes: [document.scope], terms: english("kettle"), vector: asked(1, 0) })
      assert.deepStrictEqual(
        hits.map(({ score, semantic }) => ({ score, semantic })),
        [{ score: 1, semantic: null }]
      )
    })
  }
}

const vectorContract = (test: ContractTest<ChunkIndex>): void => {
  test("MUST give the cosine of the nearest vectors, and join it with the terms", function* () {
    const found = vectors([3, 4], [0, 2], [-1, 0], [4, 3])
    const document = yield* put({ vectors: found }, [["kettle", 800]], [["kettle", 400]], [], [["pan", 1]])
    const meaning = yield* search({ scopes: [document.scope], vector: asked(0, 5) })
    assert.deepStrictEqual(
      meaning.map(({ chunk: { ordinal } }) => ordinal),
      [1, 0, 3, 2]
    )
    meaning.forEach(({ semantic }, index) => assert.approximately(semantic ?? 9, [1, 0.8, 0.6, 0][index] ?? 9, 1e-3))
    const both = yield* search({
      scopes: [document.scope],
      terms: english("kettle"),
      vector: asked(0, 5)
    })
    assert.deepStrictEqual(
      both.map(({ chunk: { ordinal } }) => ordinal),
      [0, 1, 3, 2]
    )
    both.forEach(({ score }, index) => assert.approximately(score, [0.9, 0.75, 0.3, 0][index] ?? 9, 1e-3))
  })

  test("MUST join a vector with a term that weighs nothing", function* () {
    const values = Array.from({ length: 1000 }, (_, at) => (at === 700 ? [0, 1] : [1, 0]))
    const { scope } = yield* put({ vectors: vectors(...values) }, ...everyOne(1000))
    const [first] = yield* search({ scopes: [scope], terms: english("kettle"), vector: asked(0, 1) })
    assert.strictEqual(first?.chunk.ordinal, 700)
    assert.approximately(first?.score ?? 9, 0.5, 1e-3)
  })

  test("MUST join the first hundred of more chunks that are equally near, as their documents were put", function* () {
    const index = yield* ChunkIndex
    const scope = yield* newScope
    const none = (count: number) => Array.from({ length: count }, (): Terms => [])
    const same = (count: number) => vectors(...Array.from({ length: count }, () => [1, 0]))
    const first = yield* put({ scope }, ...none(60))
    const second = yield* put({ scope, vectors: same(100) }, ...none(100))
    // The first document gets its vectors last.
    const lacking = yield* index.withoutVectors([scope], model, 100)
    const values = lacking.map((each) => ({ ordinal: each.chunk.ordinal, vector: Float32Array.from([1, 0]) }))
    assert.isTrue(yield* index.setVectors({ ...first, revision: lacking[0]?.revision ?? "", model, values }))
    const hits = yield* search({ scopes: [scope], vector: asked(1, 0), limit: 200 })
    assert.deepStrictEqual(
      hits.map((hit) => [hit.documentId, hit.chunk.ordinal]),
      [
        ...none(60).map((_, ordinal) => [first.documentId, ordinal]),
        ...none(40).map((_, ordinal) => [second.documentId, ordinal])
      ]
    )
  })

  test("MUST NOT compare vectors of another model, another length or another owner", function* () {
    const document = yield* put({ vectors: vectors([1, 0]) }, [["kettle", 800]])
    yield* asNewOwner(put({ ...document, vectors: vectors([1, 0]) }, []))
    const semantic = (model: VectorModel, ...values: ReadonlyArray<number>) =>
      Effect.map(search({ scopes: [document.scope], vector: { model, values: Float32Array.from(values) } }), (hits) =>
        hits.map((hit) => hit.semantic)
      )
    assert.deepStrictEqual(yield* semantic(model, 1, 0), [1])
    assert.deepStrictEqual(yield* semantic({ ...model, name: "other/model" }, 1, 0), [])
    assert.deepStrictEqual(yield* semantic({ ...model, dimensions: 3 }, 1, 0, 0), [])
  })

  test("MUST NOT find by a vector without a direction, nor one", function* () {
    const document = yield* put({ vectors: vectors([0, 0], [1, 1]) }, [], [])
    const hits = yield* search({ scopes: [document.scope], vector: asked(1, 1) })
    assert.deepStrictEqual(
      hits.map(({ chunk: { ordinal } }) => ordinal),
      [1]
    )
    assert.deepStrictEqual(yield* search({ scopes: [document.scope], vector: asked(0, 0) }), [])
  })

  test("MUST keep vectors of up to 4,000 dimensions", function* () {
    for (const dimensions of [1, 3, 1536, 4000]) {
      const large = { name: "p/large", dimensions }
      const [near, far] = [new Float32Array(dimensions).fill(0.02), new Float32Array(dimensions).fill(-0.02)]
      const document = yield* put({ vectors: { model: large, values: [far, near] } }, [], [])
      const hits = yield* search({ scopes: [document.scope], vector: { model: large, values: near } })
      assert.deepStrictEqual(
        hits.map(({ chunk: { ordinal } }) => ordinal),
        [1, 0]
      )
    }
  })

  test("MUST name the chunks that lack a model's vectors, and take them later", function* () {
    const index = yield* ChunkIndex
    const scope = yield* newScope
    const full = yield* put({ scope, vectors: vectors([1, 0]) }, [["kettle", 1]])
    const document = yield* put({ scope }, [["kettle", 1]], [["kettle", 1]])
    const lacking = yield* index.withoutVectors([scope], model, 10)
    assert.deepStrictEqual(
      lacking.map(({ chunk: { ordinal }, documentId }) => [documentId, ordinal]),
      [
        [document.documentId, 0],
        [document.documentId, 1]
      ]
    )
    assert.strictEqual((yield* index.withoutVectors([scope], model, 1)).length, 1)
    assert.strictEqual((yield* index.withoutVectors([scope], { ...model, name: "p/new" }, 10)).length, 3)
    assert.deepStrictEqual(yield* asNewOwner(index.withoutVectors([scope], model, 10)), [])

    const revision = lacking[0]?.revision ?? ""
    const values = [{ ordinal: 1, vector: Float32Array.from([0, 1]) }]
    assert.isFalse(yield* asNewOwner(index.setVectors({ ...document, revision, model, values })))
    assert.isTrue(yield* index.setVectors({ ...document, revision, model, values }))
    assert.deepStrictEqual(
      (yield* index.withoutVectors([scope], model, 10)).map(({ chunk: { ordinal } }) => ordinal),
      [0]
    )
    const [nearest] = yield* search({ scopes: [scope], vector: asked(0, 1) })
    assert.strictEqual(nearest?.documentId, document.documentId)

    const again = [{ ordinal: 1, vector: Float32Array.from([1, 0]) }]
    assert.isTrue(yield* index.setVectors({ ...document, revision, model, values: again }))
    const hits = yield* search({ scopes: [scope], vector: asked(1, 0) })
    assert.deepStrictEqual(
      hits.map(({ documentId, semantic }) => [documentId, semantic]),
      [full.documentId, document.documentId].map((id) => [id, 1])
    )
  })

  test("MUST refuse vectors of chunks that a document no longer has", function* () {
    const index = yield* ChunkIndex
    const document = yield* put({}, [["kettle", 1]])
    const [lacking] = yield* index.withoutVectors([document.scope], model, 1)
    const revision = lacking?.revision ?? ""
    const late = { ...document, revision, model, values: [{ ordinal: 0, vector: Float32Array.from([1, 0]) }] }
    yield* put(document, [["stove", 1]])
    assert.isFalse(yield* index.setVectors(late))
    yield* index.remove(document)
    assert.isFalse(yield* index.setVectors(late))
    assert.deepStrictEqual(yield* search({ scopes: [document.scope], vector: asked(1, 0) }), [])
  })

  test("MUST copy vectors with their document, and remove them with it", function* () {
    const index = yield* ChunkIndex
    const from = yield* put({ vectors: vectors([1, 0], [0, 1]) }, [], [])
    const to: IndexKey = { scope: yield* newScope, documentId: yield* newId(DocumentId) }
    yield* index.copy(from, to)
    yield* index.remove(from)
    const hits = yield* search({ scopes: [from.scope, to.scope], vector: asked(0, 1) })
    assert.deepStrictEqual(
      hits.map(({ chunk: { ordinal }, documentId, semantic }) => ({ documentId, ordinal, semantic })),
      [
        { documentId: to.documentId, ordinal: 1, semantic: 1 },
        { documentId: to.documentId, ordinal: 0, semantic: 0 }
      ]
    )
  })
}

type Terms = ReadonlyArray<readonly [term: string, impact: number]>

const everyOne = (chunks: number): ReadonlyArray<Terms> => Array.from({ length: chunks }, () => [["kettle", 1000]])

const model: VectorModel = { name: "provider/model", dimensions: 2 }

const vectors = (...values: ReadonlyArray<ReadonlyArray<number>>): IndexedDocument["vectors"] => ({
  model,
  values: values.map((each) => Float32Array.from(each))
})

const asked = (...values: ReadonlyArray<number>): ChunkSearch["vector"] => ({
  model,
  values: Float32Array.from(values)
})

const english = (...terms: ReadonlyArray<string>): ChunkSearch["terms"] => new Map([["en", terms]])

const newScope = Effect.map(newId(DocumentId), (id) => SearchScope.make(`scope:${id}`))

const chunk = (ordinal: number, text: string, fields: Partial<Chunk> = {}): Chunk => ({
  ...unknownPosition,
  ordinal,
  text,
  repeated: 0,
  ...fields
})

const awkwardChunks: ReadonlyArray<Chunk> = [
  chunk(0, JSON.stringify(awkwardJson), { heading: "A > B", page: 3, row: 9 }),
  chunk(1, "nul \0, a lone surrogate \ud800, \u0001", { sheet: "Ta\0belle '1'", repeated: 4, start: 9_000_000 }),
  chunk(2, "\n{}\n", { slide: 2 })
]

const newDocument = (chunks: ReadonlyArray<Chunk>, terms: Terms = []): Effect.Effect<IndexedDocument> =>
  Effect.gen(function* () {
    const impacts: Impacts = new Map(terms)
    return {
      scope: yield* newScope,
      documentId: yield* newId(DocumentId),
      language: "en",
      chunks: chunks.map((each) => ({ chunk: each, impacts })),
      vectors: null
    }
  })

/** Stores a document with these terms in its chunks. Ids that are not given are new. */
const put = (fields: Partial<IndexedDocument>, ...chunks: ReadonlyArray<Terms>) =>
  Effect.gen(function* () {
    const document: IndexedDocument = {
      scope: yield* newScope,
      documentId: yield* newId(DocumentId),
      language: "en",
      vectors: null,
      ...fields,
      chunks: chunks.map((terms, ordinal) => ({ chunk: chunk(ordinal, `text ${ordinal}`), impacts: new Map(terms) }))
    }
    yield* (yield* ChunkIndex).put(document)
    const { documentId, scope } = document
    return { documentId, scope }
  })

const search = (fields: Partial<ChunkSearch>) =>
  ChunkIndex.use((index) => index.search({ scopes: [], terms: new Map(), vector: null, limit: 10, ...fields }))

const expectGone = (key: IndexKey) =>
  Effect.gen(function* () {
    const index = yield* ChunkIndex
    assert.deepStrictEqual(yield* index.chunks(key, firstPage), { chunks: [], total: 0 })
    assert.isFalse(yield* index.remove(key))
    assert.isFalse(yield* index.copy(key, { ...key, documentId: yield* newId(DocumentId) }))
  })
