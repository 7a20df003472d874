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
 * Owners take turns, so a claim looks for the next owner with due work and not for the oldest work. `waits` is true while an earlier
 * follow-up of the same sequence is open; such a row is not in the index that claims read, so that a long sequence costs them nothing.
 */
export const followUpTurns: Migration = {
  name: "follow_ups in turns",
  tables: [],
  statements: [
    `alter table {schema}.follow_ups add column is_urgent boolean not null default false`,
    `alter table {schema}.follow_ups add column waits boolean not null default false`,
    `drop index {schema}.follow_ups_due`,
    `create index follow_ups_in_turns on {schema}.follow_ups (is_urgent, owner, due_at, ordinal, kind) where ${isOpen} and not waits`
  ]
}

/** The process that holds the claim of a running follow-up (`Presence`); null: its number is not known. */
export const followUpHolders: Migration = {
  name: "holders of follow-ups",
  tables: [],
  statements: [
    `alter table {schema}.follow_ups add column holder integer`,
    `create index follow_ups_held on {schema}.follow_ups (holder) where status = 'running' and holder is not null`
  ]
}

const sameSequence = (row: string, sequence: string): string =>
  `hashtextextended(${row}.sequence, 0) = hashtextextended(${sequence}, 0) and ${row}.sequence = ${sequence}`

/** The end of a follow-up lets the next one of its sequence go on, whichever version of the kernel ends it. */
export const followUpEnds: Migration = {
  name: "follow_ups go on",
  tables: [],
  statements: [
    `create function {schema}.go_on_with_sequence() returns trigger language plpgsql as $$
begin
  update {schema}.follow_ups set waits = false where waits and owner = old.owner and id = (
    select f.id from {schema}.follow_ups f where f.owner = old.owner and ${sameSequence("f", "old.sequence")} and f.${isOpen}
      order by f.ordinal limit 1);
  return null;
end $$`,
    `create trigger follow_ups_ended after update of status on {schema}.follow_ups for each row
       when (old.sequence is not null and old.${isOpen} and not new.${isOpen})
       execute function {schema}.go_on_with_sequence()`,
    `create trigger follow_ups_gone after delete on {schema}.follow_ups for each row
       when (old.sequence is not null and old.${isOpen}) execute function {schema}.go_on_with_sequence()`
  ]
}

/**
 * `p_follow_ups` is a JSON array; each payload in it is a text that contains JSON. A follow-up is skipped when its id is stored already, or
 * when another one of the same kind and key is still open. The first open follow-up of its sequence is locked until the new one is
 * committed, so that the transaction that ends it sees the new one and lets it go on (`followUpEnds`).
 */
const addFollowUps = sqlFunction(
  "add_follow_ups",
  `(p_owner text, p_follow_ups text) returns void language plpgsql as $$
declare
  v_one record;
  v_waits boolean;
begin
  for v_one in
    select * from rows from (
      json_to_recordset(p_follow_ups::json) as (
        id uuid, kind text, key text, payload text, sequence text, delay double precision, is_urgent boolean, created_at timestamptz
      )
    ) with ordinality one (id, kind, key, payload, sequence, delay, is_urgent, created_at, place)
    order by one.place
  loop
    v_waits := false;
    if v_one.sequence is not null then
      perform from {schema}.follow_ups f where f.owner = p_owner and ${sameSequence("f", "v_one.sequence")} and f.${isOpen}
        order by f.ordinal limit 1 for share;
      v_waits := found;
    end if;
    insert into {schema}.follow_ups (owner, id, kind, key, payload, sequence, is_urgent, waits, due_at, created_at)
      values (p_owner, v_one.id, v_one.kind, v_one.key, v_one.payload, v_one.sequence, v_one.is_urgent, v_waits,
        clock_timestamp() + v_one.delay * interval '1 millisecond', v_one.created_at)
      on conflict do nothing;
  end loop;
end $$`
)

