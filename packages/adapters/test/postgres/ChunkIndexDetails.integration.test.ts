/** What the index of chunks does beyond its contract: documents of any size, vectors that come later, equal ranks on every store. */
import { Principal } from "@colloquy/core"
import { DocumentId, estimateTokens, newId } from "@colloquy/core/adapters"
import { asNewOwner } from "@colloquy/testing/contracts"
import {
  ChunkIndex,
  type IndexedDocument,
  prepareDocument,
  unknownPosition,
  SearchScope,
  termsByLanguage
} from "@colloquy/core/retrieval"
import { vector } from "@electric-sql/pglite-pgvector"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { longestStretch } from "../../../../test/LongestStretch.ts"
import { InMemory } from "../../src/in-memory/index.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { functionName } from "../../src/postgres/schema/FunctionNames.ts"
import { hostClient, onScratchSchema, scratchSchema } from "./Scratch.ts"

const scope = SearchScope.make("scope")
const model = { name: "p/m", dimensions: 3 }

/** A text of our own making: sentences of a small vocabulary, different in every document. */
const sampleText = (seed: number, sentences: number): string => {
  const nouns = "kettle stove garden river engine letter window bridge teacher harbour".split(" ")
  const verbs = "repairs paints sells measures follows remembers describes carries".split(" ")
  return Array.from({ length: sentences }, (_, at) => {
    const pick = (list: ReadonlyArray<string>, step: number) => list[(seed * 31 + at * step + at * at) % list.length]
    return `The ${pick(nouns, 3)} that was by the ${pick(nouns, 7)} ${pick(verbs, 5)} the ${pick(nouns, 11)} number ${(seed * 17 + at) % 40}.`
  }).join(" ")
}

const sampleDocument = (seed: number, sentences: number): IndexedDocument => {
  const sections = [{ ...unknownPosition, form: "prose" as const, text: sampleText(seed, sentences) }]
  const prepared = prepareDocument(`file ${seed}.txt`, sections, { tokens: 60, overlap: 15, count: estimateTokens })
  const values = prepared.chunks.map((_, at) => Float32Array.from([1, (seed % 7) / 7, (at % 11) / 11]))
  const id = `00000000-0000-7000-8000-${String(seed).padStart(12, "0")}`
  return { scope, documentId: DocumentId.make(id), vectors: { model, values }, ...prepared }
}

const questions = ["Who repairs the kettle?", "rivers and bridges", "number 12 of the teachers", "windows, harbours"]

/** The best ten for each question, by words alone and with a vector. */
const topTens = Effect.gen(function* () {
  const index = yield* ChunkIndex
  for (let seed = 1; seed <= 12; seed++) yield* index.put(sampleDocument(seed, 40))
  const vectors = [null, { model, values: Float32Array.from([1, 0.9, 0.31]) }]
  return yield* Effect.forEach(questions, (question) =>
    Effect.forEach(vectors, (asked) =>
      Effect.map(
        index.search({ scopes: [scope], terms: termsByLanguage(question), vector: asked, limit: 10 }),
        (hits) =>
          hits.map(({ chunk, documentId, score }) => `${documentId.slice(-3)} ${chunk.ordinal} ${score.toFixed(3)}`)
      )
    )
  )
}).pipe(asNewOwner)

/** The schema of the index: other tests have theirs in the same database. */
class SchemaName extends Context.Service<SchemaName, string>()("test/SchemaName") {}

