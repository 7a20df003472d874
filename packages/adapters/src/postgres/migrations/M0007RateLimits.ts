/** How often each caller came, for all processes together. A crash may forget it: that lets somebody come a little sooner. */
import type { Migration } from "./Migration.ts"

const rateLimits = `
create unlogged table {schema}.rate_limits (
  key text collate "C" primary key,
  free_at timestamptz not null
)`

const byMoment = `create index rate_limits_free_at on {schema}.rate_limits (free_at)`

export const M0007RateLimits: Migration = {
  name: "0007_rate_limits",
  tables: ["rate_limits"],
  statements: [rateLimits, byMoment]
}
