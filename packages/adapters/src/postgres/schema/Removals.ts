/**
 * Deletions of threads and assistants. Deleted records can no longer be read, from the moment of the deletion. The rows of a long thread,
 * or of an assistant with many threads, are deleted in portions, so that no statement takes long. A long thread without a row leaves a row
 * in `thread_drafts` for its messages, and an assistant keeps its row, as one that nobody sees, until the last portion.
 */
import { type Migration, sqlFunction, type SqlFunction, withFixedPlans } from "./SchemaPart.ts"

/**
 * The messages and runs of a thread with more messages or tokens are deleted by `remove_some`. Its active and waiting runs go with the row
 * of the thread.
 */
const emptyThread = `
create or replace function {schema}.empty_thread() returns trigger language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_runs uuid[];
begin
  if old.message_count > 300 or old.tokens > 200000 then
    insert into {schema}.thread_drafts (owner, id, removed) values (old.owner, old.id, true)
      on conflict (owner, id) do update set removed = true;
    with gone as (
      delete from {schema}.active_runs where thread_id = old.id and owner = old.owner returning run_id
    ) select array_agg(run_id) into v_runs from gone;
    delete from {schema}.runs where thread_id = old.id and owner = old.owner and waits;
  else
    with gone as (
      delete from {schema}.messages where thread_id = old.id and owner = old.owner returning run_id
    ) select array_agg(distinct run_id) into v_runs from gone where run_id is not null;
    delete from {schema}.active_runs where thread_id = old.id and owner = old.owner;
  end if;
  with gone as (
    delete from {schema}.runs where id = any (v_runs) and owner = old.owner and thread_id = old.id returning id
  ) select array_agg(id) into v_runs from gone;
  delete from {schema}.run_log where run_id = any (v_runs) and owner = old.owner;
  return null;
end $$`

export const removalTables: Migration = {
  name: "removals in portions",
  tables: [],
  statements: [
    `alter table {schema}.thread_drafts add column removed boolean not null default false`,
    `alter table {schema}.assistants add column removed_at timestamptz`,
    `create index assistants_removed on {schema}.assistants (removed_at) where removed_at is not null`,
    emptyThread
  ]
}

/**
 * Called with the row of the deleted thread locked. Records the thread's active runs, so that their charges can still be stored, and
 * notifies the processes that run them.
 */
const noteDeletedRuns = sqlFunction(
  "note_deleted_runs",
  `(p_owner text, p_thread uuid) returns void language plpgsql as $$
declare
  v_run uuid;
  v_assistant uuid := (select assistant_id from {schema}.threads where id = p_thread and owner = p_owner);
begin
  insert into {schema}.deleted_runs (owner, id, token, assistant)
    select run.owner, run.id, run.token, v_assistant from {schema}.active_runs active
    join {schema}.runs run on run.id = active.run_id and run.owner = active.owner
    where active.thread_id = p_thread and active.owner = p_owner on conflict do nothing;
  for v_run in select run_id from {schema}.active_runs where thread_id = p_thread and owner = p_owner loop
    perform {schema}.notify_change(v_run, p_thread, false);
  end loop;
  delete from {schema}.deleted_runs where owner = p_owner and deleted_at < clock_timestamp() - interval '2 days';
end $$`
)

/**
 * Deletes the oldest messages of a thread with their runs: `p_limit` of them, or about a million bytes. Returns whether the thread has no
 * more.
 */
const eraseMessages = sqlFunction(
  "erase_messages",
  `(p_owner text, p_thread uuid, p_limit integer) returns boolean language plpgsql as $$
declare
  v_last integer;
  v_runs uuid[];
begin
  select max(weighed.sequence) into v_last from (
    select oldest.sequence, sum(oldest.size) over (order by oldest.sequence) - oldest.size as before from (
      select m.sequence, pg_column_size(m.body) + pg_column_size(m.tool_results) as size from {schema}.messages m
        where m.thread_id = p_thread and m.owner = p_owner order by m.sequence limit p_limit
    ) oldest
  ) weighed where weighed.before < 1000000;
  with gone as (
    delete from {schema}.messages where thread_id = p_thread and owner = p_owner and sequence <= coalesce(v_last, 0) returning run_id
  ) select array_agg(distinct run_id) into v_runs from gone where run_id is not null;
  delete from {schema}.active_runs where thread_id = p_thread and owner = p_owner and run_id = any (v_runs);
  with gone as (
    delete from {schema}.runs where id = any (v_runs) and owner = p_owner and thread_id = p_thread returning id
  ) select array_agg(id) into v_runs from gone;
  delete from {schema}.run_log where run_id = any (v_runs) and owner = p_owner;
  return not exists (select from {schema}.messages where thread_id = p_thread and owner = p_owner);
end $$`
)

/** Tables whose rows go with an assistant. The rows of threads are deleted before. */
const tablesOfAssistant = ["memories", "documents", "answer_outcomes", "schedules", "assistant_versions"]

/**
 * Deletes some rows of an assistant that nobody sees any more, and at last the assistant's own row. Returns whether the assistant is gone.
 */
