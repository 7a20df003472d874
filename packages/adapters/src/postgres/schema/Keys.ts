/**
 * API keys; only their hashes are stored. A key's owner is found by its hash, so this table cannot be distributed by owner: on Citus it
 * stays on the coordinator.
 */
import type { Migration } from "./SchemaPart.ts"

export const keyTables: Migration = {
  name: "keys",
  tables: ["keys"],
  statements: [
    `create table {schema}.keys (
      owner text collate "C" not null,
      id uuid not null,
      ordinal bigint generated always as identity,
      name text not null,
      hash text collate "C" not null,
      created_at timestamptz not null,
      revoked_at timestamptz,
      primary key (owner, id)
    )`,
    `create unique index keys_by_hash on {schema}.keys (hash)`,
    `create index keys_by_hash_prefix on {schema}.keys (left(hash, 32))`,
    `create index keys_of_owner on {schema}.keys (owner, created_at, ordinal)`
  ]
}

/** Keys of earlier versions could do everything and never expired. */
export const keyScopes: Migration = {
  name: "key_scopes",
  tables: [],
  statements: [
    `alter table {schema}.keys add column scope text not null default 'admin'`,
    `alter table {schema}.keys add column expires_at timestamptz`
  ]
}
