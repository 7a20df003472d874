/**
 * The functions that put a run in progress: `begin_run` for a new run, `activate_run` for a queued run whose turn has come, and
 * `continue_run` for a run whose open calls are all answered; `answer_some` stores answers while other calls stay open.
 */
import { refuseErasing, refuseWhileErasing } from "./Owners.ts"
import { withFixedPlans, sqlFunction, type SqlFunction } from "./SchemaPart.ts"
import { joinedRevision } from "./Threads.ts"

/**
 * For a repeated call of `begin_run` with the same run id, which happens when the first result was lost on its way. Returns the first result
 * again and prolongs the lease. If another process has taken the lease since then, the repeat does not get it back.
 */
const beginAgain = sqlFunction(
  "begin_again",
  `(p_owner text, p_run uuid, p_saves boolean, p_lease double precision, p_fingerprint text)
returns {schema}.run_outcome language plpgsql as $$
declare
  v_run {schema}.runs;
begin
  if p_saves and exists (select from {schema}.runs where id = p_run and owner = p_owner and status = 'COMPLETED') then
    return row('Saved', p_run, null, null, null, null)::{schema}.run_outcome;
  end if;
  update {schema}.runs set lease_until = clock_timestamp() + p_lease * interval '1 millisecond'
    where id = p_run and owner = p_owner and leg = 0 and token = leg_token and status in ('QUEUED', 'IN_PROGRESS')
    returning * into v_run;
  if found then
    return row(
      case v_run.status when 'QUEUED' then 'Queued' else 'Started' end, p_run, v_run.token, null, null,
      {schema}.reserved_of(p_owner, v_run.thread_id, p_run))::{schema}.run_outcome;
  end if;
  return {schema}.repeated_leg(p_owner, p_run, p_fingerprint);
end $$`
)

/** The result of a repeated call when its first lease does not hold the leg any more. */
const repeatedLeg = sqlFunction(
  "repeated_leg",
  `(p_owner text, p_run uuid, p_fingerprint text) returns {schema}.run_outcome language plpgsql as $$
declare
  v_outcome {schema}.run_outcome;
begin
  select 'Repeated', id, null, null, leg_start, coalesce(p_fingerprint, '') into v_outcome
    from {schema}.runs where id = p_run and owner = p_owner;
  return v_outcome;
end $$`
)

/**
 * `p_known_last` and `p_known_revision` describe the history that the caller already has: its last message, and the revision of the thread.
 * If nothing has changed since, the result is `StartedAsKnown`, and the caller does not read the history again.
 *
 * With `p_keeps` the thread is rewound first, if its newest message is `p_newest` (`take_back`).
 *
 * With `p_admission` the limits of the owner are checked, and the outcome has what was reserved or the refusal in the place of the
 * fingerprint, as JSON. `p_history` is the most tokens of history that the prompt may have.
 */
