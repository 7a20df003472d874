/** `MemoryStore` on Postgres. Each method is one statement; a search is that of the index of chunks, joined with the memories. */
import { type AssistantId, Principal, type StoreUnavailable } from "@colloquy/core"
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
import { type Arguments, call, type Database, type Parameter } from "./Database.ts"
import {
  changesArgument,
  decodeMemory,
  decodeVersion,
  hashOfContent,
  memoryColumns,
  type MemoryRow,
  type VersionRow
} from "./MemoryRow.ts"
import { searchArguments } from "./PostgresChunkIndex.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromTextOrNull, toText } from "./StoredText.ts"

interface HitRow extends MemoryRow {
  readonly score: number
  readonly lexical: bigint | null
  readonly semantic: number | null
}

/** `keepsVectors`: the table of vectors is there. */
export const memoryStore = (database: Database, keepsVectors: boolean): typeof MemoryStore.Service => {
  const { query, schema } = database
  const table = `${schema}.memories m`

  /** The owner is the first parameter of every statement. */
  const asked = <Row extends object>(operation: string, statement: string, parameters: ReadonlyArray<Parameter>) =>
    Principal.use(({ ownerId }) => query<Row>(`MemoryStore.${operation}`, statement, [toText(ownerId), ...parameters]))
  /** One call of a function that answers one value. */
  const answer = <A>(
    operation: string,
    name: string,
    args: Arguments
  ): Effect.Effect<A | null, StoreUnavailable, Principal> =>
    Principal.use(({ ownerId }) => {
      const all = { owner: toText(ownerId), ...args }
      const statement = `select ${call(database, name, all)} as answer`
      return Effect.map(
        query<{ readonly answer: A | null }>(`MemoryStore.${operation}`, statement, Object.values(all)),
        ([row]) => row?.answer ?? null
      )
    })
  const ofAssistant = `m.owner = $1 and m.assistant_id = $2`

  return MemoryStore.of({
    keepsVectors,

    apply: ({ assistantId, at, changes, learned }) =>
      Effect.suspend(() =>
        Effect.map(
          answer<string>("apply", "apply_memory_changes", {
            assistant: knownId(assistantId),
            run: learned === null ? null : newRowId(learned.runId),
            ordered_at: learned?.orderedAt ?? null,
            at,
            changes: changesArgument(changes, keepsVectors)
          }),
          (outcomes) => Option.map(Option.fromNullishOr(outcomes), (stored) => decodeOutcomes(stored, changes))
        )
      ),

    applied: (runId) =>
      Effect.map(
        asked<{ assistant_id: AssistantId; outcomes: string; applied_at: Date; texts: string }>(
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
        asked<MemoryRow>("get", `select ${memoryColumns} from ${table} where ${ofAssistant} and m.id = $3`, [
          knownId(assistantId),
          knownId(id)
        ]),
        ([row]) => Option.map(Option.fromNullishOr(row), decodeMemory)
      ),

    // A page behind the last memory is one row that holds the total alone.
    list: (assistantId, window) =>
      Effect.map(
        asked<{ readonly total: bigint } & (MemoryRow | { readonly id: null })>(
          "list",
          `with page as (
             select m.ordinal, ${memoryColumns} from ${table} where ${ofAssistant} order by m.created_at, m.ordinal offset $3 limit $4
           )
           select counted.total, m.* from (select count(*) as total from ${table} where ${ofAssistant}) counted
           left join page m on true order by m.created_at, m.ordinal`,
          [knownId(assistantId), window?.skip ?? 0, window?.limit ?? null]
        ),
        (rows) => ({
          total: Number(rows[0]?.total ?? 0),
          memories: rows.flatMap((row) => (row.id === null ? [] : [decodeMemory(row)]))
        })
      ),

    history: (assistantId, id) =>
      Effect.map(
        asked<VersionRow>(
          "history",
          `select v.content, v.metadata, v.source, v.confirmed_by, v.valid_from, v.valid_until, v.written_at, v.replaced_at
           from ${table} join ${schema}.memory_versions v on v.owner = m.owner and v.memory_id = m.id
           where ${ofAssistant} and m.id = $3 order by v.ordinal desc`,
          [knownId(assistantId), knownId(id)]
        ),
        (rows) => rows.map(decodeVersion)
      ),

    survey: (assistantId) =>
      Effect.map(
        asked<{ readonly total: bigint; readonly newest: Date | null }>(
          "survey",
          `select count(*) as total, max(m.updated_at) as newest from ${table} where ${ofAssistant}`,
          [knownId(assistantId)]
        ),
        ([row]) => ({ total: Number(row?.total ?? 0), lastUpdated: row?.newest ?? null })
      ),

    removeAll: (assistantId, at) =>
      Effect.map(answer<string>("removeAll", "forget_memories", { assistant: knownId(assistantId), at }), (removed) =>
        removed === null ? { memories: 0, versions: 0 } : fromJson<RemovedMemories>(removed)
      ),

    copyAll: (from, to) => {
      /** A statement for each so many, because one has a limit in time. */
      const copyAfter = (after: bigint): Effect.Effect<number, StoreUnavailable, Principal> =>
        Effect.gen(function* () {
          const args = { from: knownId(from), to: knownId(to), after, limit: copiedAtOnce }
          const stored = yield* answer<string>("copyAll", "copy_memories", args)
          if (stored === null) return 0
          const { copied, last, seen } = fromJson<CopiedPage>(stored)
          return copied + (seen < copiedAtOnce ? 0 : yield* copyAfter(BigInt(last)))
        })
      return copyAfter(0n)
    },

    search: ({ assistantId, limit, terms, trueAt, vector }) => {
      const scopes = [scopeOfMemories(assistantId)]
      /** The best so many, of which some may no longer be true. */
      const best = (wanted: number) =>
        Principal.use(({ ownerId }) => {
          const args = searchArguments(toText(ownerId), { scopes, terms, vector, limit: wanted }, keepsVectors)
          // The planner takes the search for a thousand rows; laterally each memory is looked up by its key all the same.
          return query<HitRow>(
            "MemoryStore.search",
            `select ${memoryColumns}, s.score, s.lexical, s.semantic
             from ${call(database, "search_chunks", args)} with ordinality
               s (scope, document, ordinal, score, lexical, semantic, body, place, rank)
             cross join lateral (select * from ${table} where m.owner = $1 and m.id = s.document limit 1) m order by s.rank`,
            Object.values(args)
          )
        })
      const hitsOf = (rows: ReadonlyArray<HitRow>) =>
        rows.filter(({ valid_until: until }) => trueAt === null || until === null || until > trueAt).slice(0, limit)
      // Few are past, so a few more than are wanted mostly do; the whole answer of the index costs half as much again.
      const few = limit + (trueAt === null ? 0 : 8)
      return Effect.gen(function* () {
        const first = yield* best(Math.min(few, candidates * 2))
        const isEnough = hitsOf(first).length === limit || first.length < few
        return hitsOf(isEnough ? first : yield* best(candidates * 2)).map(decodeHit)
      })
    },

    withoutVectors: (assistantId, model, limit) =>
      !keepsVectors
        ? Effect.succeed([])
        : Effect.map(
            asked<MemoryRow>(
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
            answer<number>("setVectors", "set_memory_vectors", {
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

/** An id that no row can have is stored as null; the change beside it has it. */
const decodeOutcomes = (stored: string, changes: ReadonlyArray<MemoryChange> = []): ReadonlyArray<MemoryOutcome> =>
  fromJson<ReadonlyArray<{ readonly event: MemoryOutcome["event"]; readonly id: string | null }>>(stored).map(
    ({ event, id }, index) => {
      const change = changes[index]
      return { event, id: MemoryId.make(id ?? (change?._tag === "Delete" ? change.id : "unknown")) }
    }
  )
