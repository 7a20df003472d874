/** `ThreadStore` on PostgreSQL. Each method sends one statement, except `mergeMetadata`. */
import type { OwnerId, StoreUnavailable, ThreadId } from "@colloquy/core"
import type { Metadata } from "@colloquy/core/adapters"
import { Principal } from "@colloquy/core"
import { ThreadInSession, ThreadStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { Database } from "./Database.ts"
import { decodeRows } from "./DecodedRows.ts"
import type { KnownHistories } from "./KnownHistories.ts"
import { decodeListed } from "./ListedRecord.ts"
import { decodeList, type MessageRow, unfinishedText } from "./MessageRecord.ts"
import { removeWith } from "./Removals.ts"
import { storedCount } from "./schema/SchemaPart.ts"
import { messageText } from "./schema/Threads.ts"
import { isStoredId, knownId, newRowId } from "./StoredId.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { fromJsonOrNull, toJson, toText } from "./StoredText.ts"
import { decodeThread, threadColumns, type ThreadRow } from "./ThreadRecord.ts"

export const threadStore = (database: Database, histories: KnownHistories): typeof ThreadStore.Service => {
  const { brief, schema } = database
  const own = ownedStatements(database, "ThreadStore")
  const briefly = ownedStatements(database, "ThreadStore", brief)

  return ThreadStore.of({
    insert: (thread) =>
      Effect.suspend(() =>
        own.finds(
          "insert", // The lock keeps the assistant from being removed before the thread is committed.
          `with a as (select owner, id from ${schema}.assistants where id = $2 and owner = $1 for key share)
             insert into ${schema}.threads (id, owner, assistant_id, metadata, created_at, updated_at, assistant_version, scratch)
             select $3::uuid, owner, id, $4, $5::timestamptz, $6::timestamptz, $7::integer, $8::boolean from a returning id`,
          [
            knownId(thread.assistantId),
            newRowId(thread.id),
            toJson(thread.metadata),
            thread.createdAt,
            thread.updatedAt,
            thread.assistantVersion,
            thread.scratch === true
          ]
        )
      ),

    get: (id) =>
      briefly.first(
        "get",
        `select ${threadColumns} from ${schema}.threads t where t.id = $2 and t.owner = $1`,
        [knownId(id)],
        decodeThread
      ),

    list: ({ limit, skip }, assistantId) =>
      Effect.flatMap(
        own.rows<ThreadRow>(
          "list",
          `select ${threadColumns} from ${schema}.threads t where t.owner = $1 and not t.scratch ${assistantId === undefined ? "" : "and t.assistant_id = $4"}
           order by t.created_at, t.ordinal offset $2 limit $3`,
          [skip, limit, ...(assistantId === undefined ? [] : [knownId(assistantId)])]
        ),
        (rows) => decodeRows(rows, decodeThread)
      ),

    messages: (ids) => readMessages(database, ids, decodeList),

    listed: (ids) => readMessages(database, ids, decodeListed),

    messagesBefore: (id, sequence, limit) =>
      Effect.map(
        own.rows<MessageRow>(
          "messagesBefore",
          `select message from (
               select m.sequence, ${messageText("m")} as message from ${schema}.messages m
               where m.owner = $1 and m.thread_id = $2 and m.sequence > 0 and m.sequence < $3 and ${isThread(schema)} order by m.sequence desc limit $4) newest
             order by sequence`,
          [knownId(id), storedCount(sequence), storedCount(limit)]
        ),
        decodeList
      ),

    mergeMetadata: (id, fields) => Principal.use(({ ownerId }) => mergeMetadata(database, ownerId, id, fields)),

    handOver: (id, assistantId) =>
      own.finds(
        "handOver", // The lock keeps the assistant from being removed before the thread is committed.
        `with acting as (
               select a.id from ${schema}.assistants a where a.id = $3 and a.owner = $1 and not a.draft for key share
             )
             update ${schema}.threads set acting_assistant_id = $3
             where id = $2 and owner = $1 and ($4 or exists (select from acting)) returning id`,
        [knownId(id), assistantId === null ? null : knownId(assistantId), assistantId === null]
      ),

    pin: (id, assistantVersion) =>
      own.finds(
        "pin",
        `update ${schema}.threads set assistant_version = $3 where id = $2 and owner = $1 returning id`,
        [knownId(id), assistantVersion]
      ),

    setSummary: (id, summary) =>
      own.finds(
        "setSummary",
        `update ${schema}.threads set summary = $3, summarized_through = $4
             where id = $2 and owner = $1 and summarized_through < $4 and ($5::uuid is null or exists (
               select from ${schema}.messages m where m.thread_id = $2 and m.owner = $1 and m.sequence = $4 and m.id = $5
             )) returning id`,
        [knownId(id), toJson(summary), summary.throughSequence, summary.throughId ?? null]
      ),

    remove: (id) =>
      Principal.use(({ ownerId }) => {
        const args = { owner: toText(ownerId), thread: knownId(id) }
        return Effect.flatMap(
          removeWith(database, "ThreadStore.remove", "remove_thread", args),
          (removed): Effect.Effect<boolean, ThreadInSession> => {
            if (removed === null) return new ThreadInSession({ threadId: id })
            histories.forget(ownerId, id)
            return Effect.succeed(removed)
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
  const ids = [knownId(id), toText(ownerId)]
  while (true) {
    const [found] = yield* query<{ readonly metadata: string | null }>(
      "ThreadStore.mergeMetadata",
      `select metadata from ${schema}.threads where id = $1 and owner = $2`,
      ids
    )
    if (found === undefined) return false
    const now = fromJsonOrNull<Metadata>(found.metadata) ?? {}
    const merged = toJson({ ...now, ...(typeof fields === "function" ? fields(now) : fields) })
    const written = yield* query(
      "ThreadStore.mergeMetadata",
      `update ${schema}.threads set metadata = $3
       where id = $1 and owner = $2 and metadata is not distinct from $4 returning id`,
      [...ids, merged, found.metadata]
    )
    if (written.length > 0) return true
  }
})

/**
 * How much one statement reads: messages of about so many tokens (4 MB of text), and at most so many messages. In an embedded database,
 * everything else of the process waits while a statement runs.
 */
const readAtOnce = { tokens: 1_000_000, messages: 1000 }

const readMessages = Effect.fnUntraced(function* <A>(
  database: Database,
  ids: ReadonlyArray<ThreadId>,
  decode: (rows: ReadonlyArray<MessageRow>) => ReadonlyArray<A>
): Effect.fn.Return<ReadonlyArray<A>, StoreUnavailable, Principal> {
  const { query, schema } = database
  const owner = toText((yield* Principal).ownerId)
  const known = ids.filter(isStoredId)
  const read: Array<ReadonlyArray<A>> = []
  for (const group of known.length > 1 ? yield* groupThreads(database, owner, known) : [known]) {
    const [first] = group
    if (first === undefined) continue
    if (read.length > 0) yield* Effect.yieldNow
    if (group.length > 1) {
      read.push(decode(yield* query<MessageRow>("ThreadStore.messages", messagesOfThreads(schema), [owner, group])))
    } else {
      yield* readThread(database, owner, first, (rows) => void read.push(decode(rows)))
    }
  }
  return read.length === 1 ? (read[0] ?? []) : read.flat()
})

/** The threads in their order, in groups that one statement may read. A thread that is too large for that is a group of its own. */
const groupThreads = Effect.fnUntraced(function* (
  { query, schema }: Database,
  owner: string,
  ids: ReadonlyArray<ThreadId>
): Effect.fn.Return<ReadonlyArray<ReadonlyArray<ThreadId>>, StoreUnavailable> {
  const sizes = yield* query<{ readonly id: string; readonly tokens: bigint; readonly messages: number }>(
    "ThreadStore.messages",
    `select t.id, t.tokens, t.messages from unnest($2::uuid[]) wanted (id) cross join lateral (
       select id, tokens, message_count as messages from ${schema}.threads where id = wanted.id and owner = $1 offset 0
     ) t`,
    [owner, ids]
  )
  const sizeById = new Map(sizes.map((row) => [row.id, row]))
  const groups: Array<Array<ThreadId>> = [[]]
  let [tokens, messages] = [0, 0]
  for (const id of ids) {
    const size = sizeById.get(id)
    tokens += Number(size?.tokens ?? 0)
    messages += size?.messages ?? 0
    if (tokens > readAtOnce.tokens || messages > readAtOnce.messages) {
      groups.push([])
      tokens = Number(size?.tokens ?? 0)
      messages = size?.messages ?? 0
    }
    groups.at(-1)?.push(id)
  }
  return groups
})

/** Reads page by page. The answer of a run in progress comes last, unless it was stored meanwhile. */
const readThread = Effect.fnUntraced(function* (
  { query, schema }: Database,
  owner: string,
  id: ThreadId,
  take: (rows: ReadonlyArray<MessageRow>) => void
): Effect.fn.Return<void, StoreUnavailable> {
  const statement = messagesOfThread(schema)
  let [sequence, upto, total] = [0, 0, 0]
  let answer: string | null = null
  do {
    const rows: ReadonlyArray<ThreadMessageRow> = yield* query<ThreadMessageRow>("ThreadStore.messages", statement, [
      owner,
      id,
      sequence,
      upto + readAtOnce.tokens
    ])
    const last = rows.at(-1)
    if (last === undefined) break
    if (sequence === 0) {
      total = rows[0]?.total ?? 0
      answer = rows[0]?.answer ?? null
    }
    sequence = last.sequence
    upto = Number(last.upto)
    take(sequence === total && answer !== null ? [...rows, { message: answer }] : rows)
    if (sequence < total) yield* Effect.yieldNow
  } while (sequence < total)
})

/**
 * The stored messages of several threads, and the answers of runs in progress, which have no row yet. `offset 0` has each thread looked up by
 * its key: a database without statistics, such as a new one, begins with all runs of the owner instead.
 */
const messagesOfThreads = (schema: string): string =>
  `select wanted.place, m.sequence, m.message
    from unnest($2::uuid[]) with ordinality wanted (id, place)
    cross join lateral (
      select m.sequence, ${messageText("m")} as message from ${schema}.messages m
      where m.thread_id = wanted.id and m.owner = $1 and m.sequence > 0
        and exists (select from ${schema}.threads where id = wanted.id and owner = $1) offset 0
    ) m
    union all
    select wanted.place, unfinished.sequence, unfinished.message
    from unnest($2::uuid[]) with ordinality wanted (id, place)
    cross join lateral (
      select t.message_count + 1 as sequence, ${unfinishedText} as message
      from (select * from ${schema}.threads where id = wanted.id and owner = $1 and active > 0 offset 0) t
      cross join lateral (
        select run_id from ${schema}.active_runs where thread_id = t.id and owner = $1 and place = 0 offset 0
      ) a
      join ${schema}.runs r on r.id = a.run_id and r.owner = $1 offset 0
    ) unfinished
    order by place, sequence`

/** The messages of a deleted thread may still be there for a moment. */
const isThread = (schema: string): string => `exists (select from ${schema}.threads t where t.id = $2 and t.owner = $1)`

/**
 * The same for one thread. It is read in the order of an index and not sorted. The answer of a run in progress is a column of the first
 * message's row; a first message always exists, because no run begins without a message of the user.
 */
const messagesOfThread = (schema: string): string =>
  `select ${messageText("m")} as message, m.sequence, m.tokens_before + m.tokens as upto,
      case when m.sequence = 1 then (
        select t.message_count from ${schema}.threads t where t.id = $2 and t.owner = $1
      ) end as total,
      case when m.sequence = 1 then (
        select ${unfinishedText} from ${schema}.threads t
        join ${schema}.active_runs a on a.thread_id = t.id and a.owner = t.owner and a.place = 0
        join ${schema}.runs r on r.id = a.run_id and r.owner = a.owner
        where t.id = $2 and t.owner = $1
      ) end as answer
    from ${schema}.messages m where m.thread_id = $2 and m.owner = $1 and m.sequence > 0 and m.sequence > $3
      and (m.tokens_before < $4 or m.sequence = $3 + 1) and ${isThread(schema)}
    order by m.sequence limit ${readAtOnce.messages}`

interface ThreadMessageRow extends MessageRow {
  readonly sequence: number
  /** The tokens of the thread up to this message. */
  readonly upto: bigint
  /** How many messages the thread has. Only the row of the first message has this number. */
  readonly total: number | null
  readonly answer: string | null
}
