/**
 * Threads that are made from stored messages: imports, forks, and the messages that a rewind takes back. The messages of a new thread are written in
 * small portions, before the thread has a row: nobody reads them until the last step adds the row. Until then they belong to a row in
 * `thread_drafts`. When that row is deleted, a trigger deletes messages that belong to no thread.
 *
 * Documents of forks are shared: `shelf` is the set of documents to which a new document of the thread is added (null: the set with the
 * thread's own id), and `shelves` are the sets that the thread shares with others.
 */
import { type Migration, sqlFunction, type SqlFunction, withFixedPlans } from "./SchemaPart.ts"
import { messageText } from "./Threads.ts"

/** Deletes runs only if they belong to this thread, because copies of its messages name the same runs. */
const emptyThread = `
create or replace function {schema}.empty_thread() returns trigger language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_runs uuid[];
begin
  with gone as (
    delete from {schema}.messages where thread_id = old.id and owner = old.owner returning run_id
  ) select array_agg(distinct run_id) into v_runs from gone where run_id is not null;
  delete from {schema}.active_runs where thread_id = old.id and owner = old.owner;
  with gone as (
    delete from {schema}.runs where id = any (v_runs) and owner = old.owner and thread_id = old.id returning id
  ) select array_agg(id) into v_runs from gone;
  delete from {schema}.run_log where run_id = any (v_runs) and owner = old.owner;
  delete from {schema}.idempotency_keys where run_id = any (v_runs) and owner = old.owner;
  return null;
end $$`

/** Before a thread is deleted, its documents that another thread still has are moved to that thread. */
const keepShared = `
create function {schema}.keep_shared_documents() returns trigger language plpgsql as $$
begin
  update {schema}.documents d set thread_id = heir.id
    from (
      select distinct on (s.shelf) s.shelf, t.id from unnest(old.shelves) s (shelf)
      join {schema}.threads t on t.owner = old.owner and t.id <> old.id and t.shelves @> array[s.shelf]
      order by s.shelf, t.created_at, t.ordinal
    ) heir
    where d.owner = old.owner and d.thread_id = old.id and d.shelf = heir.shelf;
  return old;
end $$`

/** Puts a new document of a thread into the set to which the thread adds. */
const shelveDocument = `
create function {schema}.shelve_document() returns trigger language plpgsql as $$
begin
  select coalesce(t.shelf, t.id) into new.shelf from {schema}.threads t where t.id = new.thread_id and t.owner = new.owner;
  return new;
end $$`

const emptyDraft = `
create function {schema}.empty_draft() returns trigger language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  if not exists (select from {schema}.threads where id = old.id and owner = old.owner) then
    delete from {schema}.messages where thread_id = old.id and owner = old.owner;
  end if;
  return null;
end $$`

export const branchTables: Migration = {
  name: "branches",
  tables: ["thread_drafts"],
  statements: [
    `create table {schema}.thread_drafts (
      owner text collate "C" not null,
      id uuid not null,
      created_at timestamptz not null default clock_timestamp(),
      primary key (owner, id)
    )`,
    emptyDraft,
    `create trigger thread_drafts_gone after delete on {schema}.thread_drafts for each row execute function {schema}.empty_draft()`,
    // "rewinds" counts the rewinds of the thread. An answer is set for a key of a request that began no run.
    `alter table {schema}.threads add column forked_from uuid, add column forked_at uuid, add column rewinds integer not null default 0,
      add column shelf uuid, add column shelves uuid[]`,
    `create index threads_by_shelf on {schema}.threads using gin (shelves) where shelves is not null`,
    `alter table {schema}.idempotency_keys add column answer text`,
    `alter table {schema}.documents add column shelf uuid`,
    `update {schema}.documents set shelf = thread_id where thread_id is not null`,
    `create index documents_of_shelf on {schema}.documents (owner, shelf, created_at, ordinal) where shelf is not null`,
    shelveDocument,
    `create trigger documents_shelved before insert on {schema}.documents for each row when (new.thread_id is not null)
      execute function {schema}.shelve_document()`,
    emptyThread,
    keepShared,
    `create trigger threads_share before delete on {schema}.threads for each row when (old.shelves is not null)
      execute function {schema}.keep_shared_documents()`
  ]
}

