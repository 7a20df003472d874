/** `KeyStore` on PostgreSQL. Only the look-up by hash has no owner as a condition, because it finds out the owner. */
import { type KeyId, type KeyScope, OwnerId } from "@colloquy/core"
import { type KeyRecord, KeyStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromText, toText } from "./StoredText.ts"

interface KeyRow {
  readonly id: KeyId
  readonly owner: string
  readonly name: string
  readonly hash: string
  readonly scope: KeyScope
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
}

const columns = "k.id, k.owner, k.name, k.hash, k.scope, k.created_at, k.expires_at, k.revoked_at"

const decodeKey = (row: KeyRow): KeyRecord => ({
  id: row.id,
  ownerId: OwnerId.make(fromText(row.owner)),
  name: fromText(row.name),
  hash: fromText(row.hash),
  scope: row.scope,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at
})

export const keyStore = (database: Database): typeof KeyStore.Service => {
  const { brief, query, schema } = database
  const own = ownedStatements(database, "KeyStore")
  return KeyStore.of({
    insert: (record) =>
      Effect.asVoid(
        Effect.suspend(() =>
          query(
            "KeyStore.insert",
            `insert into ${schema}.keys (id, owner, name, hash, created_at, revoked_at, scope, expires_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8)
             on conflict (hash) do update set id = excluded.id, owner = excluded.owner, name = excluded.name,
               scope = excluded.scope, created_at = excluded.created_at, expires_at = excluded.expires_at,
               revoked_at = excluded.revoked_at`,
            [
              newRowId(record.id),
              toText(record.ownerId),
              toText(record.name),
              toText(record.hash),
              record.createdAt,
              record.revokedAt,
              record.scope,
              record.expiresAt
            ]
          )
        )
      ),

    findByHashPrefix: (prefix) =>
      Effect.map(
        brief<KeyRow>(
          "KeyStore.findByHashPrefix",
          `select ${columns} from ${schema}.keys k where left(k.hash, 32) = $1`,
          [toText(prefix)]
        ),
        ([row]) => Option.map(Option.fromNullishOr(row), decodeKey)
      ),

    list: Effect.map(
      own.rows<KeyRow>(
        "list",
        `select ${columns} from ${schema}.keys k where k.owner = $1 order by k.created_at, k.ordinal`,
        []
      ),
      (rows) => rows.map(decodeKey)
    ),

    revoke: (id, at) =>
      own.finds(
        "revoke",
        `update ${schema}.keys k set revoked_at = coalesce(k.revoked_at, $3) where k.id = $2 and k.owner = $1 returning k.id`,
        [knownId(id), at]
      )
  })
}
