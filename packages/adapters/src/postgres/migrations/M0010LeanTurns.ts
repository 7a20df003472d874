/**
 * The two writes of a turn with fewer statements inside: each statement of a function costs the server as much as the rows
 * that it touches. The functions promise what they promised, so older processes go on with them.
 */
import type { Migration } from "./Migration.ts"

const beginRun = `
create or replace function {schema}.begin_run(
  p_owner text, p_run uuid, p_thread uuid, p_answer uuid, p_stream boolean, p_provider text, p_model text, p_plan text,
  p_created_at timestamptz, p_leg_start integer,
  p_message_id uuid, p_message_role text, p_message_status text, p_message_tokens integer, p_message_at timestamptz,
  p_message_body text, p_message_results text,
  p_firsts integer[], p_lasts integer[], p_events text[],
  p_mode text, p_max_queued integer, p_lease double precision, p_key text, p_fingerprint text, p_at timestamptz
) returns {schema}.run_outcome language plpgsql as $$
declare
  v_thread {schema}.threads;
  v_ahead uuid;
  v_ahead_until timestamptz;
  v_waits boolean;
  v_outcome {schema}.run_outcome;
  v_status text;
begin
  select * into v_thread from {schema}.threads where id = p_thread and owner = p_owner for no key update;
  if p_key is not null then
    v_outcome := {schema}.repeated(p_owner, p_key);
    if v_outcome.outcome is not null then return v_outcome; end if;
  end if;
  if v_thread.id is null then
    v_outcome.outcome := 'ThreadMissing';
    return v_outcome;
  end if;

  select ahead.id, ahead.lease_until, exists (
      select from {schema}.runs where thread_id = p_thread and owner = p_owner and status = 'REQUIRES_ACTION'
    ) into v_ahead, v_ahead_until, v_waits
    from (values (0)) one left join lateral (
      select run.id, run.lease_until from {schema}.runs run
        where run.thread_id = p_thread and run.owner = p_owner and run.status in ('IN_PROGRESS', 'QUEUED')
        order by run.status, run.ordinal limit 1
    ) ahead on p_mode <> 'save';
  if v_ahead is not null and (p_mode = 'reject' or p_max_queued <= (
    select count(*) from {schema}.runs where thread_id = p_thread and owner = p_owner and status = 'QUEUED'
  )) then
    v_outcome := row('Busy', v_ahead, null, v_ahead_until <= clock_timestamp(), null, null);
    return v_outcome;
  end if;
  if p_key is not null and not {schema}.claim_key(p_owner, p_key, p_fingerprint, p_run, p_leg_start) then
    return {schema}.repeated(p_owner, p_key);
  end if;

  v_status := case when p_mode = 'save' then 'COMPLETED' when v_ahead is null then 'IN_PROGRESS' else 'QUEUED' end;
  if v_waits and v_status <> 'QUEUED' then perform {schema}.supersede(p_owner, p_thread, p_at); end if;
  with placed as (
    update {schema}.threads set message_count = message_count + 1, tokens = tokens + p_message_tokens,
      updated_at = greatest(updated_at, p_message_at)
      where id = p_thread and owner = p_owner and v_status <> 'QUEUED'
      returning message_count as sequence, tokens - p_message_tokens as tokens_before
  ), said as (
    insert into {schema}.messages
      select p_message_id, p_owner, p_thread, p_run, placed.sequence, p_message_role, p_message_status, p_message_tokens,
        placed.tokens_before, p_message_at, p_message_body, p_message_results
      from (values (0)) one left join placed on true
  ), logged as (
    insert into {schema}.run_log (run_id, first_sequence, last_sequence, events)
      select p_run, batch.first, batch.last, batch.events
      from unnest(p_firsts, p_lasts, p_events) batch (first, last, events)
  )
  insert into {schema}.runs (
    id, owner, thread_id, assistant_id, status, leg_start, last_sequence, user_message_id, answer_id, stream, provider, model,
    plan, created_at, started_at, ended_at, token, lease_until
  ) values (
    p_run, p_owner, p_thread, v_thread.assistant_id, v_status, p_leg_start,
    case when v_status = 'QUEUED' then 0 else coalesce(p_lasts[cardinality(p_lasts)], 0) end,
    p_message_id, p_answer, p_stream, p_provider, p_model, p_plan, p_created_at,
    case when v_status <> 'QUEUED' then p_at end, case when v_status = 'COMPLETED' then p_at end,
    1, case when v_status <> 'COMPLETED' then clock_timestamp() + p_lease * interval '1 millisecond' end
  );
  v_outcome := row(
    case v_status when 'COMPLETED' then 'Saved' when 'QUEUED' then 'Queued' else 'Started' end, p_run, 1, null, null, null);
  return v_outcome;
end $$`

