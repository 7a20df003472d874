/** `DocumentStore` on PostgreSQL. Each method sends one statement. */
import { OwnerId, Principal, type ThreadId } from "@colloquy/core"
import { type BlobId, type DocumentId } from "@colloquy/core/adapters"
import { type Attempt, type DocumentFilter, type DocumentListing, DocumentStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { call, type Database, type Parameter } from "./Database.ts"
import { decodeRows } from "./DecodedRows.ts"
import { decodeDocument, documentColumns, type DocumentRow, insertArguments } from "./DocumentRecord.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import { decodeGranted } from "./RunOutcomes.ts"
import { allShelvesSql } from "./schema/Branches.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { isStoredId, knownId } from "./StoredId.ts"
import { fromText, toText, toTextOrNull } from "./StoredText.ts"

export const documentStore = (database: Database): typeof DocumentStore.Service => {
  const { query, schema } = database
  const table = `${schema}.documents d`

  const own = ownedStatements(database, "DocumentStore")
  const found = (operation: string, statement: string, parameters: ReadonlyArray<Parameter>) =>
    Effect.flatMap(own.rows<DocumentRow>(operation, statement, parameters), (rows) => decodeRows(rows, decodeDocument))
  /** Holds only for the newest attempt to index the document, while the document is still being processed. */
  const whileCurrent = `d.owner = $1 and d.id = $2 and d.attempts = $3 and d.status = 'processing'`
  const change = (
    operation: string,
    { documentId, number }: Attempt,
    assignments: string,
    values: ReadonlyArray<Parameter>
  ) =>
    own.finds(operation, `update ${table} set ${assignments} where ${whileCurrent} returning 1 as changed`, [
      knownId(documentId),
      number,
      ...values
    ])

  return DocumentStore.of({
    insert: (document, followUps, limits = null) =>
      Principal.use(({ ownerId }) =>
        Effect.suspend(() => {
          const args = {
            ...insertArguments(ownerId, document),
            follow_ups: followUpsArgument(followUps),
            most_documents: limits?.documents ?? null,
            most_bytes: limits?.bytes ?? null
          }
          return Effect.map(
            query<{ readonly inserted: string }>(
              "DocumentStore.insert",
              `select ${call(database, "insert_document", args)} as inserted`,
              Object.values(args)
            ),
            ([row]) => {
              if (row?.inserted === "stored" || row?.inserted === "missing") return row.inserted === "stored"
              const refused = decodeGranted(row?.inserted ?? "{}")
              return "_tag" in refused ? refused : false
            }
          )
        })
      ),

    findAddressed: (id) =>
      Effect.map(
        query<{ readonly owner: string; readonly revoked_at: Date | null }>(
          "DocumentStore.findAddressed",
          `select d.owner, d.addresses_revoked_at as revoked_at from ${table} where d.id = $1`,
          [knownId(id)]
        ),
        ([row]) =>
          Option.map(Option.fromNullishOr(row), ({ owner, revoked_at }) => ({
            ownerId: OwnerId.make(fromText(owner)),
            revokedAt: revoked_at
          }))
      ),

    revokeAddresses: (id, at) =>
      Effect.map(
        own.rows(
          "revokeAddresses",
          `update ${table} set addresses_revoked_at = $2 where d.owner = $1 and ($3 or d.id = $4) returning 1 as revoked`,
          [at, id === null, id === null ? null : knownId(id)]
        ),
        ({ length }) => length
      ),

    get: (id) =>
      own.first(
        "get",
        `select ${documentColumns} from ${table} where d.owner = $1 and d.id = $2`,
        [knownId(id)],
        decodeDocument
      ),

    getMany: (ids) =>
      found(
        "getMany",
        `select ${documentColumns} from ${table} where d.owner = $1 and d.id = any($2::uuid[]) order by d.created_at, d.ordinal`,
        [ids.filter(isStoredId)]
      ),

    list: (listing, { limit, skip }) => {
      const [condition, id] = listingCondition(schema, listing)
      return found(
        "list",
        `select ${documentColumns} from ${table} where d.owner = $1 and ${condition}
         order by d.created_at, d.ordinal offset $3 limit $4`,
        [id, skip, limit]
      )
    },

    survey: (filters) =>
      Effect.map(
        own.rows<{
          readonly id: DocumentId
          readonly filename: string | null
          readonly completed: bigint
          readonly shelves: ReadonlyArray<ThreadId> | null
        }>(
          "survey",
          // The count and the list come from one statement, so that both describe the same moment.
          `with selected as (
             select d.id, d.filename, d.status, d.chunk_count, d.created_at, d.ordinal from ${table}
             where d.owner = $1 and (d.assistant_id = any($2::uuid[]) or d.shelf = any(${shelvesOfThreads(schema, "$3::uuid[]")}) or d.message_id = any($4::uuid[]))
           )
           select count.completed, p.id, p.filename, ${shelvesOfThreads(schema, "$3::uuid[]")} as shelves
           from (select count(*) filter (where status = 'completed' and chunk_count is not null) as completed from selected) count
           left join selected p on p.status = 'processing' order by p.created_at, p.ordinal`,
          [
            filters.flatMap((filter) => ("assistantId" in filter ? filter.assistantId : [])).filter(isStoredId),
            filters.flatMap((filter) => ("threadId" in filter ? filter.threadId : [])).filter(isStoredId),
            filters.flatMap((filter) => ("messageId" in filter ? filter.messageId : [])).filter(isStoredId)
          ]
        ),
        (rows) => ({
          completed: Number(rows[0]?.completed ?? 0),
          processing: rows.flatMap(({ filename, id }) =>
            filename === null ? [] : [{ id, filename: fromText(filename) }]
          ),
          shelves: rows[0]?.shelves ?? []
        })
      ),

    shelves: (threadId) =>
      Effect.map(
        own.rows<{ readonly shelf: ThreadId }>(
          "shelves",
          `select unnest(${allShelvesSql("t")}) as shelf from ${schema}.threads t where t.owner = $1 and t.id = $2`,
          [knownId(threadId)]
        ),
        (rows) => (rows.length === 0 ? [threadId] : rows.map(({ shelf }) => shelf))
      ),

    beginAttempt: (id, at) =>
      own.first(
        "beginAttempt",
        `update ${table} set attempts = d.attempts + 1, updated_at = $3,
           processing_started_at = coalesce(d.processing_started_at, $3)
         where d.owner = $1 and d.id = $2 and d.status = 'processing' returning ${documentColumns}`,
        [knownId(id), at],
        (row: DocumentRow) => ({ attempt: { documentId: id, number: row.attempts }, document: decodeDocument(row) })
      ),

    report: (attempt, { chunkCount, statusMessage, totalTokens }, at) =>
      change("report", attempt, "status_message = $4, total_tokens = $5, chunk_count = $6, updated_at = $7", [
        toTextOrNull(statusMessage),
        totalTokens,
        chunkCount,
        at
      ]),

    finish: (attempt, outcome, at) =>
      outcome.status === "error"
        ? change(
            "finish",
            attempt,
            "status = 'error', status_message = $4, updated_at = $5, processing_completed_at = $5",
            [toText(outcome.statusMessage), at]
          )
        : change(
            "finish",
            attempt,
            `status = 'completed', status_message = $4, total_tokens = $5, chunk_count = $6, summary = $7,
             updated_at = $8, processing_completed_at = $8`,
            [
              toTextOrNull(outcome.statusMessage),
              outcome.totalTokens,
              outcome.chunkCount,
              toTextOrNull(outcome.summary),
              at
            ]
          ),

    setSummary: (id, summary, at) =>
      own.finds(
        "setSummary",
        `update ${table} set summary = $3, updated_at = $4
         where d.owner = $1 and d.id = $2 and d.status = 'completed' returning 1 as found`,
        [knownId(id), toText(summary), at]
      ),

    remove: (id) =>
      own.first(
        "remove",
        `delete from ${table} where d.owner = $1 and d.id = $2 returning ${documentColumns}`,
        [knownId(id)],
        decodeDocument
      ),

    removeAll: (of) =>
      Effect.map(
        found(
          "removeAll",
          `delete from ${table} where d.owner = $1 and ${"threadId" in of ? ofThreadAlone(schema) : ofAssistant(schema)}
           returning ${documentColumns}`,
          [filterId(of)]
        ),
        (documents) => documents.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
      ),

    unattended: (kind, limit) =>
      Effect.map(
        query<DocumentRow & { readonly owner: string }>(
          "DocumentStore.unattended",
          `select d.owner, ${documentColumns} from ${table}
           where d.status = 'processing' and not exists (
             select from ${schema}.follow_ups f where f.owner = d.owner and f.kind = $1
               and hashtextextended(f.key, 0) = hashtextextended(d.id::text, 0) and f.key = d.id::text
               and f.status in ('pending', 'running')
           ) order by d.created_at, d.ordinal limit $2`,
          [toText(kind), limit]
        ),
        (rows) => rows.map((row) => ({ ownerId: OwnerId.make(fromText(row.owner)), document: decodeDocument(row) }))
      ),

    blobsWithoutDocument: (ids) =>
      Effect.map(
        query<{ readonly id: BlobId }>(
          "DocumentStore.blobsWithoutDocument",
          `select asked.id from unnest($1::uuid[]) asked (id) where asked.id <> all (array(select d.blob_id from ${table} where d.blob_id = any ($1::uuid[])))`,
          [ids.filter(isStoredId)]
        ),
        (rows) => rows.map(({ id }) => id)
      )
  })
}

/** The condition on the second parameter, and its value. */
const listingCondition = (schema: string, listing: DocumentListing): readonly [string, string | null] => {
  if ("owned" in listing) return ["$2::uuid is null", null]
  if ("within" in listing) return [ofAssistant(schema), knownId(listing.within)]
  if ("threadId" in listing)
    return [`d.shelf = any (${shelvesOfThreads(schema, "array[$2::uuid]")})`, knownId(listing.threadId)]
  return [`${"assistantId" in listing ? "d.assistant_id" : "d.message_id"} = $2`, filterId(listing)]
}

/** The sets of documents that these threads of the owner have. */
const shelvesOfThreads = (schema: string, ids: string): string =>
  `array(select unnest(${allShelvesSql("t")}) from ${schema}.threads t where t.owner = $1 and t.id = any (${ids}))`

const filterId = (filter: DocumentFilter): string | null => {
  if ("assistantId" in filter) return knownId(filter.assistantId)
  return "threadId" in filter ? knownId(filter.threadId) : knownId(filter.messageId)
}

/** The condition for the documents that a thread has and no other thread. */
const ofThreadAlone = (schema: string): string =>
  `d.thread_id = $2 and not exists (
     select from ${schema}.threads t where t.owner = $1 and t.id <> $2 and t.shelves @> array[d.shelf])`

/** The condition for the documents of an assistant and of all its threads. */
const ofAssistant = (schema: string): string =>
  `(d.assistant_id = $2 or d.thread_id in (select t.id from ${schema}.threads t where t.owner = $1 and t.assistant_id = $2))`
