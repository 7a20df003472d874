/** `AuditStore` on PostgreSQL. No statement of the stores changes or removes a row. */
import { type AuditAction, KeyId, OwnerId } from "@colloquy/core"
import type { AuditEntry, AuditEntryId, AuditStorePort } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromText, toText, toTextOrNull } from "./StoredText.ts"

interface EntryRow {
  readonly id: AuditEntryId
  readonly owner: string
  readonly at: Date
  readonly action: AuditAction
  readonly subject: string
  readonly fields: ReadonlyArray<string>
  readonly key_id: string | null
}

const decodeEntry = (row: EntryRow): AuditEntry => ({
  id: row.id,
  ownerId: OwnerId.make(fromText(row.owner)),
  at: row.at,
  action: row.action,
  subject: fromText(row.subject),
  fields: row.fields.map(fromText),
  keyId: row.key_id === null ? null : KeyId.make(fromText(row.key_id))
})

export const auditStore = (database: Database): AuditStorePort => {
  const { query, schema } = database
  const own = ownedStatements(database, "AuditStore")
  return {
    append: (entry) =>
      Effect.asVoid(
        Effect.suspend(() =>
          query(
            "AuditStore.append",
            `insert into ${schema}.audit_log (owner, id, at, action, subject, fields, key_id) values ($1, $2, $3, $4, $5, $6, $7)`,
            [
              toText(entry.ownerId),
              newRowId(entry.id),
              entry.at,
              entry.action,
              toText(entry.subject),
              entry.fields.map(toText),
              toTextOrNull(entry.keyId)
            ]
          )
        )
      ),

    list: ({ before, limit }) => {
      const isBefore = `and l.ordinal < (select b.ordinal from ${schema}.audit_log b where b.owner = $1 and b.id = $3)`
      return Effect.map(
        own.rows<EntryRow>(
          "list",
          `select l.id, l.owner, l.at, l.action, l.subject, l.fields, l.key_id from ${schema}.audit_log l
           where l.owner = $1 ${before === undefined ? "" : isBefore} order by l.ordinal desc limit $2`,
          [limit, ...(before === undefined ? [] : [knownId(before)])]
        ),
        (rows) => rows.map(decodeEntry)
      )
    }
  }
}
