/** Customers' own keys for providers, encrypted before they come here. */
import type { Migration } from "./Migration.ts"

const providerKeys = `
create table {schema}.provider_keys (
  owner text collate "C" not null,
  provider text collate "C" not null,
  sealed bytea not null,
  primary key (owner, provider)
)`

export const M0006ProviderKeys: Migration = {
  name: "0006_provider_keys",
  tables: ["provider_keys"],
  statements: [providerKeys]
}
