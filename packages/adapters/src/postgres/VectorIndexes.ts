/**
 * Builds indexes of vectors for scopes that are too large for a fast exact search, one index for each vector length that occurs in them. The
 * indexes are built without locking the table, outside of a transaction and without a timeout. A search in large scopes uses an index if
 * one exists.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { StoreUnavailable } from "@colloquy/core"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import { quote } from "./Names.ts"
import { exactLimit } from "./schema/Chunks.ts"
import { guard } from "./StoreFault.ts"

/**
 * Returns the vector lengths that have an index now; none if another process is building. The client must have a single connection that is
 * closed afterwards, because the advisory lock belongs to the connection.
 */
export const buildVectorIndexes = (
  client: PgClient,
  schemaName: string
): Effect.Effect<ReadonlyArray<number>, StoreUnavailable> =>
  guard("ChunkIndex.indexVectors")<ReadonlyArray<number>, never, never>(build(client, schemaName))

const build = Effect.fnUntraced(function* (
  client: PgClient,
  schemaName: string
): Effect.fn.Return<ReadonlyArray<number>, SqlError> {
  const schema = quote(schemaName)
  const [state] = yield* client.unsafe<{ readonly mine: boolean; readonly kept: boolean }>(
    `select pg_try_advisory_lock(hashtextextended($1, 0)) as mine, to_regclass($2) is not null as kept`,
    [`colloquy vectors ${schemaName}`, `${schema}.search_vectors`]
  ).withoutTransform
  if (state?.mine !== true || !state.kept) return []
  const wanted = yield* client.unsafe<{ readonly dimensions: number; readonly extension: string }>(
    `select distinct v.dimensions::int as dimensions, n.nspname::text as extension
       from (select owner, scope from ${schema}.search_entries where state = 'ready'
             group by owner, scope having sum(chunks) > $1) s
       cross join lateral (select distinct dimensions from ${schema}.search_vectors
             where owner = s.owner and scope_key = hashtextextended(s.scope, 0)) v
       join pg_extension e on e.extname = 'vector' join pg_namespace n on n.oid = e.extnamespace
       order by 1`,
    [exactLimit]
  ).withoutTransform
  for (const { dimensions, extension } of wanted) {
    const name = `search_vectors_near_${dimensions}`
    const half = `${quote(extension)}.halfvec`
    const invalid = yield* client.unsafe(
      `select 1 as found from pg_index where indexrelid = to_regclass($1) and not indisvalid`,
      [`${schema}.${name}`]
    )
    // An interrupted build leaves an invalid index.
    if (invalid.length > 0) yield* client.unsafe(`drop index ${schema}.${name}`).unprepared
    yield* client.unsafe(
      `create index concurrently if not exists ${name} on ${schema}.search_vectors
         using hnsw ((embedding::${half}(${dimensions})) ${half}_cosine_ops) where dimensions = ${dimensions}`
    ).unprepared
  }
  return wanted.map(({ dimensions }) => dimensions)
})
