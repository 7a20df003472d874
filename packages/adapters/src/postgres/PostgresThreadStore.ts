/** `ThreadStore` on PostgreSQL. Each method sends one statement, except `mergeMetadata`. */
import type { OwnerId, StoreUnavailable, ThreadId } from "@colloquy/core"
import type { Metadata } from "@colloquy/core/adapters"
import { Principal } from "@colloquy/core"
import { ThreadInSession, ThreadStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { call, type Database, type Parameter } from "./Database.ts"
import type { KnownHistories } from "./KnownHistories.ts"
import { decodeListed } from "./ListedRecord.ts"
import { decodeList, type MessageRow, unfinishedText } from "./MessageRecord.ts"
import { functionName } from "./schema/FunctionNames.ts"
import { isStoredId, knownId, newRowId } from "./StoredId.ts"
import { fromJsonOrNull, toJson, toText } from "./StoredText.ts"
import { decodeThread, threadColumns, type ThreadRow } from "./ThreadRecord.ts"

export const threadStore = (database: Database, histories: KnownHistories): typeof ThreadStore.Service => {
  const { brief, query, schema } = database

  return ThreadStore.of({
    insert: (thread) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query(
            "ThreadStore.insert",
            // The lock prevents that the assistant is removed before the thread is committed.
            `insert into ${schema}.threads (id, owner, assistant_id, metadata, created_at, updated_at)
             select $3, a.owner, a.id, $4, $5, $6 from ${schema}.assistants a where a.id = $1 and a.owner = $2 for key share
             returning id`,
            [
              knownId(thread.assistantId),
              toText(ownerId),
              newRowId(thread.id),
              toJson(thread.metadata),
              thread.createdAt,
              thread.updatedAt
            ]
          ),
          (rows) => rows.length > 0
        )
      ),

    get: (id) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          brief<ThreadRow>(
            "ThreadStore.get",
            `select ${threadColumns} from ${schema}.threads t where t.id = $1 and t.owner = $2`,
            [knownId(id), toText(ownerId)]
          ),
          ([row]) => Option.map(Option.fromNullishOr(row), decodeThread)
        )
      ),

    list: ({ limit, skip }, assistantId) =>
      Principal.use(({ ownerId }) => {
        const ofAssistant = assistantId === undefined ? "" : "and t.assistant_id = $4"
        const parameters: ReadonlyArray<Parameter> = [toText(ownerId), skip, limit]
        return Effect.map(
          query<ThreadRow>(
            "ThreadStore.list",
            `select ${threadColumns} from ${schema}.threads t where t.owner = $1 ${ofAssistant}
             order by t.created_at, t.ordinal offset $2 limit $3`,
            assistantId === undefined ? parameters : [...parameters, knownId(assistantId)]
          ),
          (rows) => rows.map(decodeThread)
        )
      }),

    messages: (ids) => Effect.map(messagesOf(database, ids), decodeList),

    listed: (ids) => Effect.map(messagesOf(database, ids), decodeListed),

    messagesBefore: (id, sequence, limit) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<MessageRow>(
            "ThreadStore.messagesBefore",
            `select message from (
               select m.sequence, ${schema}.${functionName("message_text")}(m) as message from ${schema}.messages m
               where m.owner = $1 and m.thread_id = $2 and m.sequence > 0 and m.sequence < $3 order by m.sequence desc limit $4) newest
             order by sequence`,
            [toText(ownerId), knownId(id), sequence, limit]
          ),
          decodeList
        )
      ),

    mergeMetadata: (id, fields) => Principal.use(({ ownerId }) => mergeMetadata(database, ownerId, id, fields)),

    setSummary: (id, summary) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query(
            "ThreadStore.setSummary",
            `update ${schema}.threads set summary = $3, summarized_through = $4
             where id = $1 and owner = $2 and summarized_through < $4 returning id`,
            [knownId(id), toText(ownerId), toJson(summary), summary.throughSequence]
          ),
          (rows) => rows.length > 0
        )
      ),

    remove: (id) =>
      Principal.use(({ ownerId }) => {
        const args = { owner: toText(ownerId), thread: knownId(id) }
        return Effect.flatMap(
          query<{ readonly removed: boolean | null }>(
            "ThreadStore.remove",
            `select ${call(database, "remove_thread", args)} as removed`,
            Object.values(args)
          ),
          ([row]) => {
            if (row?.removed === null) return new ThreadInSession({ threadId: id })
            histories.forget(ownerId, id)
            return Effect.succeed(row?.removed === true)
          }
        )
      })
  })
}