/** The revision of the thread whose end a draft has copied. */
export const draftRevisions: Migration = {
  name: "draft_revisions",
  tables: [],
  statements: [`alter table {schema}.thread_drafts add column revision integer`]
}

/** Idempotency keys stay when their runs are deleted, so that no repeat begins a run again. */
export const keptKeys: Migration = {
  name: "idempotency keys outlive runs",
  tables: [],
  statements: [
    emptyThread.replace(
      "  delete from {schema}.idempotency_keys where run_id = any (v_runs) and owner = old.owner;\n",
      ""
    )
  ]
}

/** The thread that a repeated request is told, even when its run is gone. */
export const threadsOfKeys: Migration = {
  name: "threads of idempotency keys",
  tables: [],
  statements: [`alter table {schema}.idempotency_keys add column thread_id uuid`]
}

/** The sets of documents that a thread has. */
export const allShelvesSql = (thread: string): string =>
  `(coalesce(${thread}.shelves, '{}') || coalesce(${thread}.shelf, ${thread}.id))`

/** Begins a new thread. False: an earlier call of the same caller has made the thread. */
const openDraft = sqlFunction(
  "open_draft",
  `(p_owner text, p_thread uuid) returns boolean language plpgsql as $$
begin
  delete from {schema}.thread_drafts where owner = p_owner and id = p_thread;
  if exists (select from {schema}.threads where id = p_thread and owner = p_owner) then return false; end if;
  insert into {schema}.thread_drafts (owner, id) values (p_owner, p_thread);
  return true;
end $$`
)

/** Adds messages at the end of a draft. */
const fillDraft = sqlFunction(
  "fill_draft",
  `(
  p_owner text, p_thread uuid, p_after integer, p_before bigint, p_ids uuid[], p_roles text[], p_statuses text[], p_tokens integer[],
  p_times text[], p_bodies text[], p_results text[]
) returns void language plpgsql as $$
begin
  insert into {schema}.messages (
    id, owner, thread_id, run_id, sequence, role, status, tokens, tokens_before, created_at, body, tool_results
  )
  select m.id, p_owner, p_thread, null, p_after + m.place, m.role, m.status, m.tokens,
    p_before + sum(m.tokens) over (order by m.place) - m.tokens, m.at::timestamptz, m.body, m.results
    from unnest(p_ids, p_roles, p_statuses, p_tokens, p_times, p_bodies, p_results)
      with ordinality m (id, role, status, tokens, at, body, results, place)
    where exists (select from {schema}.thread_drafts where owner = p_owner and id = p_thread);
end $$`
)

/** The number of the newest messages of a thread that are never copied to a draft, because the last one may still change. */
const newestMessages = 100

/**
 * Copies the next messages of a thread to the end of a draft: 150, or about 300,000 bytes. Those behind `p_keeps` keep their ids. Without
 * `p_through`, all but the newest messages are copied. Returns the sequence of the last one that was copied, or null if there are no more.
 */
const copyToDraft = sqlFunction(
  "copy_to_draft",
  `(p_owner text, p_from uuid, p_thread uuid, p_after integer, p_keeps integer, p_through integer) returns integer language plpgsql as $$
declare
  v_last integer;
  v_through integer := p_through;
begin
  if v_through is null then
    select message_count - ${newestMessages} into v_through from {schema}.threads where id = p_from and owner = p_owner;
    update {schema}.thread_drafts draft set revision = source.revision from {schema}.threads source
      where draft.owner = p_owner and draft.id = p_thread and draft.revision is null and source.id = p_from and source.owner = p_owner;
  end if;
  with next as (
    select m.sequence, sum(pg_column_size(m.body) + pg_column_size(m.tool_results)) over (order by m.sequence) as size
    from {schema}.messages m
    where m.thread_id = p_from and m.owner = p_owner and m.sequence > p_after and m.sequence <= least(v_through, p_after + 150)
  ), copied as (
    insert into {schema}.messages (
      id, owner, thread_id, run_id, sequence, role, status, tokens, tokens_before, created_at, body, tool_results
    )
    select case when m.sequence > p_keeps then m.id else gen_random_uuid() end, m.owner, p_thread, m.run_id, m.sequence, m.role,
      case when m.sequence <= p_keeps and m.status = 'REQUIRES_ACTION' then 'CANCELLED' else m.status end,
      m.tokens, m.tokens_before, m.created_at, m.body, m.tool_results
      from next join {schema}.messages m on m.thread_id = p_from and m.owner = p_owner and m.sequence = next.sequence
      where (next.size < 300000 or next.sequence = p_after + 1)
        and exists (select from {schema}.thread_drafts where owner = p_owner and id = p_thread)
      returning sequence
  )
  select max(sequence) into v_last from copied;
  return v_last;
end $$`
)

