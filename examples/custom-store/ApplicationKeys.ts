/** The application's own table of keys (here a Map) as the kernel's port. */
import { type KeyId, Principal } from "@colloquy/core"
import { type KeyRecord, KeyStore, lookupLength } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

export const applicationKeys = (table: Map<string, KeyRecord>): Layer.Layer<KeyStore> => {
  const hashPrefix = (record: KeyRecord) => record.hash.slice(0, lookupLength)
  const owned = Effect.map(Principal, ({ ownerId }) => [...table.values()].filter((row) => row.ownerId === ownerId))

  const revoke = Effect.fnUntraced(function* (id: KeyId, at: Date) {
    const record = (yield* owned).find((row) => row.id === id)
    if (record === undefined) return false
    table.set(hashPrefix(record), { ...record, revokedAt: record.revokedAt ?? at })
    return true
  })

  return Layer.succeed(KeyStore, {
    insert: (record) => Effect.sync(() => void table.set(hashPrefix(record), record)),
    findByHashPrefix: (prefix) => Effect.sync(() => Option.fromNullishOr(table.get(prefix))),
    list: owned,
    revoke
  })
}
