/** `AssistantStore` on Postgres. Each method is one statement. */
import { type AssistantId, Principal } from "@colloquy/core"
import { AssistantStore, type ThreadSummary } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { assignmentsOf, assistantColumns, type AssistantRow, decodeAssistant, insertionOf } from "./AssistantRecord.ts"
import { call, type Database, type Parameter } from "./Database.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJsonOrNull, toText } from "./StoredText.ts"
import { decodeThread, threadColumns, type ThreadRow } from "./ThreadRecord.ts"

export const assistantStore = (database: Database): typeof AssistantStore.Service => {
  const { brief, query, schema } = database

  const find = (id: AssistantId, owner: string) =>
    brief<AssistantRow>(
      "AssistantStore.get",
      `select ${assistantColumns} from ${schema}.assistants a where a.id = $1 and a.owner = $2`,
      [knownId(id), owner]
    )

  return AssistantStore.of({
    insert: (assistant) =>
      Principal.use(({ ownerId }) => {
        const fields = [["id", newRowId(assistant.id)], ["owner", toText(ownerId)], ...insertionOf(assistant)] as const
        const names = fields.map(([column]) => column).join(", ")
        const places = fields.map((_, index) => `$${index + 1}`).join(", ")
        return Effect.asVoid(
          query(
            "AssistantStore.insert",
            `insert into ${schema}.assistants (${names}) values (${places})`,
            fields.map(([, value]) => value)
          )
        )
      }),

    get: (id) =>
      Principal.use(({ ownerId }) =>
        Effect.map(find(id, toText(ownerId)), ([row]) => Option.map(Option.fromNullishOr(row), decodeAssistant))
      ),

    ofThread: (threadId) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          brief<AssistantRow & ThreadRow & { readonly summary: string | null }>(
            "AssistantStore.ofThread",
            `select ${assistantColumns}, ${threadColumns}, t.summary from ${schema}.threads t
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
                  summary: fromJsonOrNull<ThreadSummary>(row.summary)
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
            `select ${assistantColumns} from ${schema}.assistants a where a.owner = $1 ${named}
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
            `update ${schema}.assistants a set ${assignments} where a.id = $1 and a.owner = $2 returning ${assistantColumns}`,
            [knownId(id), toText(ownerId), ...fields.map(([, value]) => value)]
          ),
          ([row]) => Option.map(Option.fromNullishOr(row), decodeAssistant)
        )
      }),

    remove: (id) =>
      Principal.use(({ ownerId }) => {
        const args = { owner: toText(ownerId), assistant: knownId(id) }
        return Effect.map(
          query<{ readonly removed: boolean }>(
            "AssistantStore.remove",
            `select ${call(database, "remove_assistant", args)} as removed`,
            Object.values(args)
          ),
          ([row]) => row?.removed === true
        )
      })
  })
}
