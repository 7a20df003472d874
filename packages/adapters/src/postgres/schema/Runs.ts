/**
 * Runs, their logs, and idempotency keys. The functions guarantee, and unique keys enforce once more, that a thread has at most one run
 * in progress and at most one run that waits for its client.
 *
 * A settlement changes no indexed column of a run, so PostgreSQL updates the row within its page and no index. That is why the active
 * runs stand in a table of their own. The rows of a turn have no foreign keys: the functions that write them hold a lock on the thread or
 * on the run. A trigger deletes them with their thread, also when the thread is deleted through a foreign key.
 */
import { type Migration, primaryKey } from "./SchemaPart.ts"

/**
 * `token` is the fencing token of the newest lease, `leg_token` the token under which the current leg began. A run that no process executes
 * has no `lease_until`. `waits` is true while the status is REQUIRES_ACTION; an index needs it as a column. `watched` is true when the log
 * has been read while the run was active. `first_message` and `last_message` are the positions in the thread of its first message and of its
 * newest answer; between them stand its other messages, and those of runs that were cancelled in the queue. A queued run has neither.
 */
const runs = `
create table {schema}.runs (
  owner text collate "C" not null,
  id uuid not null,
  ordinal bigint generated always as identity,
  thread_id uuid not null,
  assistant_id uuid not null,
  status text not null,
  leg integer not null default 0,
  leg_start integer not null,
  last_sequence integer not null default 0,
  user_message_id uuid not null,
  answer_id uuid not null,
  stream boolean not null,
  provider text not null,
  model text not null,
  plan text not null,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cached_input_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  reasoning_tokens bigint not null default 0,
  cost_usd double precision,
  estimated boolean not null default false,
  fault text,
  explanation text,
  cancel_requested boolean not null default false,
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  token bigint not null,
  leg_token bigint not null,
  lease_until timestamptz,
  watched boolean not null default false,
  waits boolean not null default false,
  first_message integer,
  last_message integer
) with (fillfactor = 70)`

/**
 * The run in progress has place 0; the runs queued behind it have the places from 1 on. `threads.active` counts these rows. A statement that
 * deletes a run must delete its row here and its log too: there are no foreign keys that would.
 */
const activeRuns = `
create table {schema}.active_runs (
  owner text collate "C" not null,
  thread_id uuid not null,
  place bigint not null,
  run_id uuid not null,
  primary key (thread_id, place, owner)
)`

/** The process that holds the run's lease (`Presence`); null: its number is not known. */
export const runHolders: Migration = {
  name: "holders of runs",
  tables: [],
  statements: [`alter table {schema}.active_runs add column holder integer`]
}

/**
 * One row for each batch of events. A reader takes from `events` only those between `first_sequence` and `last_sequence`: a batch that was
 * sent twice may contain others, which stand in another row.
 */
const runLog = `
create table {schema}.run_log (
  owner text collate "C" not null,
  run_id uuid not null,
  first_sequence integer not null,
  last_sequence integer not null,
  events text not null,
  primary key (run_id, last_sequence, owner)
)`

/** A key outlives its run (`keptKeys`), unless the run is withdrawn. */
const idempotencyKeys = `
create table {schema}.idempotency_keys (
  owner text collate "C" not null,
  key text collate "C" not null,
  fingerprint text not null,
  run_id uuid not null,
  leg_start integer not null,
  created_at timestamptz not null,
  primary key (owner, key)
)`

/** Runs that were deleted while they were active. The process that holds `token` still stores their charges, once. */
const deletedRuns = `
create table {schema}.deleted_runs (
  owner text collate "C" not null,
  id uuid not null,
  token bigint not null,
  is_charged boolean not null default false,
  deleted_at timestamptz not null default clock_timestamp(),
  primary key (owner, id)
)`

/**
 * Deletes the rows of a deleted thread. Runs are deleted before their logs: a transaction that writes a log holds a lock on the run's row,
 * so the removal waits for that transaction and then also deletes the log that it committed. The trigger runs for each row, because with
 * a transition table a removal takes a third longer.
 */
const emptyThread = `
create function {schema}.empty_thread() returns trigger language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_runs uuid[];
begin
  with gone as (
    delete from {schema}.messages where thread_id = old.id and owner = old.owner returning run_id
  ) select array_agg(distinct run_id) into v_runs from gone where run_id is not null;
  delete from {schema}.active_runs where thread_id = old.id and owner = old.owner;
  delete from {schema}.runs where id = any (v_runs) and owner = old.owner;
  delete from {schema}.run_log where run_id = any (v_runs) and owner = old.owner;
  delete from {schema}.idempotency_keys where run_id = any (v_runs) and owner = old.owner;
  return null;
end $$`

/** LZ4 is faster than the default compression of long texts. A server that was built without LZ4 keeps the default. */
const compression = `
do $do$ begin
  execute 'alter table {schema}.run_log alter column events set compression lz4';
exception when others then null;
end $do$`

export const runTables: Migration = {
  name: "runs",
  tables: ["runs", "active_runs", "run_log", "idempotency_keys", "deleted_runs"],
  statements: [
    // The result type of the functions that begin, activate or continue a run.
    `create type {schema}.run_outcome as (
      outcome text, run_id uuid, token bigint, expired boolean, leg_start integer, fingerprint text
    )`,
    runs,
    primaryKey("runs", "(id, owner)"),
    `create unique index runs_waiting on {schema}.runs (thread_id, owner) where waits`,
    activeRuns,
    runLog,
    idempotencyKeys,
    `create index idempotency_keys_of_run on {schema}.idempotency_keys (run_id)`,
    deletedRuns,
    emptyThread,
    `create trigger threads_gone after delete on {schema}.threads for each row execute function {schema}.empty_thread()`,
    compression
  ]
}

/** Indexes that find old rows, for the sweep. A run leaves `runs_with_log` when its log is deleted; its indexed columns change at no other time. */
export const agedRows: Migration = {
  name: "rows by age",
  tables: [],
  statements: [
    `alter table {schema}.runs add column log_pruned boolean not null default false`,
    `create index runs_with_log on {schema}.runs (created_at) where not log_pruned`,
    `create index idempotency_keys_by_age on {schema}.idempotency_keys (created_at)`,
    `create index deleted_runs_by_age on {schema}.deleted_runs (deleted_at)`,
    `create index usage_receipts_by_age on {schema}.usage_receipts (recorded_at)`
  ]
}
