/**
 * The inbox of an owner: columns and an index for lists of runs, and the changes of runs while a client follows them.
 *
 * The trigger writes a change in the transaction that makes it, whichever function or version of the kernel makes it. For an owner whom
 * nobody follows it looks up one row of a key. Writers of one followed owner take turns until they commit, so that a reader who has seen a
 * mark never finds a lower one later.
 */
import { refusedWhileErasing } from "./Owners.ts"
import { type Migration, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/** The run whose helper a run is. */
export const parentRuns: Migration = {
  name: "parent runs",
  tables: [],
  statements: [`alter table {schema}.runs add column parent_run_id uuid`]
}

/** The index does not begin with the plain owner. Without statistics, PostgreSQL would use such an index to look up one run by its id. */
export const ownerOfRun = (owner: string): string => `hashtextextended(${owner}, 0)`

const followedLock = "hashtextextended(new.owner, 1768842095)"

/** A transaction that changes a run shares this lock until it ends. A new follower takes it alone, and so waits for such transactions. */
const beginningLock = (owner: string) => `hashtextextended(${owner}, 1768842096)`

export const inboxTables: Migration = {
  name: "inbox",
  tables: ["run_followers", "run_changes"],
  statements: [
    `alter table {schema}.runs add column model_calls integer not null default 0`,
    `alter table {schema}.runs add column first_token_at timestamptz`,
    `alter table {schema}.runs add column schedule_id uuid`,
    `alter table {schema}.runs add column assistant_version integer`,
    `create index runs_of_owner on {schema}.runs (${ownerOfRun("owner")}, created_at, id)`,
    `create index runs_waiting_of_owner on {schema}.runs (${ownerOfRun("owner")}, created_at, id) where waits`,
    `create table {schema}.run_followers (
      owner text collate "C" not null,
      until timestamptz not null,
      primary key (owner)
    )`,
    ...refusedWhileErasing([["run_followers", "insert or update"]]),
    `create table {schema}.run_changes (
      owner text collate "C" not null,
      mark bigint generated always as identity,
      run_id uuid not null,
      changed_at timestamptz not null default clock_timestamp(),
      primary key (owner, mark)
    )`,
    `create function {schema}.run_changed() returns trigger language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  if exists (select from {schema}.run_followers where owner = new.owner and until > clock_timestamp()) then
    perform pg_advisory_xact_lock(${followedLock});
    insert into {schema}.run_changes (owner, run_id) values (new.owner, new.id);
  end if;
  return null;
end $$`,
    `create trigger runs_begun after insert on {schema}.runs for each row execute function {schema}.run_changed()`,
    `create trigger runs_moved after update of status on {schema}.runs for each row
       when (old.status is distinct from new.status) execute function {schema}.run_changed()`
  ]
}

/** A change that is under way when a follower begins is committed before the follower reads, or it is recorded. */
export const followersWaited: Migration = {
  name: "followers wait for changes",
  tables: [],
  statements: [
    `create or replace function {schema}.run_changed() returns trigger language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  perform pg_advisory_xact_lock_shared(${beginningLock("new.owner")});
  if exists (select from {schema}.run_followers where owner = new.owner and until > clock_timestamp()) then
    perform pg_advisory_xact_lock(${followedLock});
    insert into {schema}.run_changes (owner, run_id) values (new.owner, new.id);
  end if;
  return null;
end $$`
  ]
}

/** Returns the newest mark that there was before. */
const followRuns = sqlFunction(
  "follow_runs",
  `(p_owner text, p_time double precision, p_kept double precision) returns bigint language plpgsql as $$
declare
  v_newest bigint;
begin
  select max(mark) into v_newest from {schema}.run_changes where owner = p_owner;
  insert into {schema}.run_followers as known (owner, until) values (p_owner, clock_timestamp() + p_time * interval '1 millisecond')
    on conflict (owner) do update set until = greatest(known.until, excluded.until);
  delete from {schema}.run_changes where owner = p_owner and changed_at <= clock_timestamp() - p_kept * interval '1 millisecond';
  perform pg_advisory_xact_lock(${beginningLock("p_owner")});
  return coalesce(v_newest, 0);
end $$`
)

export const inboxFunctions: ReadonlyArray<SqlFunction> = [followRuns]
