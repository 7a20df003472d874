/**
 * Work that outlives what caused it (extract memories, index, summarize): written in the settlement's transaction or by itself, done later
 * under a claim, tried again after a pause, and kept as `dead` when it failed too often.
 */
import { type Migration, primaryKey, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/**
 * `due_at`: from when on it may be claimed: a pending one when its pause is over, a running one when its claim has expired. `token` is the
 * fencing token of the newest claim. Keys and sequences may be of any length, so indexes hold a hash of them.
 */
const followUps = `
create table {schema}.follow_ups (
  owner text collate "C" not null,
  id uuid not null,
  ordinal bigint generated always as identity,
  kind text collate "C" not null,
  key text collate "C" not null,
  payload text not null,
  sequence text collate "C",
  status text not null default 'pending',
  attempts integer not null default 0,
  due_at timestamptz not null,
  token bigint not null default 0,
  last_error text,
  created_at timestamptz not null,
  ended_at timestamptz
) with (fillfactor = 80)`

const isOpen = "status in ('pending', 'running')"

export const followUpTables: Migration = {
  name: "follow_ups",
  tables: ["follow_ups"],
  statements: [
    followUps,
    `create unique index follow_ups_open on {schema}.follow_ups (owner, kind, hashtextextended(key, 0)) where ${isOpen}`,
    `create index follow_ups_due on {schema}.follow_ups (kind, due_at) where ${isOpen}`,
    `create index follow_ups_in_sequence on {schema}.follow_ups (owner, hashtextextended(sequence, 0), ordinal)
       where ${isOpen} and sequence is not null`,
    `create index follow_ups_by_key on {schema}.follow_ups (owner, kind, hashtextextended(key, 0), ordinal)`,
    primaryKey("follow_ups", "(owner, id)"),
    `create index follow_ups_dead on {schema}.follow_ups (id) where status = 'dead'`,
    `create index follow_ups_done on {schema}.follow_ups (ended_at) where status = 'done'`
  ]
}

/** A JSON list, whose payloads are JSON in a text. What is stored already, or open under the same kind and key, is left out. */
const addFollowUps = sqlFunction(
  "add_follow_ups",
  `(p_owner text, p_follow_ups text) returns void language plpgsql as $$
begin
  insert into {schema}.follow_ups (owner, id, kind, key, payload, sequence, due_at, created_at)
    select p_owner, one.id, one.kind, one.key, one.payload, one.sequence,
      clock_timestamp() + one.delay * interval '1 millisecond', one.created_at
    from rows from (
      json_to_recordset(p_follow_ups::json) as (
        id uuid, kind text, key text, payload text, sequence text, delay double precision, created_at timestamptz
      )
    ) with ordinality one (id, kind, key, payload, sequence, delay, created_at, place)
    order by one.place
    on conflict do nothing;
end $$`
)

export const followUpFunctions: ReadonlyArray<SqlFunction> = [addFollowUps]