const beginRun = sqlFunction(
  "begin_run",
  `(
  p_owner text, p_run uuid, p_answer uuid, p_provider text, p_model text, p_plan text, p_created_at timestamptz,
  p_message_id uuid, p_message_tokens integer, p_message_at timestamptz, p_message_body text,
  p_max_queued integer, p_lease double precision, p_at timestamptz, p_history bigint,
  p_thread uuid default null, p_first integer default null, p_last integer default null, p_events text default null,
  p_message_role text default 'user', p_message_status text default 'COMPLETED', p_message_results text default '[]',
  p_stream boolean default false, p_mode text default 'enqueue', p_saves boolean default false,
  p_assistant_version integer default null, p_schedule uuid default null, p_parent uuid default null,
  p_key text default null, p_fingerprint text default null, p_follow_ups text default null, p_decided_on text default null,
  p_known_last uuid default null, p_known_revision integer default null, p_admission text default null,
  p_newest uuid default null, p_keeps integer default null, p_kept_as uuid default null, p_holder integer default null
) returns {schema}.run_outcome language plpgsql as $$
declare
  v_assistant uuid;
  v_messages integer;
  v_tokens bigint;
  v_active integer;
  v_waits boolean;
  v_in_session boolean;
  v_is_held boolean;
  v_is_known boolean;
  v_metadata text;
  v_assistant_version integer;
  v_acting uuid;
  v_summarized_through integer;
  v_rewinds integer;
  v_shelves uuid[];
  v_newest uuid;
  v_is_begun boolean;
  v_is_erased boolean;
  v_now text;
  v_ahead uuid;
  v_place bigint := 0;
  v_sequence integer;
  v_outcome {schema}.run_outcome;
  v_status text;
  v_grant text;
begin
  select coalesce(acting_assistant_id, assistant_id), acting_assistant_id, message_count, tokens, active, waits, in_session, metadata, assistant_version, summarized_through, rewinds, shelves,
      last_message_id, last_message_id = p_known_last and revision = p_known_revision
    into v_assistant, v_acting, v_messages, v_tokens, v_active, v_waits, v_in_session, v_metadata, v_assistant_version, v_summarized_through, v_rewinds, v_shelves,
      v_newest, v_is_known
    from {schema}.threads where id = p_thread and owner = p_owner for no key update;
  -- What is in other tables is read by a statement of its own, which sees what was committed while this one waited for the lock. It has no
  -- condition that is null or can be told without a table: a distributed database plans it for one owner only if every table stays in it.
  select exists (select from {schema}.runs where id = p_run and owner = p_owner),
      (
        select ${joinedRevision("a", {
          owner: "p_owner",
          id: "p_thread",
          metadata: "v_metadata",
          assistantVersion: "v_assistant_version",
          acting: "v_acting",
          summarizedThrough: "v_summarized_through",
          rewinds: "v_rewinds",
          shelves: "(select v_shelves)"
        })}
        from {schema}.assistants a where a.id = coalesce(v_assistant, p_thread) and a.owner = p_owner
      ),
      exists (select from {schema}.erasures where owner = p_owner and status = 'IN_PROGRESS')
    into v_is_begun, v_now, v_is_erased;
  if v_is_begun then return {schema}.begin_again(p_owner, p_run, p_saves, p_lease, p_fingerprint); end if;
  if p_key is not null then
    v_outcome := {schema}.find_repeated(p_owner, p_key);
    if v_outcome.outcome is not null then return v_outcome; end if;
  end if;
  if v_is_erased then ${refuseErasing} end if;
  if v_assistant is null then return row('ThreadMissing', null, null, null, null, null)::{schema}.run_outcome; end if;
  if p_decided_on is not null and p_decided_on is distinct from v_now then return row('Outdated', null, null, null, null, null)::{schema}.run_outcome; end if;

  if v_in_session then
    -- The lock keeps an expired session from renewing its lease until the run has the thread.
    select lease_until > clock_timestamp() into v_is_held from {schema}.realtime_sessions
      where owner = p_owner and thread_id = p_thread for update;
    if v_is_held then return row('InSession', null, null, null, null, null)::{schema}.run_outcome; end if;
  end if;
  if v_active > 0 then
    select run_id into v_ahead from {schema}.active_runs where thread_id = p_thread and owner = p_owner order by place limit 1;
    select max(place) + 1 into v_place from {schema}.active_runs where thread_id = p_thread and owner = p_owner;
    if p_mode = 'reject' or p_max_queued <= (
      select count(*) from {schema}.active_runs where thread_id = p_thread and owner = p_owner and place > 0
    ) then
      select 'Busy', id, null, lease_until <= clock_timestamp(), null, null into v_outcome
        from {schema}.runs where id = v_ahead and owner = p_owner;
      return v_outcome;
    end if;
  end if;
  if p_keeps is not null and v_newest is distinct from p_newest then
    return row('Changed', null, null, null, null, null)::{schema}.run_outcome;
  end if;
  if p_admission is not null then
    v_grant := {schema}.admit_run(p_owner, p_admission, least(v_tokens, p_history), v_active = 0);
    if v_grant::json ->> 'limit' is not null then return row('OverLimit', null, null, null, null, v_grant)::{schema}.run_outcome; end if;
  end if;
  if p_key is not null and not {schema}.claim_key(p_owner, p_key, p_fingerprint, p_run, p_thread, coalesce(p_first, 1)) then
    return {schema}.find_repeated(p_owner, p_key);
  end if;
  if p_keeps is not null then
    perform {schema}.take_back(p_owner, p_thread, p_keeps, p_kept_as, p_at);
    select message_count, tokens, waits into v_messages, v_tokens, v_waits from {schema}.threads where id = p_thread and owner = p_owner;
  end if;

  if v_in_session then delete from {schema}.realtime_sessions where owner = p_owner and thread_id = p_thread; end if;
  v_status := case when v_active > 0 then 'QUEUED' when p_saves then 'COMPLETED' else 'IN_PROGRESS' end;
  v_sequence := case when v_status = 'QUEUED' then - v_place else v_messages + 1 end;
  if v_waits and v_status <> 'QUEUED' then perform {schema}.supersede(p_owner, p_thread, p_at); end if;
  with counted as (
    update {schema}.threads set
      message_count = greatest(v_messages, v_sequence),
      tokens = case when v_sequence > 0 then v_tokens + p_message_tokens else v_tokens end,
      updated_at = case when v_sequence > 0 then greatest(updated_at, p_message_at) else updated_at end,
      last_message_id = case when v_sequence > 0 then p_message_id else last_message_id end,
      active = case when v_status = 'COMPLETED' then v_active else v_active + 1 end,
      in_session = false
      where id = p_thread and owner = p_owner
  ), said as (
    insert into {schema}.messages (
      id, owner, thread_id, run_id, sequence, role, status, tokens, tokens_before, created_at, body, tool_results
    ) values (
      p_message_id, p_owner, p_thread, p_run, v_sequence, p_message_role, p_message_status, p_message_tokens,
      case when v_sequence > 0 then v_tokens end, p_message_at, p_message_body, p_message_results
    )
  ), logged as (
    insert into {schema}.run_log (owner, run_id, first_sequence, last_sequence, events)
      select p_owner, p_run, p_first, p_last, p_events where p_last is not null
  ), active as (
    insert into {schema}.active_runs (thread_id, owner, place, run_id, reserved_tokens, reserved_usd, holder)
      select p_thread, p_owner, v_place, p_run, (v_grant::json ->> 'tokens')::bigint, (v_grant::json ->> 'usd')::double precision, p_holder
        where v_status <> 'COMPLETED'
  )
  insert into {schema}.runs (
    id, owner, thread_id, assistant_id, status, leg_start, last_sequence, user_message_id, answer_id, stream, provider, model,
    plan, assistant_version, schedule_id, parent_run_id, created_at, started_at, ended_at, token, leg_token, lease_until, first_message
  ) values (
    p_run, p_owner, p_thread, v_assistant, v_status, coalesce(p_first, 1),
    case when v_status = 'QUEUED' then greatest(p_last - 1, 0) else coalesce(p_last, 0) end,
    p_message_id, p_answer, p_stream, p_provider, p_model, p_plan, p_assistant_version, p_schedule, p_parent, p_created_at,
    case when v_status <> 'QUEUED' then p_at end, case when v_status = 'COMPLETED' then p_at end,
    1, 1, case when v_status <> 'COMPLETED' then clock_timestamp() + p_lease * interval '1 millisecond' end,
    case when v_sequence > 0 then v_sequence end
  );
  if p_follow_ups is not null and v_status = 'COMPLETED' then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  return row(
    case v_status when 'COMPLETED' then 'Saved' when 'QUEUED' then 'Queued'
      else case when v_is_known and not v_waits then 'StartedAsKnown' else 'Started' end end,
    p_run, 1, null, null, v_grant)::{schema}.run_outcome;
end $$`
)

