/** The functions that write and read a run's log and end the run: `append_many`, `read_log`, `settle_run`, `request_cancel`, `withdraw_run`. */
import { addToSums, sumKey } from "./Ledger.ts"
import { withFixedPlans, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/**
 * Appends to the logs of many runs in one call. Returns the runs that it could not write: `o_later` is true when the row was locked and the
 * call is to be repeated, false when the lease is lost. The function waits for no lock, so one run cannot delay the others and no deadlock
 * can arise. `p_of` holds, for each batch, the index of its run in `p_runs`, counted from one.
 */
const appendMany = sqlFunction(
  "append_many",
  `(
  p_runs uuid[], p_owners text[], p_tokens bigint[], p_of integer[], p_firsts integer[], p_lasts integer[], p_events text[]
) returns table (o_run uuid, o_later boolean) language plpgsql as $$
declare
  v_held uuid[];
begin
  -- A join would be planned, while the table is small, to read all runs.
  select coalesce(array_agg(held.id), '{}') into v_held from unnest(p_runs, p_owners, p_tokens) lease (run, owner, token)
    cross join lateral (
      select run.id from {schema}.runs run
        where run.id = lease.run and run.owner = lease.owner and run.token = lease.token and run.status = 'IN_PROGRESS'
        for no key update skip locked
    ) held;

  insert into {schema}.run_log (owner, run_id, first_sequence, last_sequence, events)
    select run.owner, run.id, greatest(batch.first, run.last_sequence + 1), batch.last, batch.events
    from unnest(p_of, p_firsts, p_lasts, p_events) batch (of, first, last, events)
    join {schema}.runs run on run.id = p_runs[batch.of] and run.owner = p_owners[batch.of]
    where run.id = any(v_held) and batch.last > run.last_sequence;
  update {schema}.runs run set last_sequence = greatest(run.last_sequence, log.last)
    from (
      select p_runs[batch.of] as run, p_owners[batch.of] as owner, max(batch.last) as last
      from unnest(p_of, p_lasts) batch (of, last) group by batch.of
    ) log
    where run.id = log.run and run.owner = log.owner and run.id = any(v_held);
  perform {schema}.notify_waiting(run) from unnest(p_runs, p_owners) lease (id, owner)
    join {schema}.runs run on run.id = lease.id and run.owner = lease.owner
    where run.id = any(v_held);

  if cardinality(v_held) < cardinality(p_runs) then
    return query
      select lease.run, exists (
        select from {schema}.runs run
        where run.id = lease.run and run.owner = lease.owner and run.token = lease.token and run.status = 'IN_PROGRESS'
      )
      from unnest(p_runs, p_owners, p_tokens) lease (run, owner, token)
      where lease.run <> all(v_held);
  end if;
end $$`
)

/**
 * Prepares the end of a run that is still queued: gives its message a position in the thread, and takes the beginning out of its log, which
 * was stored in advance.
 */
const placeQueued = sqlFunction(
  "place_queued",
  `(p_owner text, p_run {schema}.runs) returns void language plpgsql as $$
declare
  v_first integer := {schema}.place_message(p_owner, p_run);
begin
  delete from {schema}.run_log where run_id = p_run.id and owner = p_owner and first_sequence > p_run.last_sequence;
  update {schema}.run_log set last_sequence = p_run.last_sequence
    where run_id = p_run.id and owner = p_owner and last_sequence > p_run.last_sequence;
  update {schema}.runs set first_message = v_first where id = p_run.id and owner = p_owner;
end $$`
)

/** The settlement of a run that was deleted while it was active. Only its charges are stored, and only once. */
const chargeDeleted = sqlFunction(
  "charge_deleted",
  `(p_owner text, p_run uuid, p_token bigint, p_at timestamptz, p_charges text) returns text language plpgsql as $$
declare
  v_deleted {schema}.deleted_runs;
begin
  select * into v_deleted from {schema}.deleted_runs
    where owner = p_owner and id = p_run and token = p_token for update;
  if not found then return 'lost'; end if;
  if p_charges is not null and not v_deleted.is_charged then
    perform {schema}.add_charges(p_owner, p_at, p_charges, v_deleted.assistant);
  end if;
  update {schema}.deleted_runs set is_charged = true where owner = p_owner and id = p_run;
  return 'deleted';
end $$`
)

/** Returns `settled`, `lost` (another process holds the run) or `deleted` (only the charges were stored). */
const settleRun = sqlFunction(
  "settle_run",
  `(
  p_owner text, p_token bigint, p_status text, p_at timestamptz,
  p_message_id uuid, p_message_tokens integer, p_message_at timestamptz, p_message_body text,
  p_input bigint, p_output bigint, p_cached bigint, p_cache_write bigint, p_reasoning bigint,
  p_estimated boolean, p_steps integer, p_model text,
  p_thread uuid default null, p_run uuid default null, p_first integer default null, p_last integer default null, p_events text default null,
  p_message_role text default 'assistant', p_message_status text default 'COMPLETED', p_message_results text default '[]',
  p_cost double precision default null, p_first_token_at timestamptz default null, p_fault text default null,
  p_explanation text default null, p_charge_provider text default null, p_charge_purpose text default null,
  p_charges text default null, p_follow_ups text default null, p_approved text default null, p_approved_tokens integer default null
) returns text language plpgsql as $$
declare
  v_thread uuid;
  v_assistant uuid;
  v_messages integer;
  v_tokens bigint;
  v_active integer;
  v_found text;
  v_last integer;
  v_is_heard boolean;
  v_run {schema}.runs;
begin
  -- One statement locks the thread first and then the run, and gives the newest version of both. Both are named by their keys: without
  -- statistics, a join that finds the thread by the run may read all threads of the owner.
  select thread.id, thread.assistant_id, thread.message_count, thread.tokens, thread.active, run.status, run.last_sequence,
      run.watched or run.cancel_requested
    into v_thread, v_assistant, v_messages, v_tokens, v_active, v_found, v_last, v_is_heard
    from {schema}.threads thread
    join {schema}.runs run on run.id = p_run and run.owner = p_owner and run.token = p_token and run.thread_id = thread.id
    where thread.id = p_thread and thread.owner = p_owner for no key update of thread, run;
  if not found then
    return {schema}.charge_deleted(p_owner, p_run, p_token, p_at, case when p_charge_purpose is null then p_charges else
      json_build_array(json_build_object(
        'provider', p_charge_provider, 'model', p_model, 'purpose', p_charge_purpose, 'input', p_input, 'output', p_output,
        'cached', p_cached, 'cache_write', p_cache_write, 'reasoning', p_reasoning, 'cost', p_cost, 'estimated', p_estimated
      ))::text end);
  end if;
  if v_found = 'QUEUED' and p_status not in ('FAILED', 'CANCELLED') then return 'lost'; end if;
  if v_found not in ('QUEUED', 'IN_PROGRESS') then
    return case when v_found = p_status or v_found = 'CANCELLED' and p_status = 'REQUIRES_ACTION' then 'settled'
      else 'lost' end;
  end if;

  if v_found = 'QUEUED' then
    select * into v_run from {schema}.runs where id = p_run and owner = p_owner;
    perform {schema}.place_queued(p_owner, v_run);
    select message_count, tokens into v_messages, v_tokens from {schema}.threads where id = v_thread and owner = p_owner;
  elsif p_approved is not null then
    select * into v_run from {schema}.runs where id = p_run and owner = p_owner;
    perform {schema}.answer_calls(p_owner, v_run, p_approved, p_approved_tokens, null);
    v_tokens := v_tokens + p_approved_tokens;
  end if;
  with counted as (
    update {schema}.threads set message_count = v_messages + 1, tokens = v_tokens + p_message_tokens,
      updated_at = greatest(updated_at, p_message_at), last_message_id = p_message_id,
      active = active - 1, waits = waits or p_status = 'REQUIRES_ACTION'
      where id = v_thread and owner = p_owner
  ), said as (
    insert into {schema}.messages (
      id, owner, thread_id, run_id, sequence, role, status, tokens, tokens_before, created_at, body, tool_results
    ) values (
      p_message_id, p_owner, v_thread, p_run, v_messages + 1, p_message_role, p_message_status, p_message_tokens,
      v_tokens, p_message_at, p_message_body, p_message_results
    )
  ), logged as (
    insert into {schema}.run_log (owner, run_id, first_sequence, last_sequence, events)
      select p_owner, p_run, greatest(p_first, v_last + 1), p_last, p_events where p_last > v_last
  ), rested as (
    delete from {schema}.active_runs where thread_id = v_thread and owner = p_owner and run_id = p_run
  )
  update {schema}.runs set
    status = p_status,
    waits = p_status = 'REQUIRES_ACTION',
    last_message = v_messages + 1,
    last_sequence = greatest(v_last, p_last),
    model = p_model,
    input_tokens = input_tokens + p_input,
    output_tokens = output_tokens + p_output,
    cached_input_tokens = cached_input_tokens + p_cached,
    cache_write_tokens = cache_write_tokens + p_cache_write,
    reasoning_tokens = reasoning_tokens + p_reasoning,
    cost_usd = coalesce(cost_usd + p_cost, cost_usd, p_cost),
    estimated = estimated or p_estimated,
    model_calls = model_calls + p_steps,
    first_token_at = coalesce(first_token_at, p_first_token_at),
    fault = p_fault,
    explanation = p_explanation,
    ended_at = case when p_status <> 'REQUIRES_ACTION' then p_at end,
    lease_until = null
    where id = p_run and owner = p_owner;
  if p_charge_purpose is not null then
    ${addToSums(`values (
      ${sumKey({ provider: "p_charge_provider", model: "p_model", purpose: "p_charge_purpose", assistant: "v_assistant", cost: "p_cost" })}, p_input, p_output, p_cached, p_cache_write, p_reasoning, p_cost, p_estimated
    )`)}
  elsif p_charges is not null then
    perform {schema}.add_charges(p_owner, p_at, p_charges, v_assistant);
  end if;
  if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  if v_is_heard or v_active > 1 then perform {schema}.notify_change(p_run, v_thread, false); end if;
  return 'settled';
end $$`
)

/** Returns the status and the thread that the run had before the request; nulls when there is no such run. */
const requestCancel = sqlFunction(
  "request_cancel",
  `(p_owner text, p_run uuid, p_at timestamptz, out o_status text, out o_thread uuid)
language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  perform {schema}.lock_thread_of(p_owner, p_run);
  select * into v_run from {schema}.runs where id = p_run and owner = p_owner for no key update;
  if v_run.status in ('QUEUED', 'IN_PROGRESS', 'REQUIRES_ACTION') then
    update {schema}.runs set cancel_requested = true where id = p_run and owner = p_owner;
    if v_run.status = 'REQUIRES_ACTION' then perform {schema}.supersede(p_owner, v_run.thread_id, p_at);
    else perform {schema}.notify_change(p_run, v_run.thread_id, true);
    end if;
  end if;
  o_status := v_run.status;
  o_thread := v_run.thread_id;
end $$`
)

/** Deletes a queued run and its message, as if it had never been sent. Returns false when the run is not queued any more. */
const withdrawRun = sqlFunction(
  "withdraw_run",
  `(p_owner text, p_run uuid, p_token bigint) returns boolean language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  perform {schema}.lock_thread_of(p_owner, p_run);
  delete from {schema}.runs where id = p_run and owner = p_owner and token = p_token and status = 'QUEUED' returning * into v_run;
  if not found then return false; end if;
  delete from {schema}.active_runs where thread_id = v_run.thread_id and owner = p_owner and run_id = p_run;
  delete from {schema}.run_log where run_id = p_run and owner = p_owner;
  delete from {schema}.idempotency_keys where run_id = p_run and owner = p_owner;
  delete from {schema}.messages
    where thread_id = v_run.thread_id and owner = p_owner and sequence < 0 and id = v_run.user_message_id;
  update {schema}.threads set active = active - 1 where id = v_run.thread_id and owner = p_owner;
  perform {schema}.notify_waiting(v_run);
  return true;
end $$`
)

/**
 * Returns the next rows of a run's log, about a thousand events. The event after `last_sequence` of the run is not returned: it is the
 * beginning of a run that is still queued. An active run is marked as `watched` before its log is read: the read sees all events that were committed before the
 * mark, and for every event after the mark the run sends a notification.
 */
const readLog = sqlFunction(
  "read_log",
  `(p_owner text, p_run uuid, p_after integer)
returns table (first_sequence integer, last_sequence integer, events text) language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  update {schema}.runs set watched = true
    where id = p_run and owner = p_owner and status in ('IN_PROGRESS', 'QUEUED') and not watched;
  select * into v_run from {schema}.runs where id = p_run and owner = p_owner;
  return query
    select page.first_sequence, least(page.last_sequence, v_run.last_sequence), page.events from (
      select batch.*, sum(batch.last_sequence - batch.first_sequence + 1) over (order by batch.last_sequence) as upto from (
        select * from {schema}.run_log log
          where log.run_id = v_run.id and log.owner = p_owner and log.last_sequence > p_after
            and log.first_sequence <= v_run.last_sequence and p_after < v_run.last_sequence
          order by log.last_sequence limit 1000
      ) batch
    ) page
    where page.upto - (page.last_sequence - page.first_sequence + 1) < 1000 order by page.last_sequence;
end $$`
)

export const runEndFunctions: ReadonlyArray<SqlFunction> = [
  appendMany,
  placeQueued,
  chargeDeleted,
  settleRun,
  requestCancel,
  withdrawRun,
  readLog
].map(withFixedPlans)
