/** `AssistantStore` on PostgreSQL. Each method sends one statement. */
import { type Assistant, type AssistantId, Principal } from "@colloquy/core"
import { AssistantInSession, AssistantStore, type ThreadSummary } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  type Assignment,
  assignmentsOf,
  assistantColumns,
  type AssistantRow,
  decodeAssistant,
  insertionOf
} from "./AssistantRecord.ts"
import { call, type Database, type Parameter } from "./Database.ts"
import { revisionOf } from "./schema/Threads.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJsonOrNull, toText } from "./StoredText.ts"
import { decodeThread, threadColumns, type ThreadRow } from "./ThreadRecord.ts"

export const assistantStore = (database: Database): typeof AssistantStore.Service => {
  const { brief, query, schema } = database
  const revision = revisionOf("a", {
    id: "t.id",
    metadata: "t.metadata",
    summarizedThrough: "t.summarized_through"
  }).replaceAll("{schema}", schema)

  const find = (id: AssistantId, owner: string) =>
    brief<AssistantRow>(
      "AssistantStore.get",
      `select ${assistantColumns} from ${schema}.assistants a where a.id = $1 and a.owner = $2 and not a.draft`,
      [knownId(id), owner]
    )

  const insert = (operation: string, assistant: Assistant, further: ReadonlyArray<Assignment> = []) =>
    Principal.use(({ ownerId }) => {
      const fields: ReadonlyArray<Assignment> = [
        ["id", newRowId(assistant.id)],
        ["owner", toText(ownerId)],
        ...insertionOf(assistant),
        ...further
      ]
      const names = fields.map(([column]) => column).join(", ")
      const places = fields.map((_, index) => `$${index + 1}`).join(", ")
      return Effect.asVoid(
        query(
          operation,
          `insert into ${schema}.assistants (${names}) values (${places})`,
          fields.map(([, value]) => value)
        )
      )
    })

  /** Runs a statement on a draft. Returns whether the draft existed. */
  const ofDraft = (operation: string, statement: string, id: AssistantId) =>
    Principal.use(({ ownerId }) =>
      Effect.map(
        query(operation, `${statement} where id = $1 and owner = $2 and draft returning 1 as found`, [
          knownId(id),
          toText(ownerId)
        ]),
        (rows) => rows.length > 0
      )
    )

  return AssistantStore.of({
    insert: (assistant) => insert("AssistantStore.insert", assistant),

    insertDraft: (assistant) => insert("AssistantStore.insertDraft", assistant, [["draft", true]]),

    publish: (id) => ofDraft("AssistantStore.publish", `update ${schema}.assistants set draft = false`, id),

    discard: (id) => ofDraft("AssistantStore.discard", `delete from ${schema}.assistants`, id),

    get: (id) =>
      Principal.use(({ ownerId }) =>
        Effect.map(find(id, toText(ownerId)), ([row]) => Option.map(Option.fromNullishOr(row), decodeAssistant))
      ),

    ofThread: (threadId) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          brief<AssistantRow & ThreadRow & { readonly summary: string | null; readonly revision: string }>(
            "AssistantStore.ofThread",
            `select ${assistantColumns}, ${threadColumns}, t.summary, ${revision} as revision
             from ${schema}.threads t
             join ${schema}.assistants a on a.id = t.assistant_id and a.owner = t.owner
             where t.id = $1 and t.owner = $2`,
            [knownId(threadId), toText(ownerId)]
          ),
          ([row]) =>
            row === undefined
              ? Option.none()
              : Option.some({
                  assistant: decodeAssistant(row),
                  thread: decodeThread(row),
                  summary: fromJsonOrNull<ThreadSummary>(row.summary),
                  hasDocuments: row.revision.endsWith("t"),
                  revision: row.revision
                })
        )
      ),

    list: ({ limit, skip }, name) =>
      Principal.use(({ ownerId }) => {
        const named =
          name === undefined ? "" : "and hashtextextended(a.name, 0) = hashtextextended($4, 0) and a.name = $4"
        const parameters: ReadonlyArray<Parameter> = [toText(ownerId), skip, limit]
        return Effect.map(
          query<AssistantRow>(
            "AssistantStore.list",
            `select ${assistantColumns} from ${schema}.assistants a where a.owner = $1 and not a.draft ${named}
             order by a.created_at, a.ordinal offset $2 limit $3`,
            name === undefined ? parameters : [...parameters, toText(name)]
          ),
          (rows) => rows.map(decodeAssistant)
        )
      }),

    update: (id, patch, at) =>
      Principal.use(({ ownerId }) => {
        const fields = [["updated_at", at], ...assignmentsOf(patch)] as const
        const assignments = fields.map(([column], index) => `${column} = $${index + 3}`).join(", ")
        return Effect.map(
          query<AssistantRow>(
            "AssistantStore.update",
            `update ${schema}.assistants a set ${assignments} where a.id = $1 and a.owner = $2 and not a.draft returning ${assistantColumns}`,
            [knownId(id), toText(ownerId), ...fields.map(([, value]) => value)]
          ),
          ([row]) => Option.map(Option.fromNullishOr(row), decodeAssistant)
        )
      }),

    remove: (id) =>
      Principal.use(({ ownerId }) => {
        const args = { owner: toText(ownerId), assistant: knownId(id) }
        return Effect.flatMap(
          query<{ readonly removed: boolean | null }>(
            "AssistantStore.remove",
            `select ${call(database, "remove_assistant", args)} as removed`,
            Object.values(args)
          ),
          ([row]) =>
            row?.removed === null
              ? Effect.fail(new AssistantInSession({ assistantId: id }))
              : Effect.succeed(row?.removed === true)
        )
      })
  })
}
