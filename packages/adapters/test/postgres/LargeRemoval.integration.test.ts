/** The removal of a large document: in slices, so that nobody waits for it, and to the last row, whatever happens meanwhile. */
import { BlobId, DocumentId, newId } from "@colloquy/core/adapters"
import { asNewOwner } from "@colloquy/testing/contracts"
import { Principal } from "@colloquy/core"
import { BlobStore } from "@colloquy/core/documents"
import { ChunkIndex, unknownPosition, SearchScope } from "@colloquy/core/retrieval"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

const scope = SearchScope.make("scope")

/** The rows of a document of about 5 MB: 12 segments of 10,000 terms, and its bytes. Written in the database, where that takes seconds. */
const segments = 12
const bytes = Stream.fromIterable(Array.from({ length: 5 }, () => new Uint8Array(1024 * 1024).fill(7)))

const tables = ["search_entries", "search_chunks", "search_postings", "blobs", "blob_pieces"]

/** The schema of the stores, as SQL names it. */
class SchemaName extends Context.Service<SchemaName, string>()("SchemaName") {}

const fill = Effect.fnUntraced(function* (schema: string) {
  const client = yield* PgClient
  const { ownerId } = yield* Principal
  const [documentId, blobId] = [yield* newId(DocumentId), yield* newId(BlobId)]
  const [entry] = yield* client.unsafe<{ readonly id: bigint }>(
    `insert into ${schema}.search_entries (owner, scope, document, language, chunks, state)
     values ($1, $2, $3, 'en', ${segments * 256}, 'ready') returning id`,
    [ownerId, scope, documentId]
  )
  for (let segment = 0; segment < segments; segment++) {
    yield* client.unsafe(
      `insert into ${schema}.search_chunks
         select $1, $2, ${segment} * 256 + n, repeat(md5(n::text), 50), '{}' from generate_series(0, 255) n`,
      [ownerId, entry?.id]
    )
    yield* client.unsafe(
      `insert into ${schema}.search_postings select $1, hashtextextended('${scope}', 0), 'term' || n, $2, ${segment},
         array[1, 2, 3]::smallint[], array[4, 5, 6]::smallint[] from generate_series(1, 10000) n`,
      [ownerId, entry?.id]
    )
  }
  yield* (yield* BlobStore).put(blobId, bytes)
  return { blobId, documentId }
})

const rowsLeft = (schema: string) =>
  Effect.forEach(tables, (table) =>
    PgClient.use((client) =>
      Effect.map(
        client.unsafe<{ readonly count: number }>(`select count(*)::int as count from ${schema}.${table}`),
        ([row]) => row?.count
      )
    )
  )

const nothing = tables.map(() => 0)

/** Asks the database all the time, and answers with the longest wait in milliseconds. */
const asking = Effect.fnUntraced(function* (schema: string, work: Effect.Effect<unknown, unknown, PgClient>) {
  const client = yield* PgClient
  let longest = 0
  const other = yield* Effect.forkChild(
    Effect.forever(
      Effect.gen(function* () {
        const from = performance.now()
        yield* client.unsafe(`select from ${schema}.threads limit 1`)
        longest = Math.max(longest, performance.now() - from)
        yield* Effect.sleep("1 millis")
      })
    ),
    { startImmediately: true }
  )
  yield* work
  yield* Fiber.interrupt(other)
  return longest
})

const suite = (stores: () => Layer.Layer<BlobStore | ChunkIndex | PgClient | SchemaName, unknown>) => {
  it.live("leaves no row and no byte, and another request never waits for it", () =>
    Effect.gen(function* () {
      const [index, blobs, schema] = [yield* ChunkIndex, yield* BlobStore, yield* SchemaName]
      const { blobId, documentId } = yield* fill(schema)
      const principal = yield* Principal
      const removal = Effect.all([index.remove({ documentId, scope }), blobs.remove(blobId)]).pipe(
        Effect.provideService(Principal, principal)
      )
      // Without other work on the machine it is 10 to 40 ms. One statement for all takes seconds.
      assert.isBelow(yield* asking(schema, removal), 500)
      assert.deepStrictEqual(yield* rowsLeft(schema), nothing)
    }).pipe(asNewOwner, Effect.provide(stores()))
  )

  it.live("that was cut is gone on with, also by two at once", () =>
    Effect.gen(function* () {
      const [index, blobs, schema] = [yield* ChunkIndex, yield* BlobStore, yield* SchemaName]
      const cutOff = Effect.gen(function* () {
        const { blobId, documentId } = yield* fill(schema)
        const removal = Effect.all([index.remove({ documentId, scope }), blobs.remove(blobId)])
        const cut = yield* Effect.forkChild(removal, { startImmediately: true })
        yield* Effect.repeat(blobs.head(blobId), { until: Option.isNone })
        yield* Fiber.interrupt(cut)
        return { documentId, removal, left: yield* rowsLeft(schema) }
      })
      // On a busy machine the answer of `head` may come after the end of the removal, and nothing was cut then.
      const { documentId, left, removal } = yield* Effect.repeat(cutOff, {
        until: (made) => made.left.some((rows) => rows !== 0),
        times: 20
      })
      assert.notDeepEqual(left, nothing)
      assert.strictEqual((yield* index.chunks({ documentId, scope }, { skip: 0, limit: 1 })).total, 0)
      yield* Effect.all([removal, removal], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* rowsLeft(schema), nothing)
    }).pipe(asNewOwner, Effect.provide(stores()))
  )

  it.live("stops a put that is under way, and leaves nothing of it", () =>
    Effect.gen(function* () {
      const [index, schema] = [yield* ChunkIndex, yield* SchemaName]
      const documentId = yield* newId(DocumentId)
      const chunks = Array.from({ length: 40 * 256 }, (_, ordinal) => ({
        chunk: { ...unknownPosition, ordinal, text: `${ordinal}`, repeated: 0 },
        impacts: new Map([[`term ${ordinal}`, 1]])
      }))
      const put = yield* Effect.forkChild(
        Effect.exit(index.put({ documentId, scope, language: "en", chunks, vectors: null }))
      )
      while ((yield* rowsLeft(schema))[1] === 0) yield* Effect.sleep("1 millis")
      assert.isFalse(yield* index.remove({ documentId, scope }))
      assert.isTrue((yield* Fiber.join(put))._tag === "Failure")
      assert.deepStrictEqual(yield* rowsLeft(schema), nothing)
    }).pipe(asNewOwner, Effect.provide(stores()))
  )
}

onEmbedded("PGlite", () => {
  suite(() =>
    Layer.mergeAll(Postgres.layerFromClient(), Postgres.layerChunkIndex(), Layer.succeed(SchemaName, "colloquy")).pipe(
      Layer.provideMerge(Pglite.layerClient())
    )
  )
})

onPostgres((url) => {
  suite(() =>
    onScratchSchema(url, (schema) =>
      Layer.mergeAll(
        Postgres.layerFromClient({ schema }),
        Postgres.layerChunkIndex({ schema }),
        Layer.succeed(SchemaName, schema)
      ).pipe(Layer.provideMerge(hostClient(url)))
    )
  )
})