/**
 * All first events of a queued run are stored when it is queued. Readers get those up to `last_sequence`, which leaves out the last one, the
 * beginning of the run, until this function raises it. The call may be repeated.
 */
const activateRun = sqlFunction(
  "activate_run",
  `(
  p_owner text, p_run uuid, p_token bigint, p_lease double precision, p_saves boolean, p_follow_ups text, p_at timestamptz
)
returns {schema}.run_outcome language plpgsql as $$
declare
  v_run {schema}.runs;
  v_ahead {schema}.runs;
  v_first integer;
begin
  perform {schema}.lock_thread_of(p_owner, p_run);
  select * into v_run from {schema}.runs
    where id = p_run and owner = p_owner and token = p_token for no key update;
  if p_saves and v_run.status = 'COMPLETED' then
    return row('Saved', p_run, null, null, null, null)::{schema}.run_outcome;
  end if;
  if v_run.status = 'IN_PROGRESS' then
    update {schema}.runs set lease_until = clock_timestamp() + p_lease * interval '1 millisecond'
      where id = p_run and owner = p_owner;
    return row('Started', p_run, p_token, null, null, null)::{schema}.run_outcome;
  end if;
  if v_run.status is distinct from 'QUEUED' then return row('Lost', p_run, null, null, null, null)::{schema}.run_outcome; end if;
  v_ahead := {schema}.run_ahead(p_owner, v_run.thread_id);
  if v_ahead.id <> p_run then
    return row('Waiting', v_ahead.id, null, v_ahead.lease_until <= clock_timestamp(), null, null)::{schema}.run_outcome;
  end if;

  perform {schema}.supersede(p_owner, v_run.thread_id, p_at);
  if p_saves then
    delete from {schema}.active_runs where thread_id = v_run.thread_id and owner = p_owner and run_id = p_run;
  else
    update {schema}.active_runs set place = 0 where thread_id = v_run.thread_id and owner = p_owner and run_id = p_run;
  end if;
  update {schema}.threads set active = case when p_saves then active - 1 else active end
    where id = v_run.thread_id and owner = p_owner;
  v_first := {schema}.place_message(p_owner, v_run);
  update {schema}.runs set
    status = case when p_saves then 'COMPLETED' else 'IN_PROGRESS' end,
    first_message = v_first,
    started_at = p_at, ended_at = case when p_saves then p_at end,
    lease_until = case when not p_saves then clock_timestamp() + p_lease * interval '1 millisecond' end,
    last_sequence = coalesce((select max(last_sequence) from {schema}.run_log where run_id = p_run and owner = p_owner), 0)
    where id = p_run and owner = p_owner;
  if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  perform {schema}.notify_waiting(v_run);
  return row(
    case when p_saves then 'Saved' else 'Started' end, p_run, p_token, null, null, null)::{schema}.run_outcome;
end $$`
)

