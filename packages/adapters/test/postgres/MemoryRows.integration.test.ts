/**
 * What the database reads for an import of memories and for a search does not grow with the memories that are there, on a database without
 * statistics: an embedded one has nothing that makes them. Counted in rows, which no load of the machine changes.
 */
import { Assistants, Kernel, Principal, Providers } from "@colloquy/core"
import { Memories, Memory } from "@colloquy/core/memory"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { onEmbedded } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"

const memoryLines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) =>
    JSON.stringify({ content: `The user has a kettle, number ${from + at}.` })
  ).join("\n")

/** The rows that the work reads, by table. */
const rowsRead = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const client = yield* PgClient
    // What was counted before is written down first, otherwise it would be later.
    yield* client.unsafe("select pg_stat_force_next_flush()")
    yield* client.unsafe("select pg_stat_reset()")
    yield* work
    yield* client.unsafe("select pg_stat_force_next_flush()")
    const rows = yield* client.unsafe<{ readonly relname: string; readonly read: number }>(
      `select t.relname, (coalesce(t.seq_tup_read, 0) + coalesce(sum(i.idx_tup_read), 0))::integer as read
       from pg_stat_user_tables t left join pg_stat_user_indexes i on i.relid = t.relid group by t.relid, t.relname, t.seq_tup_read`
    )
    return new Map(rows.map(({ read, relname }) => [relname, read]))
  })

const totalRows = (rows: ReadonlyMap<string, number>): number => [...rows.values()].reduce((sum, read) => sum + read, 0)

const room = Memory.layer().pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provideMerge(Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } })),
  Layer.provideMerge(Postgres.layerFromClient().pipe(Layer.provideMerge(Pglite.layerClient())))
)

onEmbedded("PGlite", () => {
  it.live(
    "400 memories more read as many rows where there are 2,000 as where there are none, and a rare word reads its own rows",
    () =>
      Effect.gen(function* () {
        const { id } = yield* (yield* Assistants).create({ name: "A" })
        const memories = yield* Memories
        const first = yield* rowsRead(memories.import(id, memoryLines(0, 400)))
        yield* memories.import(id, memoryLines(400, 2_000))
        const later = yield* rowsRead(memories.import(id, memoryLines(2_000, 2_400)))
        assert.isAtMost(totalRows(later) / totalRows(first), 1.2)
        const again = yield* rowsRead(memories.import(id, memoryLines(2_000, 2_400)))
        assert.isAtMost(again.get("memories") ?? 0, 1_000, "rows of memories, for 400 that are known")
        const search = yield* rowsRead(memories.search(id, "777", 10))
        assert.isAtMost(search.get("search_postings") ?? 0, 10)
        assert.isAtMost(search.get("search_chunks") ?? 0, 10)
        assert.isAtMost(search.get("memories") ?? 0, 10)
        // The number of all of them is part of the rank. Those of the last batch are there twice, until a search or a vacuum removes them.
        assert.isAtMost(search.get("search_entries") ?? 0, 2_700)
      }).pipe(Principal.provide("ada"), Effect.provide(room)),
    120_000
  )
})