const settleRun = `
create or replace function {schema}.settle_run(
  p_owner text, p_run uuid, p_token bigint, p_status text, p_at timestamptz,
  p_firsts integer[], p_lasts integer[], p_events text[],
  p_message_id uuid, p_message_role text, p_message_status text, p_message_tokens integer, p_message_at timestamptz,
  p_message_body text, p_message_results text,
  p_input bigint, p_output bigint, p_cached bigint, p_cache_write bigint, p_reasoning bigint, p_cost double precision,
  p_estimated boolean, p_model text, p_fault text, p_explanation text
) returns boolean language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  perform {schema}.lock_thread_of(p_owner, p_run);
  select * into v_run from {schema}.runs where id = p_run and owner = p_owner and token = p_token for no key update;
  if not found or v_run.status = 'QUEUED' and p_status not in ('FAILED', 'CANCELLED') then return false; end if;
  if v_run.status not in ('QUEUED', 'IN_PROGRESS') then
    return v_run.status = p_status or v_run.status = 'CANCELLED' and p_status = 'REQUIRES_ACTION';
  end if;

  if v_run.status = 'QUEUED' then
    v_run.last_sequence := {schema}.place_queued(p_owner, v_run, coalesce(p_firsts[1], 2147483647));
  end if;
  with placed as (
    update {schema}.threads set message_count = message_count + 1, tokens = tokens + p_message_tokens,
      updated_at = greatest(updated_at, p_message_at)
      where id = v_run.thread_id and owner = p_owner
      returning message_count as sequence, tokens - p_message_tokens as tokens_before
  ), said as (
    insert into {schema}.messages
      select p_message_id, p_owner, v_run.thread_id, p_run, placed.sequence, p_message_role, p_message_status, p_message_tokens,
        placed.tokens_before, p_message_at, p_message_body, p_message_results
      from placed
  ), logged as (
    insert into {schema}.run_log (run_id, first_sequence, last_sequence, events)
      select p_run, greatest(batch.first, v_run.last_sequence + 1), batch.last, batch.events
      from unnest(p_firsts, p_lasts, p_events) batch (first, last, events)
      where batch.last > v_run.last_sequence
  ), used as (
    insert into {schema}.usage_days as known values (
      p_owner, (p_at at time zone 'UTC')::date, p_model, get_byte(uuid_send(p_run), 15) % 16,
      p_input, p_output, p_cached, p_cache_write, p_reasoning, p_cost, p_estimated
    ) on conflict (owner, day, model, slot) do update set
      input_tokens = known.input_tokens + p_input,
      output_tokens = known.output_tokens + p_output,
      cached_input_tokens = known.cached_input_tokens + p_cached,
      cache_write_tokens = known.cache_write_tokens + p_cache_write,
      reasoning_tokens = known.reasoning_tokens + p_reasoning,
      cost_usd = coalesce(known.cost_usd + p_cost, known.cost_usd, p_cost),
      estimated = known.estimated or p_estimated
  )
  update {schema}.runs set
    status = p_status,
    last_sequence = greatest(v_run.last_sequence, p_lasts[cardinality(p_lasts)]),
    model = p_model,
    input_tokens = input_tokens + p_input,
    output_tokens = output_tokens + p_output,
    cached_input_tokens = cached_input_tokens + p_cached,
    cache_write_tokens = cache_write_tokens + p_cache_write,
    reasoning_tokens = reasoning_tokens + p_reasoning,
    cost_usd = coalesce(cost_usd + p_cost, cost_usd, p_cost),
    estimated = estimated or p_estimated,
    fault = p_fault,
    explanation = p_explanation,
    ended_at = case when p_status <> 'REQUIRES_ACTION' then p_at end,
    lease_until = null
    where id = p_run and owner = p_owner;
  perform {schema}.tell(v_run);
  return true;
end $$`

/** A faster compression of long texts, where the server has it. */
const compression = `
do $do$ begin
  execute 'alter table {schema}.run_log alter column events set compression lz4';
  execute 'alter table {schema}.messages alter column body set compression lz4';
exception when others then null;
end $do$`

export const M0010LeanTurns: Migration = {
  name: "0010_lean_turns",
  tables: [],
  statements: [beginRun, settleRun, compression]
}
