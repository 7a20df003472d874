/**
 * The small steps that the operations on runs are made of. All of them are called with the thread's row locked, which is what makes one
 * order of everything that happens on a thread. Every statement inside a function sees what was committed before it, so a caller that
 * has waited for the lock sees what the one before him did. Functions are written in PL/pgSQL also where SQL would do: it keeps its plans.
 */
import type { Migration } from "./Migration.ts"

/** What \`begin_run\`, \`activate_run\` and \`continue_run\` answer. */
const outcome = `
create type {schema}.run_outcome as (
  outcome text, run_id uuid, token bigint, expired boolean, leg_start integer, fingerprint text
)`

/** To every process that listens. */
const hint = `
create function {schema}.hint(p_run uuid, p_thread uuid, p_cancel boolean) returns void language plpgsql as $$
begin
  perform pg_notify({channel}, json_build_object('runId', p_run, 'threadId', p_thread, 'cancel', p_cancel)::text);
end $$`

/**
 * Notifications are committed one after the other in the whole database, so a run tells of its steps only when somebody waits for them:
 * who reads its log, who wants it cancelled, who is queued behind it.
 */
const tell = `
create function {schema}.tell(p_run {schema}.runs) returns void language plpgsql as $$
begin
  if p_run.watched or p_run.cancel_requested or exists (
    select from {schema}.runs where thread_id = p_run.thread_id and owner = p_run.owner and status = 'QUEUED'
  ) then
    perform {schema}.hint(p_run.id, p_run.thread_id, false);
  end if;
end $$`

/** The lock of a thread, by one of its runs. */
const lockThread = `
create function {schema}.lock_thread_of(p_owner text, p_run uuid) returns void language plpgsql as $$
begin
  perform from {schema}.threads
    where owner = p_owner and id = (select thread_id from {schema}.runs where id = p_run and owner = p_owner)
    for no key update;
end $$`

const addMessage = `
create function {schema}.add_message(p_message {schema}.messages) returns void language plpgsql as $$
begin
  update {schema}.threads set message_count = message_count + 1, tokens = tokens + p_message.tokens,
    updated_at = greatest(updated_at, p_message.created_at)
    where id = p_message.thread_id and owner = p_message.owner
    returning message_count, tokens - p_message.tokens into p_message.sequence, p_message.tokens_before;
  insert into {schema}.messages select p_message.*;
end $$`

/** Gives the message of a queued run its place in the thread. */
const placeMessage = `
create function {schema}.place_message(p_owner text, p_message uuid) returns void language plpgsql as $$
declare
  v_message {schema}.messages;
begin
  delete from {schema}.messages where id = p_message and owner = p_owner and sequence is null returning * into v_message;
  perform {schema}.add_message(v_message);
end $$`

/** Stores what is not in the log yet and answers its new end. */
const addEvents = `
create function {schema}.add_events(p_run uuid, p_after integer, p_firsts integer[], p_lasts integer[], p_events text[])
returns integer language plpgsql as $$
begin
  insert into {schema}.run_log (run_id, first_sequence, last_sequence, events)
    select p_run, greatest(batch.first, p_after + 1), batch.last, batch.events
    from unnest(p_firsts, p_lasts, p_events) batch (first, last, events)
    where batch.last > p_after;
  return greatest(p_after, p_lasts[cardinality(p_lasts)]);
end $$`

/** Ends the run that waits for its client, if there is one: a newer message takes its place. */
const supersede = `
create function {schema}.supersede(p_owner text, p_thread uuid, p_at timestamptz) returns void language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  update {schema}.runs set status = 'CANCELLED', ended_at = p_at
    where thread_id = p_thread and owner = p_owner and status = 'REQUIRES_ACTION' returning * into v_run;
  if not found then return; end if;
  update {schema}.messages set status = 'CANCELLED' where id = v_run.answer_id and owner = p_owner;
  perform {schema}.hint(v_run.id, p_thread, false);
end $$`

/** The run that a new one on the thread would have to wait for. */
const runAhead = `
create function {schema}.run_ahead(p_owner text, p_thread uuid) returns {schema}.runs language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  select * into v_run from {schema}.runs
    where thread_id = p_thread and owner = p_owner and status in ('IN_PROGRESS', 'QUEUED')
    order by status, ordinal limit 1;
  return v_run;
end $$`

/** What a key stands for; nothing when there is none, or it is new or older than a day. */
const repeated = `
create function {schema}.repeated(p_owner text, p_key text) returns {schema}.run_outcome language plpgsql as $$
declare
  v_outcome {schema}.run_outcome;
begin
  if p_key is null then return v_outcome; end if;
  select 'Repeated', run_id, null, null, leg_start, fingerprint into v_outcome from {schema}.idempotency_keys
    where owner = p_owner and key = p_key and created_at > clock_timestamp() - interval '24 hours';
  return v_outcome;
end $$`

/** False when somebody else has just claimed the key, on whatever thread. Waits for a claim that is not committed yet. */
const claimKey = `
create function {schema}.claim_key(p_owner text, p_key text, p_fingerprint text, p_run uuid, p_leg_start integer)
returns boolean language plpgsql as $$
begin
  if p_key is null then return true; end if;
  insert into {schema}.idempotency_keys as known (owner, key, fingerprint, run_id, leg_start, created_at)
    values (p_owner, p_key, p_fingerprint, p_run, p_leg_start, clock_timestamp())
    on conflict (owner, key) do update
      set fingerprint = excluded.fingerprint, run_id = excluded.run_id, leg_start = excluded.leg_start,
        created_at = excluded.created_at
      where known.created_at <= clock_timestamp() - interval '24 hours';
  return found;
end $$`

export const M0003RunSteps: Migration = {
  name: "0003_run_steps",
  tables: [],
  statements: [
    outcome,
    hint,
    tell,
    lockThread,
    addMessage,
    placeMessage,
    addEvents,
    supersede,
    runAhead,
    repeated,
    claimKey
  ]
}
