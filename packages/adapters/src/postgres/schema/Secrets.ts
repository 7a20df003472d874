/**
 * What the processes of one service must share and nobody else may know, made by the first of them that asks (`Postgres.signingKey`). It
 * belongs to no owner of the service: theirs is empty, so that this table can be distributed as all others.
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
