/**
 * Secrets that all processes of one service share, for example the key that signs links (`Postgres.signingKey`). The first process that
 * needs a secret makes it. A secret belongs to no owner, so `owner` is the empty string; the column exists because every table is
 * distributed by it.
 */
import type { Migration } from "./SchemaPart.ts"

export const secretTables: Migration = {
  name: "secrets",
  tables: ["secrets"],
  statements: [
    `create table {schema}.secrets (
      owner text collate "C" not null,
      name text collate "C" not null,
      value text not null,
      primary key (owner, name)
    )`
  ]
}
