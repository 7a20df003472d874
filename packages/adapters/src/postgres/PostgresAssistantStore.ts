/** `AssistantStore` on PostgreSQL. Each method sends one statement. */
import { type Assistant, type AssistantId, Principal } from "@colloquy/core"
import {
  AssistantInSession,
  AssistantStore,
  actorName,
  type ThreadSummary,
  type VersionedAssistant,
  type VersionedFields,
  pickVersionedFields
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import {
  type Assignment,
  patchAssignments,
  assistantColumns,
  type AssistantRow,
  decodeAssistant,
  decodeVersion,
  insertAssignments,
  presentColumns,
  type VersionRow
} from "./AssistantRecord.ts"
import type { Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { onceArguments } from "./PostgresBranches.ts"
import { functionName } from "./schema/FunctionNames.ts"
import { removeWith, rowsAtOnce } from "./Removals.ts"
import { joinedRevision } from "./schema/Threads.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromJsonOrNull, toText } from "./StoredText.ts"
import { decodeThread, threadColumns, type ThreadRow } from "./ThreadRecord.ts"

export const assistantStore = (database: Database): typeof AssistantStore.Service => {
  const { brief, query, schema } = database
  const own = ownedStatements(database, "AssistantStore")
  const briefly = ownedStatements(database, "AssistantStore", brief)
  const revision = joinedRevision("a", {
    owner: "$1",
    id: "t.id",
    metadata: "t.metadata",
    assistantVersion: "t.assistant_version",
    acting: "t.acting_assistant_id",
    summarizedThrough: "t.summarized_through",
    rewinds: "t.rewinds",
    shelves: "t.shelves"
  }).replaceAll("{schema}", schema)

  const insert = (operation: string, assistant: Assistant, further: ReadonlyArray<Assignment> = []) =>
    Principal.use((principal) => {
      const fields: ReadonlyArray<Assignment> = [
        ["id", newRowId(assistant.id)],
        ["owner", toText(principal.ownerId)],
        ["author", toText(actorName(principal))],
        ...insertAssignments(assistant),
        ...further
      ]
      const names = fields.map(([column]) => column).join(", ")
      const parameters = fields.map((_, index) => `$${index + 1}`).join(", ")
      return Effect.asVoid(
        query(
          operation,
          `insert into ${schema}.assistants (${names}) values (${parameters})`,
          fields.map(([, value]) => value)
        )
      )
    })

  /** Runs a statement on a draft. Returns whether the draft existed. A removed assistant is none, while its last rows are deleted. */
  const changesDraft = (operation: string, statement: string, id: AssistantId) =>
    own.finds(
      operation,
      `${statement} where id = $2 and owner = $1 and draft and removed_at is null returning 1 as found`,
      [knownId(id)]
    )

  return AssistantStore.of({
    insert: (assistant) => insert("AssistantStore.insert", assistant),

    insertDraft: (assistant) => insert("AssistantStore.insertDraft", assistant, [["draft", true]]),

    publish: (id) => changesDraft("publish", `update ${schema}.assistants set draft = false`, id),

    discard: (id) => changesDraft("discard", `delete from ${schema}.assistants`, id),

    get: (id) =>
      briefly.first(
        "get",
        `select ${assistantColumns} from ${schema}.assistants a where a.id = $2 and a.owner = $1 and not a.draft`,
        [knownId(id)],
        decodeAssistant
      ),

    // Looked up by its id: without statistics, a join may read all assistants of the owner.
    ofThread: (threadId) =>
      briefly.first(
        "ofThread",
        `select ${assistantColumns}, ${threadColumns}, t.summary, ${revision} as revision
             from ${schema}.threads t
             cross join lateral (
               select *, xmin from ${schema}.assistants a
               where a.id = coalesce(t.acting_assistant_id, t.assistant_id) and a.owner = $1 offset 0
             ) a
             where t.id = $2 and t.owner = $1 and (not a.draft or t.acting_assistant_id is not null)`,
        [knownId(threadId)],
        (row: AssistantRow & ThreadRow & { readonly summary: string | null; readonly revision: string }) => ({
          assistant: decodeAssistant(row),
          thread: decodeThread(row),
          summary: fromJsonOrNull<ThreadSummary>(row.summary),
          hasDocuments: row.revision.endsWith("t"),
          revision: row.revision
        })
      ),

    list: ({ limit, skip }, name) => {
      const named =
        name === undefined ? "" : "and hashtextextended(a.name, 0) = hashtextextended($4, 0) and a.name = $4"
      return Effect.map(
        own.rows<AssistantRow>(
          "list",
          `select ${assistantColumns} from ${schema}.assistants a where a.owner = $1 and not a.draft ${named}
             order by a.created_at, a.ordinal offset $2 limit $3`,
          [skip, limit, ...(name === undefined ? [] : [toText(name)])]
        ),
        (rows) => rows.map(decodeAssistant)
      )
    },

    update: ({ after, before, changes, once = null }) =>
      Principal.use((principal) => {
        const fields: ReadonlyArray<Assignment> = [
          ...patchAssignments(after),
          ["version", after.version],
          ["updated_at", after.updatedAt],
          ["author", toText(actorName(principal))],
          ["changes", JSON.stringify(changes)]
        ]
        const assignments = fields.map(([column], index) => `${column} = $${index + 8}`).join(", ")
        const isSame = after.version === before.version
        const { answer, fingerprint, key } = onceArguments(once)
        // "held" has the row before the change. It is this version, or nothing is changed.
        const write = `, changed as (
            update ${schema}.assistants a set ${assignments}
            from claimed c where c.known is null and a.id = $1 and a.owner = $2
          ), kept as (
            insert into ${schema}.assistant_versions (owner, assistant_id, version, created_at, author, changes, fields)
            select owner, id, version, updated_at, author, changes, $7 from claimed where known is null
          )`
        return Effect.map(
          query<{ readonly outcome: "stored" | "repeated" }>(
            "AssistantStore.update",
            `with held as (
               select a.id, a.owner, a.version, a.updated_at, a.author, a.changes from ${schema}.assistants a
               where a.id = $1 and a.owner = $2 and not a.draft and a.version = $3 for no key update
             ), claimed as (
               select held.*, ${schema}.${functionName("claim_answer")}(held.owner, $4, $5, held.id, $6) as known from held
             )${isSame ? "" : write}
             select case when known is null then 'stored' else 'repeated' end as outcome from claimed`,
            [
              knownId(before.id),
              toText(principal.ownerId),
              before.version,
              key,
              fingerprint,
              answer,
              ...(isSame ? [] : [JSON.stringify(pickVersionedFields(before)), ...fields.map(([, value]) => value)])
            ]
          ),
          ([row]) => row?.outcome ?? "changed"
        )
      }),

    versions: (id, { before = null, limit }) =>
      Effect.map(
        own.rows<VersionRow>(
          "versions",
          `select * from (
               select ${presentColumns} from ${schema}.assistants a where a.id = $2 and a.owner = $1 and not a.draft
               union all
               (select v.version, v.created_at, v.author, v.changes from ${schema}.assistant_versions v
                where v.assistant_id = $2 and v.owner = $1 and ($3::bigint is null or v.version < $3)
                order by v.version desc limit $4)
             ) listed where $3::bigint is null or version < $3 order by version desc limit $4`,
          [knownId(id), before, limit]
        ),
        (rows) => rows.map(decodeVersion)
      ),

    version: (id, version) =>
      own.first(
        "version",
        `select ${assistantColumns}, v.fields, coalesce(v.created_at, a.updated_at) as version_at,
               case when v.version is null then a.author else v.author end as author,
               case when v.version is null then a.changes else v.changes end as changes
             from ${schema}.assistants a
             left join ${schema}.assistant_versions v on v.assistant_id = a.id and v.owner = a.owner and v.version = $3::bigint
             where a.id = $2 and a.owner = $1 and not a.draft and (a.version = $3::bigint or v.version is not null)`,
        [knownId(id), Number.isSafeInteger(version) ? version : null],
        (found: AssistantRow & OlderRow) => readVersioned(found, version)
      ),

    remove: (id) =>
      Principal.use(({ ownerId }) => {
        const args = { owner: toText(ownerId), assistant: knownId(id), limit: rowsAtOnce }
        return Effect.flatMap(
          removeWith(database, "AssistantStore.remove", "remove_assistant", args),
          (removed): Effect.Effect<boolean, AssistantInSession> =>
            removed === null ? new AssistantInSession({ assistantId: id }) : Effect.succeed(removed)
        )
      })
  })
}

interface OlderRow extends VersionRow {
  /** Null: this version is the present one. */
  readonly fields: string | null
}

/** The embedding model and the time of creation are those of the assistant, which never change. */
const readVersioned = (row: AssistantRow & OlderRow, version: number): VersionedAssistant => {
  const told = decodeVersion({ ...row, version })
  const assistant = decodeAssistant(row)
  if (row.fields === null) return { ...told, assistant }
  const fields = { helpers: [], handoffs: [], ...fromJson<Partial<VersionedFields>>(row.fields) }
  return { ...told, assistant: { ...assistant, ...fields, version, updatedAt: told.createdAt } }
}