/** Locks the thread. Returns null when it can be cut, else the outcome. */
const refuseCut = sqlFunction(
  "refuse_cut",
  `(p_owner text, p_thread uuid, p_newest uuid) returns text language plpgsql as $$
declare
  v_newest uuid;
  v_active integer;
  v_ahead {schema}.runs;
begin
  select last_message_id, active into v_newest, v_active from {schema}.threads where id = p_thread and owner = p_owner for no key update;
  if not found then return '{"_tag":"ThreadMissing"}'; end if;
  if exists (
    select from {schema}.realtime_sessions where owner = p_owner and thread_id = p_thread and lease_until > clock_timestamp()
  ) then return '{"_tag":"InSession"}'; end if;
  if v_active > 0 then
    v_ahead := {schema}.run_ahead(p_owner, p_thread);
    return json_build_object('_tag', 'Busy', 'runId', v_ahead.id, 'expired', v_ahead.lease_until <= clock_timestamp())::text;
  end if;
  if v_newest is distinct from p_newest then return '{"_tag":"Changed"}'; end if;
  return null;
end $$`
)

/** Claims a key for a request without a run, with the thread locked. Returns null, or the outcome of its earlier use. */
const claimAnswer = sqlFunction(
  "claim_answer",
  `(p_owner text, p_key text, p_fingerprint text, p_thread uuid, p_answer text) returns text language plpgsql as $$
declare
  v_known {schema}.idempotency_keys;
begin
  if p_key is null then return null; end if;
  if {schema}.claim_key(p_owner, p_key, p_fingerprint, p_thread, null, 0) then
    update {schema}.idempotency_keys set answer = p_answer where owner = p_owner and key = p_key;
    return null;
  end if;
  select * into v_known from {schema}.idempotency_keys where owner = p_owner and key = p_key;
  return json_build_object('_tag', 'Answered', 'fingerprint', v_known.fingerprint, 'answer', v_known.answer::json)::text;
end $$`
)

/** Adds the row of a thread whose messages are complete. False: its assistant or one of its messages is missing. */
const publishDraft = sqlFunction(
  "publish_draft",
  `(
  p_owner text, p_thread uuid, p_assistant uuid, p_metadata text, p_created_at timestamptz, p_count integer, p_forked_from uuid, p_forked_at uuid,
  p_version integer, p_scratch boolean default false
) returns boolean language plpgsql as $$
declare
  v_last {schema}.messages;
begin
  perform from {schema}.assistants where id = p_assistant and owner = p_owner for key share;
  if not found then return false; end if;
  select * into v_last from {schema}.messages where thread_id = p_thread and owner = p_owner and sequence = p_count;
  if v_last.id is null and p_count > 0 then return false; end if;
  insert into {schema}.threads (
    id, owner, assistant_id, metadata, created_at, updated_at, message_count, tokens, last_message_id, forked_from, forked_at,
    assistant_version, scratch
  ) values (
    p_thread, p_owner, p_assistant, p_metadata, p_created_at, greatest(p_created_at, v_last.created_at), p_count,
    coalesce(v_last.tokens_before + v_last.tokens, 0), v_last.id, p_forked_from, p_forked_at, p_version, p_scratch
  );
  delete from {schema}.thread_drafts where owner = p_owner and id = p_thread;
  return true;
end $$`
)

