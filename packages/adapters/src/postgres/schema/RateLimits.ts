/**
 * The state of the rate limiter, shared by all processes: `free_at` is the moment from which on a key's allowance is full again. The table is
 * unlogged, so a crash of the server empties it, and callers then get their full allowance. The host chooses the keys; they are not owners.
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