/**
 * Stores results of tools in the newest message of the run, which called the tools. The message grows by their tokens, so `tokens_before` of
 * every later message grows too; usually there is no later message. With a status the run
 * goes on: the message gets it, and the run counts as active again.
 */
const answerCalls = sqlFunction(
  "answer_calls",
  `(p_owner text, p_run {schema}.runs, p_results text, p_tokens integer, p_status text) returns void language plpgsql as $$
begin
  update {schema}.messages set status = coalesce(p_status, status), tool_results = p_results, tokens = tokens + p_tokens
    where thread_id = p_run.thread_id and owner = p_owner and sequence = p_run.last_message;
  update {schema}.threads set tokens = tokens + p_tokens, revision = revision + 1,
      waits = waits and p_status is null, active = active + case when p_status is null then 0 else 1 end
    where id = p_run.thread_id and owner = p_owner;
  update {schema}.messages set tokens_before = tokens_before + p_tokens
    where thread_id = p_run.thread_id and owner = p_owner and sequence > p_run.last_message;
end $$`
)

/** Whether the run waits with this message, and the message has this many results. Called with the run locked. */
const waitsWith = sqlFunction(
  "waits_with",
  `(p_owner text, p_run {schema}.runs, p_message uuid, p_answered integer) returns boolean language plpgsql as $$
begin
  return p_run.answer_id = p_message and p_run.status = 'REQUIRES_ACTION' and exists (
    select from {schema}.messages where thread_id = p_run.thread_id and owner = p_owner and sequence = p_run.last_message
      and case when tool_results = '[]' then 0 else json_array_length(tool_results::json) end = p_answered
  );
end $$`
)

/** A repeated call, which gives the same results, finds them stored. */
const answerSome = sqlFunction(
  "answer_some",
  `(
  p_owner text, p_run uuid, p_message uuid, p_answered integer, p_results text, p_tokens integer, p_plan text, p_key text, p_fingerprint text
) returns {schema}.run_outcome language plpgsql as $$
declare
  v_run {schema}.runs;
  v_outcome {schema}.run_outcome;
begin
  perform {schema}.lock_thread_of(p_owner, p_run);
  select * into v_run from {schema}.runs where id = p_run and owner = p_owner for no key update;
  v_outcome := {schema}.find_repeated(p_owner, p_key);
  if v_outcome.outcome is not null then return v_outcome; end if;
  if v_run.answer_id = p_message and v_run.status = 'REQUIRES_ACTION' and exists (
    select from {schema}.messages
      where thread_id = v_run.thread_id and owner = p_owner and sequence = v_run.last_message and tool_results = p_results
  ) then
    return row('Stored', p_run, null, null, null, null)::{schema}.run_outcome;
  end if;
  if {schema}.waits_with(p_owner, v_run, p_message, p_answered) is not true then
    return row('NotOpen', p_run, null, null, null, null)::{schema}.run_outcome;
  end if;
  ${refuseWhileErasing}
  if not {schema}.claim_key(p_owner, p_key, p_fingerprint, p_run, v_run.thread_id, v_run.last_sequence + 1) then
    return {schema}.find_repeated(p_owner, p_key);
  end if;
  perform {schema}.answer_calls(p_owner, v_run, p_results, p_tokens, null);
  update {schema}.runs set plan = p_plan where id = p_run and owner = p_owner;
  perform {schema}.notify_change(p_run, v_run.thread_id, false);
  return row('Stored', p_run, null, null, null, null)::{schema}.run_outcome;
end $$`
)