/** Gives a new thread the summary and the documents of the one that it was made from. */
const shareWith = sqlFunction(
  "share_with",
  `(p_owner text, p_from uuid, p_thread uuid, p_count integer) returns void language plpgsql as $$
declare
  v_shelf uuid := gen_random_uuid();
begin
  update {schema}.threads made set summary = source.summary, summarized_through = source.summarized_through
    from {schema}.threads source
    where made.id = p_thread and made.owner = p_owner and source.id = p_from and source.owner = p_owner
      and source.summarized_through > 0 and source.summarized_through <= p_count;
  update {schema}.threads made set acting_assistant_id = source.acting_assistant_id from {schema}.threads source
    where made.id = p_thread and made.owner = p_owner and source.id = p_from and source.owner = p_owner
      and source.acting_assistant_id is not null;
  update {schema}.threads source set shelf = v_shelf, shelves = ${allShelvesSql("source")}
    where source.id = p_from and source.owner = p_owner and exists (
      select from {schema}.documents d where d.owner = p_owner and d.shelf = coalesce(source.shelf, source.id)
    );
  update {schema}.threads made set shelves = source.shelves from {schema}.threads source
    where made.id = p_thread and made.owner = p_owner and source.id = p_from and source.owner = p_owner and source.shelves is not null;
end $$`
)

const importThread = sqlFunction(
  "import_thread",
  `(
  p_owner text, p_thread uuid, p_assistant uuid, p_metadata text, p_created_at timestamptz, p_count integer,
  p_scratch boolean, p_key text, p_fingerprint text, p_answer text
) returns text language plpgsql as $$
declare
  v_answered text := {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_thread, p_answer);
begin
  if v_answered is null and not {schema}.publish_draft(
    p_owner, p_thread, p_assistant, p_metadata, p_created_at, p_count, null, null, null, p_scratch
  ) then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    v_answered := '{"_tag":"ThreadMissing"}';
  end if;
  delete from {schema}.thread_drafts where owner = p_owner and id = p_thread;
  return coalesce(v_answered, '{"_tag":"Done"}');
end $$`
)

const forkThread = sqlFunction(
  "fork_thread",
  `(
  p_owner text, p_from uuid, p_newest uuid, p_count integer, p_thread uuid, p_metadata text, p_created_at timestamptz, p_forked_at uuid,
  p_key text, p_fingerprint text, p_answer text
) returns text language plpgsql as $$
declare
  v_refused text;
  v_assistant uuid;
  v_version integer;
begin
  select assistant_id, assistant_version into v_assistant, v_version from {schema}.threads where id = p_from and owner = p_owner for no key update;
  v_refused := {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_thread, p_answer);
  if v_refused is null then
    v_refused := {schema}.refuse_cut(p_owner, p_from, p_newest);
    if v_refused is null then
      if {schema}.publish_draft(p_owner, p_thread, v_assistant, p_metadata, p_created_at, p_count, p_from, p_forked_at, v_version) then
        perform {schema}.share_with(p_owner, p_from, p_thread, p_count);
      else v_refused := '{"_tag":"Changed"}';
      end if;
    end if;
    if v_refused is not null then delete from {schema}.idempotency_keys where owner = p_owner and key = p_key; end if;
  end if;
  delete from {schema}.thread_drafts where owner = p_owner and id = p_thread;
  return coalesce(v_refused, '{"_tag":"Done"}');
end $$`
)

/** The source of a memory, with the thread that its messages are in now. Null: they are gone. */
const sourceMoved = sqlFunction(
  "source_moved",
  `(p_source json, p_messages text[], p_thread uuid) returns text language sql immutable as $$
  select case
    when not exists (
      select from unnest(p_messages) m (id) where position('"' || m.id || '"' in (p_source -> 'messageIds')::text) > 0
    ) then p_source::text
    when p_thread is not null then
      concat('{"threadId":"', p_thread, '","runId":', p_source -> 'runId', ',"messageIds":', p_source -> 'messageIds', '}')
  end
$$`
)

/** The memories that were learned from messages which a rewind took back. */
const moveSources = sqlFunction(
  "move_sources",
  `(p_owner text, p_assistant uuid, p_from uuid, p_messages text[], p_to uuid) returns void language plpgsql as $$
declare
  v_thread text := '"threadId":"' || p_from || '"';
begin
  update {schema}.memories m set
      source = {schema}.source_moved(m.source::json, p_messages, p_to),
      confirmed_by = (
        select '[' || string_agg(each.moved, ',') || ']' from (
          select {schema}.source_moved(one, p_messages, p_to) as moved from json_array_elements(m.confirmed_by::json) one
        ) each where each.moved is not null
      )
    where m.owner = p_owner and m.assistant_id = p_assistant and position(v_thread in coalesce(m.source, '') || coalesce(m.confirmed_by, '')) > 0;
  update {schema}.memory_versions v set source = {schema}.source_moved(v.source::json, p_messages, p_to)
    from {schema}.memories m
    where m.owner = p_owner and m.assistant_id = p_assistant and v.owner = p_owner and v.memory_id = m.id
      and position(v_thread in v.source) > 0;
end $$`
)

