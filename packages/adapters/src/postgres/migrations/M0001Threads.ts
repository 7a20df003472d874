/**
 * Assistants, threads, messages and API keys. JSON that is never searched is kept as text: exactly what was given comes back, and the
 * server spends nothing on it. `ordinal` orders records of one moment as they came.
 */
import type { Migration } from "./Migration.ts"

const assistants = `
create table {schema}.assistants (
  id uuid primary key,
  ordinal bigint generated always as identity,
  owner text collate "C" not null,
  name text collate "C" not null,
  description text,
  system_prompt text,
  provider text,
  model text,
  tools text,
  search_limit integer not null,
  embedding text not null,
  fact_extraction_prompt text,
  memory_update_prompt text,
  metadata text,
  created_at timestamptz not null,
  updated_at timestamptz not null
)`

const threads = `
create table {schema}.threads (
  id uuid primary key,
  ordinal bigint generated always as identity,
  owner text collate "C" not null,
  assistant_id uuid not null references {schema}.assistants on delete cascade,
  metadata text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  message_count integer not null default 0,
  tokens bigint not null default 0
) with (fillfactor = 80)`

/** The message of a queued run has no place yet: its `sequence` is null. `tokens_before` sums up the messages before this one. */
const messages = `
create table {schema}.messages (
  id uuid primary key,
  owner text collate "C" not null,
  thread_id uuid not null references {schema}.threads on delete cascade,
  run_id uuid,
  sequence integer,
  role text not null,
  status text not null,
  tokens integer not null,
  tokens_before bigint,
  created_at timestamptz not null,
  body text not null,
  tool_results text not null
)`

const keys = `
create table {schema}.keys (
  id uuid primary key,
  ordinal bigint generated always as identity,
  owner text collate "C" not null,
  name text not null,
  hash text collate "C" not null,
  created_at timestamptz not null,
  revoked_at timestamptz
)`

export const M0001Threads: Migration = {
  name: "0001_threads",
  tables: ["assistants", "threads", "messages", "keys"],
  statements: [
    assistants,
    `create index assistants_of_owner on {schema}.assistants (owner, created_at, ordinal)`,
    `create index assistants_by_name on {schema}.assistants (owner, name, created_at, ordinal)`,
    threads,
    `create index threads_of_owner on {schema}.threads (owner, created_at, ordinal)`,
    `create index threads_of_assistant on {schema}.threads (assistant_id, created_at, ordinal)`,
    messages,
    `create unique index messages_in_order on {schema}.messages (thread_id, sequence)`,
    `create index messages_by_size on {schema}.messages (thread_id, tokens_before, sequence)`,
    `create index messages_of_run on {schema}.messages (run_id, sequence)`,
    keys,
    `create unique index keys_by_hash on {schema}.keys (hash)`,
    `create index keys_by_hash_prefix on {schema}.keys (left(hash, 32))`,
    `create index keys_of_owner on {schema}.keys (owner, created_at, ordinal)`
  ]
}
