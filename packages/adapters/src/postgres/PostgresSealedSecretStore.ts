/** `SealedSecretStore` on PostgreSQL: beside the keys of customers for providers, whose names have no colon. */
import { Principal } from "@colloquy/core"
import { SealedSecretStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import type { Database } from "./Database.ts"
import { toText } from "./StoredText.ts"

export const sealedSecretStore = ({ query, schema }: Database): typeof SealedSecretStore.Service => {
  const table = `${schema}.provider_keys`
  return SealedSecretStore.of({
    find: (name) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<{ readonly sealed: Uint8Array }>(
            "SealedSecretStore.find",
            `select sealed from ${table} where owner = $1 and provider = $2`,
            [toText(ownerId), toText(name)]
          ),
          ([row]) => row?.sealed ?? null
        )
      ),
    put: (name, sealed) =>
      Principal.use(({ ownerId }) =>
        Effect.asVoid(
          query(
            "SealedSecretStore.put",
            `insert into ${table} (owner, provider, sealed) values ($1, $2, $3)
             on conflict (owner, provider) do update set sealed = excluded.sealed`,
            [toText(ownerId), toText(name), sealed]
          )
        )
      ),
    remove: (name) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query(
            "SealedSecretStore.remove",
            `delete from ${table} where owner = $1 and provider = $2 returning provider`,
            [toText(ownerId), toText(name)]
          ),
          (rows) => rows.length > 0
        )
      )
  })
}