const emptyAssistant = sqlFunction(
  "empty_assistant",
  `(p_owner text, p_assistant uuid, p_limit integer) returns boolean language plpgsql as $$
declare
  v_threads uuid[];
  v_table text;
  v_rows integer;
begin
  select array_agg(weighed.id order by weighed.id) into v_threads from (
    select oldest.id, sum(oldest.weight) over (order by oldest.id) - oldest.weight as before from (
      select t.id, 10 + least(t.message_count, 300) as weight from {schema}.threads t
        where t.assistant_id = p_assistant and t.owner = p_owner order by t.created_at, t.ordinal limit p_limit / 10 for update
    ) oldest
  ) weighed where weighed.before < p_limit;
  if v_threads is not null then
    perform {schema}.note_deleted_runs(p_owner, thread.id) from unnest(v_threads) thread (id);
    delete from {schema}.threads where id = any (v_threads) and owner = p_owner;
    if exists (select from {schema}.threads where assistant_id = p_assistant and owner = p_owner) then return false; end if;
  end if;
  foreach v_table in array array[${tablesOfAssistant.map((table) => `'${table}'`).join(", ")}] loop
    execute format(
      'delete from {schema}.%1$I where owner = $1 and ctid = any (array(
         select ctid from {schema}.%1$I where owner = $1 and assistant_id = $2 limit $3))', v_table
    ) using p_owner, p_assistant, p_limit;
    get diagnostics v_rows = row_count;
    if v_rows >= p_limit then return false; end if;
  end loop;
  update {schema}.threads set acting_assistant_id = null where owner = p_owner and ctid = any (array(
    select ctid from {schema}.threads where acting_assistant_id = p_assistant and owner = p_owner limit p_limit
  ));
  get diagnostics v_rows = row_count;
  if v_rows >= p_limit then return false; end if;
  delete from {schema}.assistants where id = p_assistant and owner = p_owner;
  return true;
end $$`
)

/**
 * Deletes some of the rows that deletions of an owner have left. Returns whether there may be more. An hour after they began, drafts count
 * as such rows too.
 */
const removeSome = sqlFunction(
  "remove_some",
  `(p_owner text, p_limit integer) returns boolean language plpgsql as $$
declare
  v_id uuid;
  v_rows integer;
begin
  select id into v_id from {schema}.thread_drafts
    where owner = p_owner and (removed or created_at < clock_timestamp() - interval '1 hour') limit 1 for update;
  if found then
    delete from {schema}.eval_cases where owner = p_owner and draft = v_id and ctid = any (array(
      select ctid from {schema}.eval_cases where owner = p_owner and draft = v_id limit p_limit
    ));
    get diagnostics v_rows = row_count;
    if v_rows > 0 then return true; end if;
    if {schema}.erase_messages(p_owner, v_id, p_limit) then
      delete from {schema}.thread_drafts where owner = p_owner and id = v_id;
    end if;
    return true;
  end if;
  select id into v_id from {schema}.assistants where owner = p_owner and removed_at is not null limit 1 for update;
  if not found then return false; end if;
  perform {schema}.empty_assistant(p_owner, v_id, p_limit);
  return true;
end $$`
)

/** Whether deletions of the owner have left rows. */
const hasRemoved = `exists (select from {schema}.thread_drafts d where d.owner = p_owner and d.removed)
      or exists (select from {schema}.assistants where owner = p_owner and removed_at is not null)`

/**
 * Returns whether the thread existed, and whether "remove_some" has rows to delete. Returns no row when a voice session is writing to the
 * thread.
 */
const removeThread = sqlFunction(
  "remove_thread",
  `(p_owner text, p_thread uuid) returns table (removed boolean, rest boolean) language plpgsql as $$
begin
  perform from {schema}.threads where id = p_thread and owner = p_owner for update;
  if not found then return query select false, false; return; end if;
  if exists (
    select from {schema}.realtime_sessions where owner = p_owner and thread_id = p_thread and lease_until > clock_timestamp()
  ) then return; end if;
  perform {schema}.note_deleted_runs(p_owner, p_thread);
  delete from {schema}.threads where id = p_thread and owner = p_owner;
  return query select true, ${hasRemoved};
end $$`
)

/** Returns the same for an assistant, and no row when a voice session is writing to one of its threads. */
const removeAssistant = sqlFunction(
  "remove_assistant",
  `(p_owner text, p_assistant uuid, p_limit integer) returns table (removed boolean, rest boolean) language plpgsql as $$
begin
  perform from {schema}.assistants where id = p_assistant and owner = p_owner and not draft for update;
  if not found then return query select false, false; return; end if;
  -- Who opens a session holds the lock of its thread.
  perform from (
    select id from {schema}.threads where assistant_id = p_assistant and owner = p_owner order by created_at, ordinal limit p_limit for update
  ) locked;
  if exists (
    select from {schema}.realtime_sessions session join {schema}.threads thread on thread.id = session.thread_id
    where session.owner = p_owner and session.lease_until > clock_timestamp()
      and thread.assistant_id = p_assistant and thread.owner = p_owner
  ) then return; end if;
  update {schema}.assistants set draft = true, removed_at = clock_timestamp() where id = p_assistant and owner = p_owner;
  perform {schema}.empty_assistant(p_owner, p_assistant, p_limit);
  return query select true, ${hasRemoved};
end $$`
)

export const removalFunctions: ReadonlyArray<SqlFunction> = [
  noteDeletedRuns,
  eraseMessages,
  emptyAssistant,
  removeSome,
  removeThread,
  removeAssistant
].map(withFixedPlans)
