/** How runs go on and end: `append_events`, `settle_run`, `request_cancel`, `withdraw_run`, `read_log`, and the removal of what they
 * belong to. */
import type { Migration } from "./Migration.ts"

const appendEvents = `
create function {schema}.append_events(
  p_owner text, p_run uuid, p_token bigint, p_firsts integer[], p_lasts integer[], p_events text[]
) returns boolean language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  select * into v_run from {schema}.runs
    where id = p_run and owner = p_owner and token = p_token and status = 'IN_PROGRESS' for no key update;
  if not found then return false; end if;
  update {schema}.runs set last_sequence = {schema}.add_events(p_run, v_run.last_sequence, p_firsts, p_lasts, p_events)
    where id = p_run and owner = p_owner;
  perform {schema}.tell(v_run);
  return true;
end $$`

/** A queued run that ends gets its message placed. Of its waiting events it keeps those before \`p_until\`, where its ending begins. */
const placeQueued = `
create function {schema}.place_queued(p_owner text, p_run {schema}.runs, p_until integer) returns integer language plpgsql as $$
begin
  delete from {schema}.run_log where run_id = p_run.id and first_sequence >= p_until;
  update {schema}.run_log set last_sequence = p_until - 1 where run_id = p_run.id and last_sequence >= p_until;
  perform {schema}.place_message(p_owner, p_run.user_message_id);
  return coalesce((select max(last_sequence) from {schema}.run_log where run_id = p_run.id), 0);
end $$`

const addUsage = `
create function {schema}.add_usage(
  p_owner text, p_run uuid, p_at timestamptz, p_model text, p_input bigint, p_output bigint, p_cached bigint, p_cache_write bigint,
  p_reasoning bigint, p_cost double precision, p_estimated boolean
) returns void language plpgsql as $$
begin
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
    estimated = known.estimated or p_estimated;
end $$`

const settleRun = `
create function {schema}.settle_run(
  p_owner text, p_run uuid, p_token bigint, p_status text, p_at timestamptz,
  p_firsts integer[], p_lasts integer[], p_events text[],
  p_message_id uuid, p_message_role text, p_message_status text, p_message_tokens integer, p_message_at timestamptz,
  p_message_body text, p_message_results text,
  p_input bigint, p_output bigint, p_cached bigint, p_cache_write bigint, p_reasoning bigint, p_cost double precision,
  p_estimated boolean, p_model text, p_fault text, p_explanation text
) returns boolean language plpgsql as $$
declare
  v_run {schema}.runs;
  v_message {schema}.messages;
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
  v_message := row(
    p_message_id, p_owner, v_run.thread_id, p_run, null, p_message_role, p_message_status, p_message_tokens, null, p_message_at,
    p_message_body, p_message_results);
  perform {schema}.add_message(v_message);
  update {schema}.runs set
    status = p_status,
    last_sequence = {schema}.add_events(p_run, v_run.last_sequence, p_firsts, p_lasts, p_events),
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
  perform {schema}.add_usage(
    p_owner, p_run, p_at, p_model, p_input, p_output, p_cached, p_cache_write, p_reasoning, p_cost, p_estimated);
  perform {schema}.tell(v_run);
  return true;
end $$`

/** Answers the state found; null when there is no such run. */
/** Answers the state found; nothing when there is no such run. */
const requestCancel = `
create function {schema}.request_cancel(p_owner text, p_run uuid, p_at timestamptz, out o_status text, out o_thread uuid)
language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  perform {schema}.lock_thread_of(p_owner, p_run);
  select * into v_run from {schema}.runs where id = p_run and owner = p_owner for no key update;
  if v_run.status in ('QUEUED', 'IN_PROGRESS', 'REQUIRES_ACTION') then
    update {schema}.runs set cancel_requested = true where id = p_run and owner = p_owner;
    if v_run.status = 'REQUIRES_ACTION' then perform {schema}.supersede(p_owner, v_run.thread_id, p_at);
    else perform {schema}.hint(p_run, v_run.thread_id, true);
    end if;
  end if;
  o_status := v_run.status;
  o_thread := v_run.thread_id;
end $$`

const withdrawRun = `
create function {schema}.withdraw_run(p_owner text, p_run uuid, p_token bigint) returns boolean language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  perform {schema}.lock_thread_of(p_owner, p_run);
  delete from {schema}.runs where id = p_run and owner = p_owner and token = p_token and status = 'QUEUED' returning * into v_run;
  if not found then return false; end if;
  delete from {schema}.messages where id = v_run.user_message_id and owner = p_owner and sequence is null;
  perform {schema}.tell(v_run);
  return true;
end $$`

/** Threads go with everything in them, by their foreign keys; whoever works on one of their runs is told. */
const removeThread = `
create function {schema}.remove_thread(p_owner text, p_thread uuid) returns boolean language plpgsql as $$
begin
  perform {schema}.hint(id, thread_id, false) from {schema}.runs
    where thread_id = p_thread and owner = p_owner and status in ('IN_PROGRESS', 'QUEUED');
  delete from {schema}.threads where id = p_thread and owner = p_owner;
  return found;
end $$`

const removeAssistant = `
create function {schema}.remove_assistant(p_owner text, p_assistant uuid) returns boolean language plpgsql as $$
begin
  perform {schema}.hint(run.id, run.thread_id, false)
    from {schema}.threads thread join {schema}.runs run on run.thread_id = thread.id
    where thread.assistant_id = p_assistant and thread.owner = p_owner and run.status in ('IN_PROGRESS', 'QUEUED');
  delete from {schema}.assistants where id = p_assistant and owner = p_owner;
  return found;
end $$`

/**
 * Rows of a run's log until they hold about a thousand events. A log that waits with its queued run lies behind \`last_sequence\`. Whoever
 * reads an active run is noted first, and then sees all that was written before: from there on he is told.
 */
const readLog = `
create function {schema}.read_log(p_owner text, p_run uuid, p_after integer) returns setof {schema}.run_log language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  update {schema}.runs set watched = true
    where id = p_run and owner = p_owner and status in ('IN_PROGRESS', 'QUEUED') and not watched;
  select * into v_run from {schema}.runs where id = p_run and owner = p_owner;
  return query
    select page.run_id, page.first_sequence, page.last_sequence, page.events from (
      select batch.*, sum(batch.last_sequence - batch.first_sequence + 1) over (order by batch.last_sequence) as upto from (
        select * from {schema}.run_log log
          where log.run_id = v_run.id and log.last_sequence > p_after and log.first_sequence <= v_run.last_sequence
          order by log.last_sequence limit 1000
      ) batch
    ) page
    where page.upto - (page.last_sequence - page.first_sequence + 1) < 1000 order by page.last_sequence;
end $$`

export const M0005RunEnds: Migration = {
  name: "0005_run_ends",
  tables: [],
  statements: [
    appendEvents,
    placeQueued,
    addUsage,
    settleRun,
    requestCancel,
    withdrawRun,
    removeThread,
    removeAssistant,
    readLog
  ]
}