/** A repeated call with the same answer id gets the result of the first call, as long as the first lease still holds the leg. */
const continueRun = sqlFunction(
  "continue_run",
  `(
  p_owner text, p_run uuid, p_message uuid, p_answered integer, p_results text, p_tokens integer, p_answer uuid, p_stream boolean,
  p_plan text,
  p_first integer, p_last integer, p_events text,
  p_lease double precision, p_key text, p_fingerprint text, p_admission text, p_history bigint, p_holder integer
) returns {schema}.run_outcome language plpgsql as $$
declare
  v_run {schema}.runs;
  v_outcome {schema}.run_outcome;
  v_grant text;
  v_last integer;
begin
  perform {schema}.lock_thread_of(p_owner, p_run);
  select * into v_run from {schema}.runs where id = p_run and owner = p_owner for no key update;
  if v_run.answer_id = p_answer then
    update {schema}.runs set lease_until = clock_timestamp() + p_lease * interval '1 millisecond'
      where id = p_run and owner = p_owner and token = leg_token and status = 'IN_PROGRESS';
    if not found then return {schema}.repeated_leg(p_owner, p_run, p_fingerprint); end if;
    return row('Started', p_run, v_run.token, null, null, {schema}.reserved_of(p_owner, v_run.thread_id, p_run))::{schema}.run_outcome;
  end if;
  v_outcome := {schema}.find_repeated(p_owner, p_key);
  if v_outcome.outcome is not null then return v_outcome; end if;
  if {schema}.waits_with(p_owner, v_run, p_message, p_answered) is not true then
    return row('NotOpen', p_run, null, null, null, null)::{schema}.run_outcome;
  end if;
  ${refuseWhileErasing}
  if p_admission is not null then
    select {schema}.admit_run(p_owner, p_admission, least(tokens, p_history), active = 0) into v_grant
      from {schema}.threads where id = v_run.thread_id and owner = p_owner;
    if v_grant::json ->> 'limit' is not null then return row('OverLimit', null, null, null, null, v_grant)::{schema}.run_outcome; end if;
  end if;
  if not {schema}.claim_key(p_owner, p_key, p_fingerprint, p_run, v_run.thread_id, coalesce(p_first, v_run.last_sequence + 1)) then
    return {schema}.find_repeated(p_owner, p_key);
  end if;

  perform {schema}.answer_calls(p_owner, v_run, p_results, p_tokens, 'COMPLETED');
  v_last := {schema}.add_events(p_owner, p_run, v_run.last_sequence, p_first, p_last, p_events);
  update {schema}.runs set
    status = 'IN_PROGRESS', waits = false, leg = leg + 1, leg_start = coalesce(p_first, last_sequence + 1), answer_id = p_answer,
    stream = p_stream, plan = p_plan, token = token + 1, leg_token = token + 1,
    lease_until = clock_timestamp() + p_lease * interval '1 millisecond',
    last_sequence = v_last
    where id = p_run and owner = p_owner;
  insert into {schema}.active_runs (thread_id, owner, place, run_id, reserved_tokens, reserved_usd, holder)
    values (
      v_run.thread_id, p_owner, 0, p_run, (v_grant::json ->> 'tokens')::bigint, (v_grant::json ->> 'usd')::double precision, p_holder
    );
  perform {schema}.notify_waiting(v_run);
  return row('Started', p_run, v_run.token + 1, null, null, v_grant)::{schema}.run_outcome;
end $$`
)

export const runStartFunctions: ReadonlyArray<SqlFunction> = [
  beginRun,
  beginAgain,
  repeatedLeg,
  activateRun,
  answerCalls,
  waitsWith,
  answerSome,
  continueRun
].map(withFixedPlans)
