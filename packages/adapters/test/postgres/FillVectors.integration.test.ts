/**
 * Vectors that come later, on PGlite and on a PostgreSQL server: a process indexed documents without an embedding model, or without pgvector,
 * and a later one over the same database fills them in after its first search.
 */
import { Assistants, type Principal } from "@colloquy/core"
import { asNewOwner } from "@colloquy/testing/contracts"
import { type Document, type DocumentScopeId, Documents } from "@colloquy/core/documents"
import { ChunkIndex } from "@colloquy/core/retrieval"
import { vector } from "@electric-sql/pglite-pgvector"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import {
  byteStream,
  embedLetters,
  type RoomOptions,
  roomOver,
  type Storage
} from "../../../core/test/support/DocumentRoom.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

type Lacking = "no_embedding_model" | "vectors_not_kept"
type Database = Layer.Layer<Storage, unknown>

const over = (options: Postgres.StoreOptions = {}) =>
  Layer.merge(Postgres.layerFromClient(options), Postgres.layerChunkIndex(options))

const ended: (id: Document["id"]) => Effect.Effect<Document, unknown, Documents | Principal> = Effect.fnUntraced(
  function* (id) {
    const document = yield* (yield* Documents).get(id)
    return document.status === "processing" ? yield* Effect.delay(ended(id), "10 millis") : document
  }
)

const indexed = Effect.gen(function* () {
  const documents = yield* Documents
  const { id: assistantId } = yield* (yield* Assistants).create({ name: "Reader" })
  for (const text of ["Badgers dig setts.", "Foxes borrow setts."]) {
    const scope = { _tag: "Assistant", assistantId } as const
    const { id } = yield* documents.upload({ scope, filename: "a.txt", bytes: byteStream(text) })
    assert.strictEqual((yield* ended(id)).status, "completed")
  }
  return { assistantId }
})

const search = (scopeId: DocumentScopeId) =>
  Effect.map(
    Documents.use((documents) => documents.search({ scopeId, query: "setts" })),
    ({ excerpts, lexicalOnly }) => ({ lexicalOnly, known: excerpts.map(({ semantic }) => semantic !== null) })
  )

const filled = (scopeId: DocumentScopeId): Effect.Effect<void, unknown, Documents | Principal> =>
  Effect.flatMap(search(scopeId), ({ known }) =>
    known.every(Boolean) ? Effect.void : Effect.delay(filled(scopeId), "20 millis")
  )

/** One process indexes, the next one searches. */
const story = (first: Database, options: RoomOptions, lacking: Lacking, later: Database) =>
  Effect.gen(function* () {
    const scopeId = yield* Effect.gen(function* () {
      const found = yield* indexed
      assert.deepStrictEqual(yield* search(found), { lexicalOnly: lacking, known: [false, false] })
      return found
    }).pipe(Effect.provide(roomOver(first, options)))
    const texts: Array<string> = []
    const embed: RoomOptions["embed"] = (request) => {
      if (request.purpose === "document") texts.push(...request.texts)
      return embedLetters(request)
    }
    yield* Effect.gen(function* () {
      assert.deepStrictEqual(yield* search(scopeId), { lexicalOnly: null, known: [false, false] })
      yield* filled(scopeId)
    }).pipe(Effect.provide(roomOver(later, { embed })))
    assert.sameMembers(texts, ["Badgers dig setts.", "Foxes borrow setts."])
  }).pipe(asNewOwner)

const limit = 120_000

onEmbedded("PGlite", () => {
  const folder = Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true }))
  )
  const inFolder = (path: string, options: Pglite.DatabaseSettings): Database =>
    Layer.provide(over(), Pglite.layerClient({ dataDir: join(path, "base"), ...options }))
  const extensions = { vector }

  it.live(
    "are filled in when there is an embedding model",
    () =>
      Effect.flatMap(folder, (path) =>
        story(inFolder(path, { extensions }), {}, "no_embedding_model", inFolder(path, { extensions }))
      ),
    limit
  )

  it.live(
    "are filled in when pgvector is there",
    () =>
      Effect.flatMap(folder, (path) =>
        story(inFolder(path, {}), { embed: embedLetters }, "vectors_not_kept", inFolder(path, { extensions }))
      ),
    limit
  )
})

onPostgres((url) => {
  const database = (options: Postgres.StoreOptions): Database => Layer.provide(over(options), hostClient(url))

  it.live(
    "are filled in when there is an embedding model",
    () =>
      Effect.flatMap(scratchSchema(url), (schema) =>
        story(database({ schema }), {}, "no_embedding_model", database({ schema }))
      ),
    limit
  )

  it.live(
    "are filled in when the table of vectors is there",
    () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        yield* Postgres.migrate({ url: Redacted.make(url), schema })
        // As on a server without pgvector; who may not change the schema does not make the table again.
        yield* Effect.provide(
          PgClient.use((client) => client.unsafe(`drop table ${schema}.search_vectors`)),
          hostClient(url)
        )
        const first = database({ schema, migrate: false })
        yield* story(first, { embed: embedLetters }, "vectors_not_kept", database({ schema }))
      }),
    limit
  )

  it.live(
    "are kept by every one of the processes that start at the same moment",
    () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        yield* Postgres.migrate({ url: Redacted.make(url), schema })
        const process = ChunkIndex.useSync(({ keepsVectors }) => keepsVectors).pipe(
          Effect.provide(Layer.provide(Layer.fresh(Postgres.layerChunkIndex({ schema })), hostClient(url)))
        )
        for (let round = 0; round < 3; round++) {
          yield* Effect.provide(
            PgClient.use((client) => client.unsafe(`drop table if exists ${schema}.search_vectors`)),
            hostClient(url)
          )
          const kept = yield* Effect.all(
            Array.from({ length: 4 }, () => process),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(kept, [true, true, true, true])
        }
      }),
    limit
  )
})
