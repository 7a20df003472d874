/** `MemoryStore` on PostgreSQL. Most methods send one statement. A search is a search in the index of chunks, joined with the memories. */
import { type AssistantId, Principal } from "@colloquy/core"
import {
  candidates,
  type MemoryChange,
  type MemoryHit,
  MemoryId,
  type MemoryOutcome,
  MemoryStore,
  type RemovedMemories,
  scopeOfMemories,
  scoreUnit
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { encodeVector } from "./ChunkRecord.ts"
import { call, type Database } from "./Database.ts"
import {
  besideArgument,
  changesArgument,
  decodeMemory,
  decodeVersion,
  hashOfContent,
  memoryColumns,
  type MemoryRow,
  type VersionRow
} from "./MemoryRow.ts"
import { decodeRows } from "./DecodedRows.ts"
import { searchArguments } from "./PostgresChunkIndex.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { isStoredId, knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromTextOrNull, toText } from "./StoredText.ts"

interface HitRow extends MemoryRow {
  readonly score: number
  readonly lexical: bigint | null
  readonly semantic: number | null
}

/** `keepsVectors` is true when the table of vectors exists. */
export const memoryStore = (database: Database, keepsVectors: boolean): typeof MemoryStore.Service => {
  const { query, schema } = database
  const table = `${schema}.memories m`

  const own = ownedStatements(database, "MemoryStore")
  const ofAssistant = `m.owner = $1 and m.assistant_id = $2`

  return MemoryStore.of({
    keepsVectors,

    apply: ({ assistantId, at, beside, changes, learned, most = null }) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<string>("apply", "apply_memory_changes", {
            assistant: knownId(assistantId),
            run: learned === null ? null : newRowId(learned.runId),
            ordered_at: learned?.orderedAt ?? null,
            thread: learned?.threadId === undefined ? null : newRowId(learned.threadId),
            at,
            changes: changesArgument(changes, keepsVectors),
            most: most === null || most === Number.POSITIVE_INFINITY ? null : Math.ceil(most),
            beside: besideArgument(beside)
          }),
          (outcomes) => Option.map(Option.fromNullishOr(outcomes), (stored) => decodeOutcomes(stored, changes))
        )
      ),

    applied: (runId) =>
      Effect.map(
        own.rows<{ assistant_id: AssistantId; outcomes: string; applied_at: Date; texts: string }>(
          "applied",
          `select r.assistant_id, r.outcomes, r.applied_at, (
             select coalesce(json_object_agg(m.id, m.content), '{}')::text from ${table}
             where ${ofAssistant.replace("$2", "r.assistant_id")}
               and m.id = any (array(select (o ->> 'id')::uuid from json_array_elements(r.outcomes::json) o))
           ) as texts
           from ${schema}.memory_runs r where r.owner = $1 and r.run_id = $2`,
          [knownId(runId)]
        ),
        ([row]) =>
          Option.map(Option.fromNullishOr(row), ({ applied_at, assistant_id, outcomes, texts }) => {
            const contents = fromJson<{ readonly [id: string]: string }>(texts)
            return {
              assistantId: assistant_id,
              appliedAt: applied_at,
              outcomes: decodeOutcomes(outcomes).map((outcome) => ({
                ...outcome,
                content: fromTextOrNull(contents[outcome.id] ?? null)
              }))
            }
          })
      ),

    get: (assistantId, id) =>
      Effect.map(
        own.rows<MemoryRow>("get", `select ${memoryColumns} from ${table} where ${ofAssistant} and m.id = $3`, [
          knownId(assistantId),
          knownId(id)
        ]),
        ([row]) => Option.map(Option.fromNullishOr(row), decodeMemory)
      ),

    existing: (ids) =>
      Effect.map(
        own.rows<{ readonly id: MemoryId }>(
          "existing",
          `select m.id from ${table} where m.owner = $1 and m.id = any ($2::uuid[])`,
          [ids.filter(isStoredId)]
        ),
        (rows) => rows.map(({ id }) => id)
      ),

    // A page after the last memory is one row that contains only the total.
    list: (assistantId, window) =>
      Effect.flatMap(
        own.rows<{ readonly total: bigint } & (MemoryRow | { readonly id: null })>(
          "list",
          `with page as (
             select m.ordinal, ${memoryColumns} from ${table} where ${ofAssistant} order by m.created_at, m.ordinal offset $3 limit $4
           )
           select counted.total, m.* from (select count(*) as total from ${table} where ${ofAssistant}) counted
           left join page m on true order by m.created_at, m.ordinal`,
          [knownId(assistantId), window?.skip ?? 0, window?.limit ?? null]
        ),
        (rows) => {
          const total = Number(rows[0]?.total ?? 0)
          const found = rows.flatMap((row) => (row.id === null ? [] : [row]))
          return Effect.map(decodeRows(found, decodeMemory), (memories) => ({ total, memories }))
        }
      ),

    history: (assistantId, id) =>
      Effect.map(
        own.rows<VersionRow>(
          "history",
          `select v.content, v.metadata, v.source, v.confirmed_by, v.valid_from, v.valid_until, v.written_at, v.replaced_at
           from ${table} join ${schema}.memory_versions v on v.owner = m.owner and v.memory_id = m.id
           where ${ofAssistant} and m.id = $3 order by v.ordinal desc`,
          [knownId(assistantId), knownId(id)]
        ),
        (rows) => rows.map(decodeVersion)
      ),

    beside: (assistantId, positions, reach) => {
      const ofSession = `${ofAssistant} and m.session = p.session and m.source is null`
      const moment = `coalesce(m.said_at, m.created_at)`
      const written = `(select o.ordinal from ${schema}.memories o where o.owner = $1 and o.id = p.id)`
      const position = `(p.at, coalesce(${written}, ${lastOrdinal}))`
      const side = (before: boolean) =>
        `(select ${moment} as moment, m.ordinal as place, ${memoryColumns} from ${table}
          where ${ofSession} and (${moment}, m.ordinal) ${before ? "<=" : ">"} ${position}
          order by moment ${before ? "desc" : "asc"}, m.ordinal ${before ? "desc" : "asc"} limit $4)`
      return Effect.map(
        own.rows<MemoryRow>(
          "beside",
          `select distinct on (s.moment, s.place) s.* from json_to_recordset($3::json) p (session text, at timestamptz, id uuid)
           cross join lateral (${side(true)} union all ${side(false)}) s order by s.moment, s.place`,
          [
            knownId(assistantId),
            JSON.stringify(
              positions.map(({ at, id, session }) => ({
                session: toText(session),
                at,
                id: id === null ? null : knownId(id)
              }))
            ),
            reach
          ]
        ),
        (rows) => rows.map(decodeMemory)
      )
    },

    survey: (assistantId) =>
      Effect.map(
        own.rows<{ readonly total: bigint; readonly newest: Date | null }>(
          "survey",
          `select count(*) as total, max(m.updated_at) as newest from ${table} where ${ofAssistant}`,
          [knownId(assistantId)]
        ),
        ([row]) => ({ total: Number(row?.total ?? 0), lastUpdated: row?.newest ?? null })
      ),

    removeAll: (assistantId, at) =>
      Effect.map(own.call<string>("removeAll", "forget_memories", { assistant: knownId(assistantId), at }), (removed) =>
        removed === null ? { memories: 0, versions: 0 } : fromJson<RemovedMemories>(removed)
      ),

    /** Copies in pages, because one statement for all memories might exceed the timeout. */
    copyAll: Effect.fnUntraced(function* (from, to) {
      let total = 0
      for (let after = 0n; ;) {
        const args = { from: knownId(from), to: knownId(to), after, limit: copiedAtOnce }
        const stored = yield* own.call<string>("copyAll", "copy_memories", args)
        if (stored === null) return total
        const { copied, last, seen } = fromJson<CopiedPage>(stored)
        total += copied
        if (seen < copiedAtOnce) return total
        after = BigInt(last)
      }
    }),

    search: Effect.fnUntraced(function* ({ assistantId, limit, terms, trueAt, vector }) {
      const scopes = [scopeOfMemories(assistantId)]
      /** The best `wanted` memories. Some of them may not be valid any more. */
      const best = (wanted: number) =>
        Principal.use(({ ownerId }) => {
          const args = searchArguments(toText(ownerId), { scopes, terms, vector, limit: wanted }, keepsVectors)
          // The planner expects a thousand rows from the function. The lateral join makes it look up each memory by its key nevertheless.
          return query<HitRow>(
            "MemoryStore.search",
            `select ${memoryColumns}, s.score, s.lexical, s.semantic
             from ${call(database, "search_chunks", args)} with ordinality
               s (scope, document, ordinal, score, lexical, semantic, body, place, rank)
             cross join lateral (select * from ${table} where m.owner = $1 and m.id = s.document limit 1) m order by s.rank`,
            Object.values(args)
          )
        })
      const liveHits = (rows: ReadonlyArray<HitRow>) =>
        rows.filter(({ valid_until: until }) => trueAt === null || until === null || until > trueAt).slice(0, limit)
      // Few memories have expired, so asking for 8 more than `limit` is usually enough. Asking for all candidates takes half as long again.
      const few = limit + (trueAt === null ? 0 : 8)
      const first = yield* best(Math.min(few, candidates * 2))
      const isEnough = liveHits(first).length === limit || first.length < few
      return liveHits(isEnough ? first : yield* best(candidates * 2)).map(decodeHit)
    }),

    withoutVectors: (assistantId, model, limit) =>
      !keepsVectors
        ? Effect.succeed([])
        : Effect.map(
            own.rows<MemoryRow>(
              "withoutVectors",
              `select ${memoryColumns} from ${table} where ${ofAssistant} and not exists (
                 select from ${schema}.search_entries e
                 join ${schema}.search_vectors v on v.owner = e.owner and v.entry = e.id and v.model = $3
                   and ($6::integer is null or v.dimensions = $6)
                 where e.owner = $1 and e.scope = $4 and e.document = m.id and e.state = 'ready')
               order by m.created_at, m.ordinal limit $5`,
              [knownId(assistantId), toText(model.name), toText(scopeOfMemories(assistantId)), limit, model.dimensions]
            ),
            (rows) => rows.map(decodeMemory)
          ),

    setVectors: (assistantId, model, vectors) =>
      !keepsVectors
        ? Effect.succeed(0)
        : Effect.map(
            own.call<number>("setVectors", "set_memory_vectors", {
              assistant: knownId(assistantId),
              model: toText(model.name),
              dimensions: model.dimensions,
              ids: vectors.map(({ id }) => newRowId(id)),
              hashes: vectors.map(({ content }) => hashOfContent(content)),
              vectors: vectors.map(({ values }) => encodeVector(values))
            }),
            (set) => set ?? 0
          )
  })
}

const copiedAtOnce = 500

/** An ordinal that is larger than that of every memory. */
const lastOrdinal = "9223372036854775807"

interface CopiedPage {
  readonly seen: number
  readonly copied: number
  readonly last: string
}

const decodeHit = (row: HitRow): MemoryHit => ({
  memory: decodeMemory(row),
  score: row.score,
  lexical: row.lexical === null ? null : Number(row.lexical) / scoreUnit,
  semantic: row.semantic
})

/** The function returns null for an id that is not a UUID; the id is then taken from the change at the same position. */
const decodeOutcomes = (stored: string, changes: ReadonlyArray<MemoryChange> = []): ReadonlyArray<MemoryOutcome> =>
  fromJson<ReadonlyArray<{ readonly event: MemoryOutcome["event"]; readonly id: string | null }>>(stored).map(
    ({ event, id }, index) => {
      const change = changes[index]
      return { event, id: MemoryId.make(id ?? (change?._tag === "Delete" ? change.id : "unknown")) }
    }
  )
