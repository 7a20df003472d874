/**
 * How often each caller came, for all processes together. A crash may forget it: a caller may then come a little sooner. A key is any
 * text of the host's, not an owner.
 */
import type { Migration } from "./SchemaPart.ts"

export const rateLimitTables: Migration = {
  name: "rate_limits",
  tables: ["rate_limits"],
  statements: [
    `create unlogged table {schema}.rate_limits (
      key text collate "C" primary key,
      free_at timestamptz not null
    )`,
    `create index rate_limits_free_at on {schema}.rate_limits (free_at)`
  ]
}
