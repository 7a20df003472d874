/**
 * The small functions that the operations on runs are made of. They are called with the thread's row locked, so all changes of one thread
 * happen one after the other. Every statement inside a function sees what was committed before the statement began: a caller that has
 * waited for the lock sees what the previous caller wrote. The functions are written in PL/pgSQL even where plain SQL would be enough,
 * because PL/pgSQL keeps the plans of its statements.
 */
import { sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/**
 * Limits how long the rest of this transaction waits for a lock; with null it changes nothing. Returns its first argument, so that a
 * statement can call it in place of the owner.
 */
const limitLockWait = sqlFunction(
  "limit_lock_wait",
  `(p_owner text, p_millis integer) returns text language plpgsql as $$
declare
  v_set text;
begin
  -- An assignment is evaluated by itself; "perform" would be a statement.
  if p_millis is not null then v_set := set_config('lock_timeout', p_millis::text, true); end if;
  return p_owner;
end $$`
)

/** Notifies every process that listens on the channel. */
const notifyChange = sqlFunction(
  "notify_change",
  `(p_run uuid, p_thread uuid, p_cancel boolean) returns void language plpgsql as $$
begin
  perform pg_notify({channel}, json_build_object('runId', p_run, 'threadId', p_thread, 'cancel', p_cancel)::text);
end $$`
)

/**
 * PostgreSQL commits transactions with notifications one after the other in the whole database. Therefore a run sends notifications only
 * when another process may wait for them: its log is being read, its cancellation was requested, or another run is queued behind it.
 */
const notifyWaiting = sqlFunction(
  "notify_waiting",
  `(p_run {schema}.runs) returns void language plpgsql as $$
begin
  if p_run.watched or p_run.cancel_requested or exists (
    select from {schema}.active_runs where thread_id = p_run.thread_id and owner = p_run.owner and place > 0
  ) then
    perform {schema}.notify_change(p_run.id, p_run.thread_id, false);
  end if;
end $$`
)

/** Locks the thread to which a run belongs. */
const lockThread = sqlFunction(
  "lock_thread_of",
  `(p_owner text, p_run uuid) returns void language plpgsql as $$
begin
  perform from {schema}.threads
    where owner = p_owner and id = (select thread_id from {schema}.runs where id = p_run and owner = p_owner)
    for no key update;
end $$`
)

/** Gives the message of a queued run its position in the thread. Returns the position. */
const placeMessage = sqlFunction(
  "place_message",
  `(p_owner text, p_run {schema}.runs) returns integer language plpgsql as $$
declare
  v_place integer;
begin
  with waiting as (
    select * from {schema}.messages
      where thread_id = p_run.thread_id and owner = p_owner and sequence < 0 and id = p_run.user_message_id
  ), placed as (
    update {schema}.threads thread set message_count = thread.message_count + 1, tokens = thread.tokens + waiting.tokens,
      updated_at = greatest(thread.updated_at, waiting.created_at), last_message_id = waiting.id
      from waiting where thread.id = waiting.thread_id and thread.owner = waiting.owner
      returning waiting.sequence as waiting, thread.message_count as sequence, thread.tokens - waiting.tokens as tokens_before
  )
  update {schema}.messages message set sequence = placed.sequence, tokens_before = placed.tokens_before
    from placed where message.thread_id = p_run.thread_id and message.owner = p_owner and message.sequence = placed.waiting
    returning message.sequence into v_place;
  return v_place;
end $$`
)

/** Stores the events that are not in the log yet. Returns the sequence of the log's last event. */
const addEvents = sqlFunction(
  "add_events",
  `(p_owner text, p_run uuid, p_after integer, p_first integer, p_last integer, p_events text)
returns integer language plpgsql as $$
begin
  -- Not an insert of a select: a distributed database would copy the row over a connection of its own.
  if p_last > p_after then
    insert into {schema}.run_log (owner, run_id, first_sequence, last_sequence, events)
      values (p_owner, p_run, greatest(p_first, p_after + 1), p_last, p_events);
  end if;
  return greatest(p_after, p_last);
end $$`
)

/** Ends the run that waits for its client, if there is one: a newer message takes its place. */
const supersede = sqlFunction(
  "supersede",
  `(p_owner text, p_thread uuid, p_at timestamptz) returns void language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  update {schema}.runs set status = 'CANCELLED', ended_at = p_at, waits = false
    where thread_id = p_thread and owner = p_owner and waits returning * into v_run;
  if not found then return; end if;
  update {schema}.messages set status = 'CANCELLED'
    where thread_id = p_thread and owner = p_owner and sequence = v_run.last_message;
  update {schema}.threads set revision = revision + 1, waits = false where id = p_thread and owner = p_owner;
  perform {schema}.notify_change(v_run.id, p_thread, false);
end $$`
)

/** The run that a new run on the thread would have to wait for. */
const runAhead = sqlFunction(
  "run_ahead",
  `(p_owner text, p_thread uuid) returns {schema}.runs language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  select run.* into v_run from {schema}.active_runs active
    join {schema}.runs run on run.id = active.run_id and run.owner = active.owner
    where active.thread_id = p_thread and active.owner = p_owner order by active.place limit 1;
  return v_run;
end $$`
)

/** The run for which an idempotency key was used. Empty when no key is given, or the key is unknown or older than a day. */
const findRepeated = sqlFunction(
  "find_repeated",
  `(p_owner text, p_key text) returns {schema}.run_outcome language plpgsql as $$
declare
  v_outcome {schema}.run_outcome;
begin
  if p_key is null then return v_outcome; end if;
  select 'Repeated', run_id, null, null, leg_start, fingerprint into v_outcome from {schema}.idempotency_keys
    where owner = p_owner and key = p_key and created_at > clock_timestamp() - interval '24 hours';
  return v_outcome;
end $$`
)

/** Returns false when another caller has claimed the key, on this thread or another. Waits for a claim that is not committed yet. */
const claimKey = sqlFunction(
  "claim_key",
  `(p_owner text, p_key text, p_fingerprint text, p_run uuid, p_thread uuid, p_leg_start integer)
returns boolean language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_oldest timestamptz := v_now - interval '24 hours';
begin
  if p_key is null then return true; end if;
  insert into {schema}.idempotency_keys as known (owner, key, fingerprint, run_id, thread_id, leg_start, created_at)
    values (p_owner, p_key, p_fingerprint, p_run, p_thread, p_leg_start, v_now)
    on conflict (owner, key) do update
      set fingerprint = excluded.fingerprint, run_id = excluded.run_id, thread_id = excluded.thread_id, leg_start = excluded.leg_start,
        created_at = excluded.created_at, answer = null
      where known.created_at <= v_oldest;
  return found;
end $$`
)

export const runStepFunctions: ReadonlyArray<SqlFunction> = [
  limitLockWait,
  notifyChange,
  notifyWaiting,
  lockThread,
  placeMessage,
  addEvents,
  supersede,
  runAhead,
  findRepeated,
  claimKey
]
