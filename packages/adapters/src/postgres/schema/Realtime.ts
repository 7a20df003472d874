/**
 * Voice sessions: the session that may write to a thread, charges that have not been reported to the meter yet, and tickets. The messages of
 * a session are stored in the thread like all others.
 */
import { type Migration, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/** One row for each thread that has a session, or had one whose process died before it could delete the row. */
const sessions = `
create table {schema}.realtime_sessions (
  owner text collate "C" not null,
  thread_id uuid not null,
  id uuid not null,
  lease_until timestamptz not null,
  last_charge integer not null default 0,
  primary key (owner, thread_id),
  foreign key (owner, thread_id) references {schema}.threads (owner, id) on delete cascade
) with (fillfactor = 80)`

/** The positions of messages of voice sessions in their threads. Only these messages are looked up by their id. */
const messageSequences = `
create table {schema}.realtime_messages (
  owner text collate "C" not null,
  thread_id uuid not null,
  id uuid not null,
  sequence integer not null,
  primary key (thread_id, id, owner),
  foreign key (owner, thread_id) references {schema}.threads (owner, id) on delete cascade
)`

/** Charges stay after their session and their thread are deleted, until they have been reported to the meter. */
const charges = `
create table {schema}.realtime_charges (
  owner text collate "C" not null,
  session_id uuid not null,
  number integer not null,
  charge text not null,
  created_at timestamptz not null,
  primary key (owner, session_id, number)
)`

/**
 * A ticket is looked up before the owner is known, so its hash alone is the primary key. There is no foreign key to the thread: when the
 * thread is deleted, opening a session with the ticket fails.
 */
const tickets = `
create table {schema}.realtime_tickets (
  hash text collate "C" primary key,
  owner text collate "C" not null,
  thread_id uuid not null,
  assistant_id uuid not null,
  origin text,
  expires_at timestamptz not null
)`

export const realtimeTables: Migration = {
  name: "realtime",
  tables: ["realtime_sessions", "realtime_messages", "realtime_charges", "realtime_tickets"],
  statements: [
    sessions,
    messageSequences,
    charges,
    `create index realtime_charges_by_age on {schema}.realtime_charges (created_at)`,
    tickets,
    `create index realtime_tickets_by_age on {schema}.realtime_tickets (expires_at)`
  ]
}

/** The process that holds the session (`Presence`); null: its number is not known. */
export const sessionHolders: Migration = {
  name: "holders of voice sessions",
  tables: [],
  statements: [`alter table {schema}.realtime_sessions add column holder integer`]
}

/** Reserves the thread for a session (`Opened`). Otherwise returns what prevents it: another `session`, a `run`, the limit or `ThreadMissing`. */
const openSession = sqlFunction(
  "open_session",
  `(p_owner text, p_thread uuid, p_session uuid, p_lease double precision, p_at timestamptz, p_at_once double precision, p_holder integer)
returns text language plpgsql as $$
begin
  perform from {schema}.threads where id = p_thread and owner = p_owner for no key update;
  if not found then return 'ThreadMissing'; end if;
  if exists (
    select from {schema}.realtime_sessions
      where owner = p_owner and thread_id = p_thread and id <> p_session and lease_until > clock_timestamp()
  ) then return 'session'; end if;
  if exists (
    select from {schema}.active_runs where thread_id = p_thread and owner = p_owner
  ) then return 'run'; end if;
  if p_at_once is not null then
    perform {schema}.lock_rate(p_owner, 'turns');
    if p_at_once <= (
      select count(*) from {schema}.realtime_sessions
        where owner = p_owner and thread_id <> p_thread and lease_until > clock_timestamp()
    ) then return 'sessionsAtOnce'; end if;
  end if;
  perform {schema}.supersede(p_owner, p_thread, p_at);
  update {schema}.threads set in_session = true where id = p_thread and owner = p_owner;
  insert into {schema}.realtime_sessions as held (owner, thread_id, id, lease_until, holder)
    values (p_owner, p_thread, p_session, clock_timestamp() + p_lease * interval '1 millisecond', p_holder)
    on conflict (owner, thread_id) do update set
      id = p_session, lease_until = excluded.lease_until, holder = p_holder,
      last_charge = case when held.id = p_session then held.last_charge else 0 end;
  return 'Opened';
end $$`
)

/** Replaces the message if its id is stored already; otherwise appends it to the thread. */
const putMessage = sqlFunction(
  "put_message",
  `(p_owner text, p_thread uuid, p_id uuid, p_role text, p_status text, p_tokens integer, p_at timestamptz, p_body text, p_results text)
returns void language plpgsql as $$
declare
  v_place integer;
  v_before {schema}.messages;
begin
  select sequence into v_place from {schema}.realtime_messages where thread_id = p_thread and id = p_id and owner = p_owner;
  select * into v_before from {schema}.messages
    where thread_id = p_thread and sequence = v_place and owner = p_owner for no key update;
  if found then
    update {schema}.messages set created_at = p_at, status = p_status, tokens = p_tokens, body = p_body, tool_results = p_results
      where thread_id = p_thread and owner = p_owner and sequence = v_place;
    update {schema}.threads set tokens = tokens + p_tokens - v_before.tokens, updated_at = greatest(updated_at, p_at), revision = revision + 1
      where id = p_thread and owner = p_owner;
    if p_tokens = v_before.tokens then return; end if;
    update {schema}.messages set tokens_before = tokens_before + p_tokens - v_before.tokens
      where thread_id = p_thread and owner = p_owner and sequence > v_place;
    return;
  end if;
  with placed as (
    update {schema}.threads set message_count = message_count + 1, tokens = tokens + p_tokens,
      updated_at = greatest(updated_at, p_at), last_message_id = p_id
      where id = p_thread and owner = p_owner
      returning message_count as sequence, tokens - p_tokens as tokens_before
  ), noted as (
    insert into {schema}.realtime_messages (owner, thread_id, id, sequence) select p_owner, p_thread, p_id, placed.sequence from placed
  )
  insert into {schema}.messages (
    id, owner, thread_id, run_id, sequence, role, status, tokens, tokens_before, created_at, body, tool_results
  ) select p_id, p_owner, p_thread, null, placed.sequence, p_role, p_status, p_tokens, placed.tokens_before, p_at, p_body, p_results
    from placed;
end $$`
)

/**
 * Stores what a session has produced. Returns false when the session has lost the thread. Charges whose number is not above the last stored
 * one are skipped, so the call may be repeated.
 */
const writeSession = sqlFunction(
  "write_session",
  `(
  p_owner text, p_thread uuid, p_session uuid, p_at timestamptz, p_messages text,
  p_numbers integer[], p_charges text[], p_sums text[], p_follow_ups text
) returns boolean language plpgsql as $$
declare
  v_last integer;
  v_message record;
  v_assistant uuid;
begin
  select assistant_id into v_assistant from {schema}.threads where id = p_thread and owner = p_owner for no key update;
  select last_charge into v_last from {schema}.realtime_sessions where owner = p_owner and thread_id = p_thread and id = p_session;
  if not found then return false; end if;
  for v_message in select * from rows from (
      json_to_recordset(p_messages::json) as (
        id uuid, role text, status text, tokens integer, at timestamptz, body text, results text
      )
    ) with ordinality order by ordinality
  loop
    perform {schema}.put_message(
      p_owner, p_thread, v_message.id, v_message.role, v_message.status, v_message.tokens, v_message.at, v_message.body,
      v_message.results);
  end loop;
  for v_place in 1 .. coalesce(cardinality(p_numbers), 0) loop
    continue when p_numbers[v_place] <= v_last;
    insert into {schema}.realtime_charges (owner, session_id, number, charge, created_at)
      values (p_owner, p_session, p_numbers[v_place], p_charges[v_place], p_at);
    perform {schema}.add_charges(p_owner, p_at, p_sums[v_place], v_assistant);
    v_last := p_numbers[v_place];
  end loop;
  update {schema}.realtime_sessions set last_charge = v_last
    where owner = p_owner and thread_id = p_thread and last_charge < v_last;
  if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  return true;
end $$`
)

export const realtimeFunctions: ReadonlyArray<SqlFunction> = [openSession, putMessage, writeSession]