/**
 * Called with the thread locked, and only when "refuse_cut" found nothing. Takes the messages behind the cut out of the thread: those that
 * the draft has already are deleted, the newest ones move.
 */
const takeBack = sqlFunction(
  "take_back",
  `(p_owner text, p_thread uuid, p_keeps integer, p_kept_as uuid, p_at timestamptz) returns void language plpgsql as $$
declare
  v_thread {schema}.threads;
  v_last {schema}.messages;
  v_messages text[];
  v_runs uuid[];
  v_copied integer;
begin
  select * into v_thread from {schema}.threads where id = p_thread and owner = p_owner;
  select coalesce(max(m.sequence), p_keeps) into v_copied from {schema}.messages m where m.thread_id = p_kept_as and m.owner = p_owner;
  if v_copied > p_keeps and not exists (
    select from {schema}.thread_drafts where owner = p_owner and id = p_kept_as and revision = v_thread.revision
  ) then
    -- A message has changed since it was copied.
    delete from {schema}.messages where thread_id = p_kept_as and owner = p_owner and sequence > p_keeps;
    v_copied := p_keeps;
  end if;
  if exists (
    select from {schema}.runs where thread_id = p_thread and owner = p_owner and waits and last_message > p_keeps
  ) then perform {schema}.supersede(p_owner, p_thread, p_at); end if;
  select * into v_thread from {schema}.threads where id = p_thread and owner = p_owner;
  select array_agg(distinct run_id) into v_runs
    from {schema}.messages where thread_id = p_thread and owner = p_owner and sequence > p_keeps and run_id is not null;
  if exists (select from {schema}.memories where owner = p_owner and assistant_id = v_thread.assistant_id) then
    select array_agg(id::text) into v_messages
      from {schema}.messages where thread_id = p_thread and owner = p_owner and sequence > p_keeps;
  end if;
  if p_kept_as is not null then
    delete from {schema}.messages where thread_id = p_thread and owner = p_owner and sequence > p_keeps and sequence <= v_copied;
    update {schema}.messages set thread_id = p_kept_as where thread_id = p_thread and owner = p_owner and sequence > v_copied;
    if not {schema}.publish_draft(
      p_owner, p_kept_as, v_thread.assistant_id, v_thread.metadata, v_thread.created_at, v_thread.message_count, v_thread.forked_from, v_thread.forked_at,
      v_thread.assistant_version, v_thread.scratch
    ) then raise exception 'The draft of a rewind is not complete.' using errcode = '40001'; end if;
    update {schema}.threads set updated_at = v_thread.updated_at where id = p_kept_as and owner = p_owner;
    perform {schema}.share_with(p_owner, p_thread, p_kept_as, v_thread.message_count);
    update {schema}.runs run set thread_id = p_kept_as, user_message_id = coalesce((
        select m.id from {schema}.messages m
          where m.thread_id = p_kept_as and m.owner = p_owner and m.sequence = run.first_message and m.role = 'user'
      ), run.user_message_id)
      where run.id = any (v_runs) and run.owner = p_owner and run.thread_id = p_thread;
    update {schema}.eval_online_scores set thread_id = p_kept_as
      where owner = p_owner and thread_id = p_thread and run_id = any (v_runs);
    update {schema}.eval_feedback set thread_id = p_kept_as
      where owner = p_owner and thread_id = p_thread and message_id in (
        select id from {schema}.messages where thread_id = p_kept_as and owner = p_owner and sequence > p_keeps
      );
  else
    delete from {schema}.eval_feedback where owner = p_owner and thread_id = p_thread and message_id in (
      select id from {schema}.messages where thread_id = p_thread and owner = p_owner and sequence > p_keeps
    );
    delete from {schema}.messages where thread_id = p_thread and owner = p_owner and sequence > p_keeps;
    delete from {schema}.run_log log using {schema}.runs run
      where log.run_id = any (v_runs) and log.owner = p_owner and run.id = log.run_id and run.owner = p_owner and run.thread_id = p_thread;
    delete from {schema}.runs
      where id = any (v_runs) and owner = p_owner and thread_id = p_thread and first_message > p_keeps;
    delete from {schema}.eval_online_scores where owner = p_owner and thread_id = p_thread and run_id = any (v_runs);
    update {schema}.runs set last_message = least(last_message, p_keeps), log_pruned = true
      where id = any (v_runs) and owner = p_owner and thread_id = p_thread;
  end if;
  delete from {schema}.realtime_messages where thread_id = p_thread and owner = p_owner and sequence > p_keeps;
  if v_messages is not null then
    perform {schema}.move_sources(p_owner, v_thread.assistant_id, p_thread, v_messages, p_kept_as);
  end if;
  select * into v_last from {schema}.messages where thread_id = p_thread and owner = p_owner and sequence = p_keeps;
  update {schema}.threads set
    message_count = p_keeps, tokens = coalesce(v_last.tokens_before + v_last.tokens, 0), last_message_id = v_last.id,
    revision = revision + 1, rewinds = rewinds + 1,
    summary = case when summarized_through <= p_keeps then summary end,
    summarized_through = case when summarized_through <= p_keeps then summarized_through else 0 end
    where id = p_thread and owner = p_owner;
end $$`
)

