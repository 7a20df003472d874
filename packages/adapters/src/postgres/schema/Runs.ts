/**
 * Runs, their logs, and idempotency keys. The partial unique indexes repeat what the functions guarantee: a thread has one run in
 * progress, and one that waits for its client.
 */
import { type Migration, primaryKey } from "./SchemaPart.ts"

/** `token` is the fencing token of the newest lease, `leg_token` the one under which the current leg began; a run at rest has no `lease_until`. `watched`: the log was read while it grew. */
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
  foreign key (owner, thread_id) references {schema}.threads (owner, id) on delete cascade
) with (fillfactor = 70)`

/** One row a batch. The events of a row are those from `first_sequence` to `last_sequence`: what lies outside came twice. */
const runLog = `
create table {schema}.run_log (
  owner text collate "C" not null,
  run_id uuid not null,
  first_sequence integer not null,
  last_sequence integer not null,
  events text not null,
  primary key (owner, run_id, last_sequence),
  foreign key (owner, run_id) references {schema}.runs (owner, id) on delete cascade
)`

/** A key goes when its run goes. Checked at commit, because the key is claimed before the run is written. */
const idempotencyKeys = `
create table {schema}.idempotency_keys (
  owner text collate "C" not null,
  key text collate "C" not null,
  fingerprint text not null,
  run_id uuid not null,
  leg_start integer not null,
  created_at timestamptz not null,
  primary key (owner, key),
  foreign key (owner, run_id) references {schema}.runs (owner, id) on delete cascade deferrable initially deferred
)`

/** Runs that were deleted while they were active: what they used is still charged, once, by the holder of `token`. */
const deletedRuns = `
create table {schema}.deleted_runs (
  owner text collate "C" not null,
  id uuid not null,
  token bigint not null,
  is_charged boolean not null default false,
  deleted_at timestamptz not null default clock_timestamp(),
  primary key (owner, id)
)`

/** A faster compression of long texts, where the server has it. */
const compression = `
do $do$ begin
  execute 'alter table {schema}.run_log alter column events set compression lz4';
exception when others then null;
end $do$`

export const runTables: Migration = {
  name: "runs",
  tables: ["runs", "run_log", "idempotency_keys", "deleted_runs"],
  statements: [
    // What several functions answer.
    `create type {schema}.run_outcome as (
      outcome text, run_id uuid, token bigint, expired boolean, leg_start integer, fingerprint text
    )`,
    runs,
    `create index runs_of_thread on {schema}.runs (thread_id)`,
    primaryKey("runs", "(id, owner)"),
    `create index runs_active on {schema}.runs (thread_id, status, ordinal) where status in ('IN_PROGRESS', 'QUEUED')`,
    `create unique index runs_in_progress on {schema}.runs (thread_id, owner) where status = 'IN_PROGRESS'`,
    `create unique index runs_waiting on {schema}.runs (thread_id, owner) where status = 'REQUIRES_ACTION'`,
    runLog,
    idempotencyKeys,
    `create index idempotency_keys_of_run on {schema}.idempotency_keys (run_id)`,
    deletedRuns,
    compression
  ]
}

/** How what is old is found. A run leaves its index with its log; what is indexed of it changes at no other time. */
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
