/** The audit log. Its rows have no foreign keys, because they are kept when the records that they name are deleted. */
import type { Migration } from "./SchemaPart.ts"

export const auditTables: Migration = {
  name: "audit_log",
  tables: ["audit_log"],
  statements: [
    `create table {schema}.audit_log (
      owner text collate "C" not null,
      id uuid not null,
      ordinal bigint generated always as identity,
      at timestamptz not null,
      action text not null,
      subject text not null,
      fields text[] not null,
      key_id text,
      primary key (owner, id)
    )`,
    `create index audit_log_of_owner on {schema}.audit_log (owner, ordinal)`
  ]
}
