/**
 * Work that a settled run leaves behind (extract memories, index, summarize): written in the settlement's transaction, done later under a
 * lease, tried again after a pause, and kept as `dead` when it cannot be done.
 */
import type { Migration } from "./SchemaPart.ts"

/** `kind` and `key` together name one piece of work of an owner; `token` is the fencing token of the newest lease. */
const followUps = `
create table {schema}.follow_ups (
  owner text collate "C" not null,
  id uuid not null,
  ordinal bigint generated always as identity,
  kind text collate "C" not null,
  key text collate "C" not null,
  payload text not null,
  state text not null default 'pending',
  attempts integer not null default 0,
  not_before timestamptz not null,
  token bigint not null default 0,
  lease_until timestamptz,
  last_error text,
  created_at timestamptz not null,
  ended_at timestamptz,
  primary key (owner, id)
) with (fillfactor = 80)`

export const followUpTables: Migration = {
  name: "follow_ups",
  tables: ["follow_ups"],
  statements: [
    followUps,
    `create index follow_ups_due on {schema}.follow_ups (not_before, ordinal) where state = 'pending'`,
    `create index follow_ups_running on {schema}.follow_ups (lease_until) where state = 'running'`,
    `create index follow_ups_of_owner on {schema}.follow_ups (owner, kind, key)`
  ]
}