/**
 * The metadata are merged in this process, because PostgreSQL's `jsonb` cannot store every JSON text and changes the order of fields. The
 * result is stored only if the metadata have not changed since they were read; otherwise they are read and merged again.
 */
const mergeMetadata = Effect.fnUntraced(function* (
  { query, schema }: Database,
  ownerId: OwnerId,
  id: ThreadId,
  fields: Metadata | ((now: Metadata) => Metadata)
): Effect.fn.Return<boolean, StoreUnavailable> {
  const place = [knownId(id), toText(ownerId)]
  while (true) {
    const [found] = yield* query<{ readonly metadata: string | null }>(
      "ThreadStore.mergeMetadata",
      `select metadata from ${schema}.threads where id = $1 and owner = $2`,
      place
    )
    if (found === undefined) return false
    const now = fromJsonOrNull<Metadata>(found.metadata) ?? {}
    const merged = toJson({ ...now, ...(typeof fields === "function" ? fields(now) : fields) })
    const written = yield* query(
      "ThreadStore.mergeMetadata",
      `update ${schema}.threads set metadata = $3
       where id = $1 and owner = $2 and metadata is not distinct from $4 returning id`,
      [...place, merged, found.metadata]
    )
    if (written.length > 0) return true
  }
})

const messagesOf = (
  { query, schema }: Database,
  ids: ReadonlyArray<ThreadId>
): Effect.Effect<ReadonlyArray<MessageRow>, StoreUnavailable, Principal> =>
  Principal.use(({ ownerId }) => {
    const known = ids.filter(isStoredId)
    const [only] = known
    if (only === undefined) return Effect.succeed([])
    const owner = toText(ownerId)
    return known.length > 1
      ? query<MessageRow>("ThreadStore.messages", messagesOfThreads(schema), [owner, known])
      : Effect.map(query<ThreadMessageRow>("ThreadStore.messages", messagesOfThread(schema), [owner, only]), withAnswer)
  })

/** The stored messages of several threads, and the answers of runs in progress, which have no row yet. */
const messagesOfThreads = (schema: string): string =>
  `select wanted.place, m.sequence, ${schema}.${functionName("message_text")}(m) as message
    from unnest($2::uuid[]) with ordinality wanted (id, place)
    join ${schema}.messages m on m.thread_id = wanted.id and m.owner = $1 and m.sequence > 0
    union all
    select wanted.place, t.message_count + 1, ${unfinishedText}
    from unnest($2::uuid[]) with ordinality wanted (id, place)
    join ${schema}.threads t on t.id = wanted.id and t.owner = $1
    join ${schema}.active_runs a on a.thread_id = t.id and a.owner = t.owner and a.place = 0
    join ${schema}.runs r on r.id = a.run_id and r.owner = a.owner
    order by place, sequence`

/**
 * The same for one thread. It is read in the order of an index and not sorted. The answer of a run in progress is a column of the first
 * message's row; a first message always exists, because no run begins without a message of the user.
 */
const messagesOfThread = (schema: string): string =>
  `select ${schema}.${functionName("message_text")}(m) as message, case when m.sequence = 1 then (
      select ${unfinishedText} from ${schema}.threads t
      join ${schema}.active_runs a on a.thread_id = t.id and a.owner = t.owner and a.place = 0
      join ${schema}.runs r on r.id = a.run_id and r.owner = a.owner
      where t.id = $2 and t.owner = $1
    ) end as answer
    from ${schema}.messages m where m.thread_id = $2 and m.owner = $1 and m.sequence > 0
    order by m.sequence`

interface ThreadMessageRow extends MessageRow {
  readonly answer: string | null
}

const withAnswer = (rows: ReadonlyArray<ThreadMessageRow>): ReadonlyArray<MessageRow> => {
  const answer = rows[0]?.answer ?? null
  return answer === null ? rows : [...rows, { message: answer }]
}
