/** `SealedSecretStore` on PostgreSQL: beside the keys of customers for providers, whose names have no colon. */
import { SealedSecretStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import type { Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { toText } from "./StoredText.ts"

export const sealedSecretStore = (database: Database): typeof SealedSecretStore.Service => {
  const own = ownedStatements(database, "SealedSecretStore")
  const table = `${database.schema}.provider_keys`
  return SealedSecretStore.of({
    find: (name) =>
      Effect.map(
        own.rows<{ readonly sealed: Uint8Array }>(
          "find",
          `select sealed from ${table} where owner = $1 and provider = $2`,
          [toText(name)]
        ),
        ([row]) => row?.sealed ?? null
      ),
    put: (name, sealed) =>
      Effect.asVoid(
        own.rows(
          "put",
          `insert into ${table} (owner, provider, sealed) values ($1, $2, $3)
             on conflict (owner, provider) do update set sealed = excluded.sealed`,
          [toText(name), sealed]
        )
      ),
    remove: (name) =>
      own.finds("remove", `delete from ${table} where owner = $1 and provider = $2 returning provider`, [toText(name)])
  })
}