const suite = (index: () => Layer.Layer<ChunkIndex | PgClient | SchemaName, unknown>) => {
  it.live("ranks as the index in memory does", () =>
    Effect.gen(function* () {
      const expected = yield* Effect.provide(topTens, InMemory.layerChunkIndex)
      assert.strictEqual(expected.flat(2).length, 80)
      assert.deepStrictEqual(yield* Effect.provide(topTens, index()), expected)
    })
  )

  it.live("leaves no row of a large document that was replaced, removed, or never finished", () =>
    Effect.gen(function* () {
      const chunkIndex = yield* ChunkIndex
      const client = yield* PgClient
      const schema = yield* SchemaName
      const rows = (table: string) =>
        Effect.map(
          client.unsafe<{ readonly count: number }>(`select count(*)::int as count from "${schema}".search_${table}`),
          ([row]) => row?.count
        )
      const large = sampleDocument(1, 900)
      assert.isAbove(large.chunks.length, 256)
      yield* chunkIndex.put(large)
      yield* chunkIndex.put(large)
      assert.strictEqual(yield* rows("chunks"), large.chunks.length)
      const broken = { ...large, vectors: { model, values: large.chunks.map(() => new Float32Array(2)) } }
      yield* Effect.exit(chunkIndex.put(broken))
      assert.strictEqual((yield* chunkIndex.chunks(large, { skip: 0, limit: 1 })).total, large.chunks.length)

      yield* client.unsafe(`update "${schema}".search_entries set opened_at = now() - interval '2 days'`)
      assert.isTrue(yield* chunkIndex.remove(large))
      for (const table of ["entries", "chunks", "postings", "vectors"]) assert.strictEqual(yield* rows(table), 0)
    }).pipe(asNewOwner, Effect.provide(index()))
  )

  it.live(
    "keeps a document that was put while an earlier put of it, which a removal had ended, was still writing",
    () =>
      Effect.gen(function* () {
        const chunkIndex = yield* ChunkIndex
        const client = yield* PgClient
        const schema = yield* SchemaName
        const { ownerId } = yield* Principal
        const document = sampleDocument(2, 10)
        const call = (name: string, values: ReadonlyArray<unknown>) =>
          Effect.map(
            client.unsafe<{ readonly result: unknown }>(
              `select "${schema}".${functionName(name)}(${values.map((_, at) => `$${at + 1}`).join(", ")})::text as result`,
              values
            ),
            ([row]) => row?.result
          )
        const key = [ownerId, scope, document.documentId]
        const entry = yield* call("open_search_entry", [...key, "en", 300])
        yield* chunkIndex.remove(document)
        yield* chunkIndex.put(document)
        assert.strictEqual(yield* call("publish_search_entry", [...key, entry]), "false")
        const kept = yield* chunkIndex.chunks(document, { skip: 0, limit: 1 })
        assert.strictEqual(kept.total, document.chunks.length)
      }).pipe(asNewOwner, Effect.provide(index()))
  )
}

onEmbedded("PGlite", () => {
  suite(() =>
    Layer.provideMerge(Postgres.layerChunkIndex(), Pglite.layerClient({ extensions: { vector } })).pipe(
      Layer.merge(Layer.succeed(SchemaName, "colloquy"))
    )
  )

  it.live("a document with very many different terms leaves time for others while it is written", () => {
    const signs = Array.from({ length: 100_000 }, (_, at) => 0x4e00 + ((at * 7919 + (at % 97) * 104_729) % 8000))
    const sections = [{ ...unknownPosition, form: "prose" as const, text: String.fromCodePoint(...signs) }]
    const prepared = prepareDocument("signs.txt", sections, { tokens: 400, overlap: 50, count: estimateTokens })
    assert.isAbove(prepared.chunks.length, 500)
    return Effect.gen(function* () {
      const chunkIndex = yield* ChunkIndex
      yield* chunkIndex.put(sampleDocument(1, 40))
      const stretch = longestStretch()
      yield* chunkIndex.put({ ...sampleDocument(2, 1), vectors: null, ...prepared })
      // 380 ms, when a segment was one statement.
      assert.isBelow(stretch.end(), 200)
    }).pipe(asNewOwner, Effect.provide(Layer.provide(Postgres.layerChunkIndex(), Pglite.layerClient())))
  })

  it.live("takes vectors later, when pgvector comes", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-"))),
        (made) => Effect.promise(() => rm(made, { recursive: true, force: true }))
      )
      const over = (options: Pglite.DatabaseSettings) =>
        Layer.provide(Postgres.layerChunkIndex(), Pglite.layerClient({ dataDir: join(folder, "base"), ...options }))
      const document = { ...sampleDocument(1, 10), documentId: yield* newId(DocumentId) }
      yield* Effect.gen(function* () {
        const chunkIndex = yield* ChunkIndex
        assert.isFalse(chunkIndex.keepsVectors)
        yield* chunkIndex.put(document)
      }).pipe(Effect.provide(over({})))
      yield* Effect.gen(function* () {
        const chunkIndex = yield* ChunkIndex
        assert.isTrue(chunkIndex.keepsVectors)
        const lacking = yield* chunkIndex.withoutVectors([scope], model, 100)
        assert.strictEqual(lacking.length, document.chunks.length)
        const [first] = lacking
        const values = lacking.map(({ chunk }, at) => ({
          ordinal: chunk.ordinal,
          vector: document.vectors?.values[at] ?? new Float32Array(3)
        }))
        assert.isTrue(yield* chunkIndex.setVectors({ ...document, revision: first?.revision ?? "", model, values }))
        assert.deepStrictEqual(yield* chunkIndex.withoutVectors([scope], model, 100), [])
      }).pipe(Effect.provide(over({ extensions: { vector } })))
    }).pipe(asNewOwner)
  )
})