/**
 * Claims urgent follow-ups first, then others; of each priority one from each owner in the order of the owners' names, beginning after the
 * owner that was served last (`p_after_…`), again and again. `p_held_…` names the owner of each follow-up that the caller has already, of
 * which there may be `p_share`. A suspect is running under an expired claim, at least for the second time. Both look-ups read the index
 * `follow_ups_in_turns` in its order and stop at the first row; the settings leave the planner no other way.
 */
const claimFollowUps = sqlFunction(
  "claim_follow_ups",
  `(p_kinds text[], p_limit integer, p_urgent integer, p_other integer, p_share integer, p_suspects integer, p_held_urgent text[],
    p_held_other text[], p_after_urgent text, p_after_other text, p_millis double precision, p_holder integer)
returns table (owner text, id uuid, ordinal bigint, kind text, key text, payload text, sequence text, is_urgent boolean, status text,
  attempts integer, token bigint, last_error text, created_at timestamptz, ended_at timestamptz, is_retaken boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  v_lane boolean;
  v_left integer := p_limit;
  v_lane_left integer;
  v_held text[];
  v_owner text;
  v_is_whole boolean;
  v_found boolean;
  v_id uuid;
  v_taken uuid[] := array[]::uuid[];
  v_is_suspect boolean;
begin
  foreach v_lane in array array[true, false] loop
    v_lane_left := least(v_left, case when v_lane then p_urgent else p_other end);
    v_held := case when v_lane then p_held_urgent else p_held_other end;
    v_owner := case when v_lane then p_after_urgent else p_after_other end;
    v_is_whole := false;
    v_found := false;
    while v_lane_left > 0 loop
      v_owner := (select f.owner from {schema}.follow_ups f
        where f.is_urgent = v_lane and f.${isOpen} and not f.waits and f.owner > v_owner and f.due_at <= v_now
          and f.kind = any (p_kinds)
        order by f.owner, f.due_at, f.ordinal limit 1);
      if v_owner is null then
        -- After the last owner comes the first. A round that finds nothing is the last.
        exit when v_is_whole and not v_found;
        v_is_whole := true;
        v_found := false;
        v_owner := '';
        continue;
      end if;
      continue when cardinality(array_positions(v_held, v_owner)) >= p_share;
      select f.id, f.status = 'running' and f.attempts >= 2 into v_id, v_is_suspect from {schema}.follow_ups f
        where f.is_urgent = v_lane and f.${isOpen} and not f.waits and f.owner = v_owner and f.due_at <= v_now
          and f.id <> all (v_taken) and f.kind = any (p_kinds) and (p_suspects > 0 or f.status = 'pending' or f.attempts < 2)
          and (f.sequence is null or not exists (
            select from {schema}.follow_ups earlier where earlier.owner = v_owner and earlier.ordinal < f.ordinal
              and ${sameSequence("earlier", "f.sequence")} and earlier.${isOpen}
          ))
        order by f.due_at, f.ordinal limit 1 for no key update of f skip locked;
      continue when not found;
      if v_is_suspect then p_suspects := p_suspects - 1; end if;
      v_taken := v_taken || v_id;
      v_held := v_held || v_owner;
      v_left := v_left - 1;
      v_lane_left := v_lane_left - 1;
      v_found := true;
      return query
        with before as materialized (
          select b.status = 'running' as retaken from {schema}.follow_ups b where b.owner = v_owner and b.id = v_id
        )
        update {schema}.follow_ups f set status = 'running', attempts = f.attempts + 1, token = f.token + 1,
            due_at = clock_timestamp() + p_millis * interval '1 millisecond', holder = p_holder
          from before where f.owner = v_owner and f.id = v_id
          returning f.owner, f.id, f.ordinal, f.kind, f.key, f.payload, f.sequence, f.is_urgent, f.status, f.attempts, f.token,
            f.last_error, f.created_at, f.ended_at, before.retaken;
    end loop;
  end loop;
end $$`
)

export const followUpFunctions: ReadonlyArray<SqlFunction> = [addFollowUps, claimFollowUps]
