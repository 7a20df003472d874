/**
 * Follow-ups: work that is done after the operation that ordered it (extract memories, index a document, summarize a thread). A follow-up is
 * stored in the transaction of a settlement or in one of its own. A process claims it and does it later; after a failure it is tried again
 * after a pause, and after too many failures it is kept with the status `dead`.
 */
import { type Migration, primaryKey, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/**
 * From `due_at` on, a process may claim the follow-up: for a pending one this is the end of its pause, for a running one the moment at which
 * its claim expires. `token` is the fencing token of the newest claim. Keys and sequences may be longer than an index entry can be, so the
 * indexes hold a hash of them.
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

/**
 * `p_follow_ups` is a JSON array; each payload in it is a text that contains JSON. A follow-up is skipped when its id is stored already, or
 * when another one of the same kind and key is still open.
 */
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
