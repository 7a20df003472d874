/** A large document is put in time in line with its size, and leaves statistics for the database that has nothing else to make them. */
import { DocumentId, newId } from "@colloquy/core/adapters"
import { asNewOwner } from "@colloquy/testing/contracts"
import { ChunkIndex, unknownPosition, SearchScope } from "@colloquy/core/retrieval"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { onEmbedded } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"

const scope = SearchScope.make("scope")

/** Chunks whose terms are made each time they are asked for, as those that come from the process that reads files. */
const sampleChunks = (segments: number) =>
  Array.from({ length: segments * 256 }, (_, ordinal) => ({
    chunk: { ...unknownPosition, ordinal, text: `Chunk ${ordinal}.`, repeated: 0 },
    get impacts() {
      return new Map(Array.from({ length: 60 }, (__, at) => [`term${(ordinal * 31 + at * at) % 20_000}`, at + 1]))
    }
  }))

const cpu = () => {
  const { system, user } = process.cpuUsage()
  return user + system
}

const timed = Effect.fnUntraced(function* (segments: number) {
  const index = yield* ChunkIndex
  const chunks = sampleChunks(segments)
  const documentId = yield* newId(DocumentId)
  const from = cpu()
  yield* index.put({ documentId, scope, language: "en", chunks, vectors: null })
  return cpu() - from
})

onEmbedded("PGlite", () => {
  it.live("a new file of the log is not filled with zeros, which would hold the thread", () =>
    Effect.gen(function* () {
      const [log] = yield* PgClient.use((client) =>
        client.unsafe<{ readonly wal_init_zero: string }>("show wal_init_zero")
      )
      assert.strictEqual(log?.wal_init_zero, "off")
    }).pipe(Effect.provide(Pglite.layerClient()))
  )

  it.live("four times the text takes about four times the CPU", () =>
    Effect.gen(function* () {
      yield* timed(2)
      const [small, large] = [yield* timed(4), yield* timed(16)]
      assert.isBelow(large / small, 8)
      const [analyzed] = yield* PgClient.use((client) =>
        client.unsafe<{ readonly known: boolean }>(
          "select bool_and(reltuples > 0) as known from pg_class where relname in ('search_chunks', 'search_postings')"
        )
      )
      assert.isTrue(analyzed?.known)
      const columns = yield* PgClient.use((client) =>
        client.unsafe<{ readonly attname: string }>("select attname from pg_stats where tablename like 'search\\_%'")
      )
      const names = columns.map(({ attname }) => attname)
      assert.includeMembers(names, ["ordinal", "term", "scope_key"])
      // These are large: to read them for statistics would hold the thread longer with each document.
      const content = ["body", "place", "offsets", "impacts"]
      assert.deepStrictEqual(
        names.filter((name) => content.includes(name)),
        []
      )
    }).pipe(asNewOwner, Effect.provide(Postgres.layerChunkIndex().pipe(Layer.provideMerge(Pglite.layerClient()))))
  )
})