onPostgres((url) => {
  suite(() =>
    onScratchSchema(url, (schema) =>
      Layer.provideMerge(Postgres.layerChunkIndex({ schema }), hostClient(url)).pipe(
        Layer.merge(Layer.succeed(SchemaName, schema))
      )
    )
  )

  it.live("searches large scopes by an index of vectors, once there is one", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      const options = { url: Redacted.make(url), schema }
      yield* Effect.gen(function* () {
        const chunkIndex = yield* ChunkIndex
        const client = yield* PgClient
        assert.deepStrictEqual(yield* Postgres.indexVectors(options), [])
        const angles = Array.from({ length: 10_100 }, (_, at) => (Math.PI * at) / 10_100)
        yield* chunkIndex.put({
          scope,
          documentId: yield* newId(DocumentId),
          language: "en",
          chunks: angles.map((_, ordinal) => ({
            chunk: { ...unknownPosition, ordinal, text: `${ordinal}`, repeated: 0 },
            impacts: new Map()
          })),
          vectors: { model, values: angles.map((angle) => Float32Array.from([Math.cos(angle), Math.sin(angle), 0])) }
        })
        const nearest = Effect.map(
          chunkIndex.search({
            scopes: [scope],
            terms: new Map(),
            vector: { model, values: Float32Array.from([Math.cos(1), Math.sin(1), 0]) },
            limit: 10
          }),
          (hits) => hits.map(({ chunk }) => chunk.ordinal)
        )
        const exact = yield* nearest
        assert.deepStrictEqual(yield* Postgres.indexVectors(options), [3])
        assert.deepStrictEqual(yield* Postgres.indexVectors(options), [3])
        // The only connection: its own count of scans is exact.
        const scans = Effect.andThen(
          client.unsafe("select pg_stat_force_next_flush()"),
          Effect.map(
            client.unsafe<{ readonly scans: bigint }>(
              `select idx_scan as scans from pg_stat_user_indexes
               where schemaname = '${schema}' and indexrelname = 'search_vectors_near_3'`
            ),
            ([row]) => Number(row?.scans)
          )
        )
        yield* client.unsafe(`analyze ${schema}.search_vectors`)
        const before = yield* scans
        const found = yield* nearest
        assert.isAbove(yield* scans, before)
        assert.strictEqual(found.length, 10)
        const place = (10_100 * 1) / Math.PI
        for (const ordinal of [...exact, ...found]) assert.approximately(ordinal, place, 150)
      }).pipe(
        Effect.provide(Layer.provideMerge(Postgres.layerChunkIndex(options), hostClient(url, { maxConnections: 1 })))
      )
    }).pipe(asNewOwner)
  )
})