const rewindThread = sqlFunction(
  "rewind_thread",
  `(
  p_owner text, p_thread uuid, p_newest uuid, p_keeps integer, p_kept_as uuid, p_at timestamptz, p_follow_ups text,
  p_key text, p_fingerprint text, p_answer text
) returns text language plpgsql as $$
declare
  v_refused text;
begin
  perform from {schema}.threads where id = p_thread and owner = p_owner for no key update;
  v_refused := {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_thread, p_answer);
  if v_refused is null then
    v_refused := {schema}.refuse_cut(p_owner, p_thread, p_newest);
    if v_refused is null then
      perform {schema}.take_back(p_owner, p_thread, p_keeps, p_kept_as, p_at);
      if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
    else delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    end if;
  end if;
  delete from {schema}.thread_drafts where owner = p_owner and id = p_kept_as;
  return coalesce(v_refused, '{"_tag":"Done"}');
end $$`
)

/** The number of messages that one call searches for an id, for which there is no index. */
const locatedAtOnce = 1000

/**
 * A message of a thread (null: the newest), and the newest message of a user at or before it. A message is looked for among the newest ones
 * before `p_before` (null: among the newest); when it may be further back, `message` is null and `before` says from where to look on.
 */
const locateMessage = sqlFunction(
  "locate_message",
  `(p_owner text, p_thread uuid, p_message uuid, p_before integer)
returns table (message text, question text, count integer, newest uuid, before integer)
language plpgsql as $$
declare
  v_thread {schema}.threads;
  v_before integer;
  v_sequence integer;
begin
  select * into v_thread from {schema}.threads where id = p_thread and owner = p_owner;
  if p_message is null then v_sequence := v_thread.message_count;
  else
    v_before := least(p_before, v_thread.message_count + 1);
    select m.sequence into v_sequence from {schema}.messages m
      where m.thread_id = p_thread and m.owner = p_owner and m.id = p_message
        and m.sequence > 0 and m.sequence < v_before and m.sequence >= v_before - ${locatedAtOnce};
    if v_sequence is null and v_before > ${locatedAtOnce} then
      return query select null::text, null::text, v_thread.message_count, v_thread.last_message_id, v_before - ${locatedAtOnce};
      return;
    end if;
  end if;
  return query
    select ${messageText("m")}, (
      select ${messageText("q")} from {schema}.messages q
        where q.thread_id = p_thread and q.owner = p_owner and q.sequence between 1 and v_sequence and q.role = 'user'
        order by q.sequence desc limit 1
    ), v_thread.message_count, v_thread.last_message_id, null::integer
    from {schema}.messages m where m.thread_id = p_thread and m.owner = p_owner and m.sequence = v_sequence;
end $$`
)

export const branchFunctions: ReadonlyArray<SqlFunction> = [
  openDraft,
  fillDraft,
  copyToDraft,
  refuseCut,
  claimAnswer,
  publishDraft,
  shareWith,
  importThread,
  forkThread,
  sourceMoved,
  moveSources,
  takeBack,
  rewindThread,
  locateMessage
].map(withFixedPlans)
