/** The keys for providers that customers bring themselves. `SealedText.ts` encrypts them before they reach the database. */
import type { Migration } from "./SchemaPart.ts"

export const providerKeyTables: Migration = {
  name: "provider_keys",
  tables: ["provider_keys"],
  statements: [
    `create table {schema}.provider_keys (
      owner text collate "C" not null,
      provider text collate "C" not null,
      sealed bytea not null,
      primary key (owner, provider)
    )`
  ]
}
