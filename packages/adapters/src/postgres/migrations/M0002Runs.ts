/**
 * Runs, their logs, idempotency keys and the usage by day. The partial unique indexes say what the functions guarantee: a thread has one
 * run in progress, and one that waits for its client.
 */
import type { Migration } from "./Migration.ts"

/** `token` is the fencing token of the newest lease; a run at rest has no `lease_until`. `watched`: somebody has read the log while it grew. */
const runs = `
create table {schema}.runs (
  id uuid primary key,
  ordinal bigint generated always as identity,
  owner text collate "C" not null,
  thread_id uuid not null references {schema}.threads on delete cascade,
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
  lease_until timestamptz,
  watched boolean not null default false
) with (fillfactor = 70)`

/** One row a batch. The events of a row are those from \`first_sequence\` to \`last_sequence\`: what lies outside came twice. */
const runLog = `
create table {schema}.run_log (
  run_id uuid not null references {schema}.runs on delete cascade,
  first_sequence integer not null,
  last_sequence integer not null,
  events text not null,
  primary key (run_id, last_sequence)
)`

/** A key goes when its run goes. Checked at commit, because the key is claimed before the run is written. */
const idempotencyKeys = `
create table {schema}.idempotency_keys (
  owner text collate "C" not null,
  key text collate "C" not null,
  fingerprint text not null,
  run_id uuid not null references {schema}.runs on delete cascade deferrable initially deferred,
  leg_start integer not null,
  created_at timestamptz not null,
  primary key (owner, key)
)`

/** Sums of an owner's day with a model, spread over slots so that runs that end together do not wait for each other. */
const usageDays = `
create table {schema}.usage_days (
  owner text collate "C" not null,
  day date not null,
  model text collate "C" not null,
  slot smallint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  reasoning_tokens bigint not null,
  cost_usd double precision,
  estimated boolean not null,
  primary key (owner, day, model, slot)
) with (fillfactor = 70)`

export const M0002Runs: Migration = {
  name: "0002_runs",
  tables: ["runs", "run_log", "idempotency_keys", "usage_days"],
  statements: [
    runs,
    `create index runs_of_thread on {schema}.runs (thread_id)`,
    `create index runs_active on {schema}.runs (thread_id, status, ordinal) where status in ('IN_PROGRESS', 'QUEUED')`,
    `create unique index runs_in_progress on {schema}.runs (thread_id) where status = 'IN_PROGRESS'`,
    `create unique index runs_waiting on {schema}.runs (thread_id) where status = 'REQUIRES_ACTION'`,
    runLog,
    idempotencyKeys,
    `create index idempotency_keys_of_run on {schema}.idempotency_keys (run_id)`,
    usageDays
  ]
}
