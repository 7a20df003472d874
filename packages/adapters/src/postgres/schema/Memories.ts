/**
 * The memories of assistants. The terms and the vector of a memory stand in the index of chunks, as a document of one chunk in the scope
 * `memories:<assistant>`. A trigger removes them from the index when the memory is deleted, also when it is deleted with its assistant.
 * Contents may be longer than an index entry can be, so the unique key holds a hash of them.
 *
 * Transactions that change the memories of one assistant run one after the other: each holds a lock until its end.
 */
import { mostConfirmations } from "@colloquy/core/wings"
import { type Migration, primaryKey, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

const assistant = `foreign key (owner, assistant_id) references {schema}.assistants (owner, id) on delete cascade`

const memories = `
create table {schema}.memories (
  owner text collate "C" not null,
  id uuid not null,
  ordinal bigint generated always as identity,
  assistant_id uuid not null,
  content_hash text collate "C" not null,
  content text not null,
  metadata text,
  source text,
  confirmed_by text,
  valid_from timestamptz,
  valid_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  ${assistant}
)`

const versions = `
create table {schema}.memory_versions (
  owner text collate "C" not null,
  memory_id uuid not null,
  ordinal bigint generated always as identity,
  content text not null,
  metadata text,
  source text,
  confirmed_by text,
  valid_from timestamptz,
  valid_until timestamptz,
  written_at timestamptz not null,
  replaced_at timestamptz not null,
  primary key (owner, memory_id, ordinal),
  foreign key (owner, memory_id) references {schema}.memories (owner, id) on delete cascade
)`

/** The outcomes of the changes that a run made: events and ids, never the text of a memory. A repeated call returns them. */
const runs = `
create table {schema}.memory_runs (
  owner text collate "C" not null,
  run_id uuid not null,
  assistant_id uuid not null,
  outcomes text not null,
  applied_at timestamptz not null,
  primary key (owner, run_id),
  ${assistant}
)`

/** When all memories of an assistant were last removed. A run that began before then adds no memory. */
const forgotten = `
create table {schema}.memory_forgotten (
  owner text collate "C" not null,
  assistant_id uuid not null,
  at timestamptz not null,
  primary key (owner, assistant_id),
  ${assistant}
)`

const unindex = `
create function {schema}.unindex_memories() returns trigger language plpgsql as $$
declare
  v_entry record;
begin
  for v_entry in
    select e.owner, e.id from gone g join {schema}.search_entries e
      on e.owner = g.owner and e.scope = 'memories:' || g.assistant_id and e.document = g.id
    order by e.owner, e.id
  loop
    delete from {schema}.search_postings where owner = v_entry.owner and entry = v_entry.id;
    if to_regclass('{schema}.search_vectors') is not null then
      delete from {schema}.search_vectors where owner = v_entry.owner and entry = v_entry.id;
    end if;
    delete from {schema}.search_chunks where owner = v_entry.owner and entry = v_entry.id;
    delete from {schema}.search_entries where owner = v_entry.owner and id = v_entry.id;
  end loop;
  return null;
end $$`

export const memoryTables: Migration = {
  name: "memories",
  tables: ["memories", "memory_versions", "memory_runs", "memory_forgotten"],
  statements: [
    memories,
    `create unique index memories_once on {schema}.memories (owner, assistant_id, content_hash)`,
    `create index memories_in_order on {schema}.memories (owner, assistant_id, created_at, ordinal)`,
    primaryKey("memories", "(owner, id)"),
    versions,
    runs,
    `create index memory_runs_of_assistant on {schema}.memory_runs (owner, assistant_id)`,
    forgotten,
    unindex,
    `create trigger memories_gone after delete on {schema}.memories referencing old table as gone
       for each statement execute function {schema}.unindex_memories()`
  ]
}

/** Each memory is looked up by itself: in a distributed database no join may reach from the deleted rows to a table. */
export const unindexedOneByOne: Migration = {
  name: "memories leave the index one by one",
  tables: [],
  statements: [
    `create or replace function {schema}.unindex_memories() returns trigger language plpgsql as $$
declare
  v_gone record;
  v_entry bigint;
begin
  for v_gone in select owner, assistant_id, id from gone order by owner, id loop
    for v_entry in select id from {schema}.search_entries
      where owner = v_gone.owner and scope = 'memories:' || v_gone.assistant_id and document = v_gone.id order by id
    loop
      delete from {schema}.search_postings where owner = v_gone.owner and entry = v_entry;
      if to_regclass('{schema}.search_vectors') is not null then
        delete from {schema}.search_vectors where owner = v_gone.owner and entry = v_entry;
      end if;
      delete from {schema}.search_chunks where owner = v_gone.owner and entry = v_entry;
      delete from {schema}.search_entries where owner = v_gone.owner and id = v_entry;
    end loop;
  end loop;
  return null;
end $$`
  ]
}

/** For retention, which finds the oldest records by this index. */
export const agedMemoryRuns: Migration = {
  name: "learned runs by age",
  tables: [],
  statements: [`create index memory_runs_by_age on {schema}.memory_runs (applied_at)`]
}

/** When, in which conversation and by whom a memory was said, and the order of those written by hand within their sessions. */
export const spokenMemories: Migration = {
  name: "memories of sessions",
  tables: [],
  statements: [
    `alter table {schema}.memories add column said_at timestamptz, add column session text collate "C", add column speaker text`,
    `create index memories_of_session on {schema}.memories (owner, assistant_id, session, coalesce(said_at, created_at), ordinal)
       where session is not null and source is null`
  ]
}

/**
 * The key begins with the id, and the index of contents is newer than those that list memories: without statistics every index that begins
 * with the owner looks equally good, and the newest one is taken. With the earlier keys each new memory read all memories of its owner.
 */
export const memoryKeys: Migration = {
  name: "keys of memories",
  tables: [],
  statements: [
    `alter table {schema}.memory_versions drop constraint memory_versions_owner_memory_id_fkey`,
    `drop index {schema}.memories_once`,
    `create unique index memories_once on {schema}.memories (owner, assistant_id, content_hash)`,
    `alter table {schema}.memories drop constraint memories_pkey`,
    primaryKey("memories", "(id, owner)"),
    `alter table {schema}.memory_versions add foreign key (owner, memory_id) references {schema}.memories (owner, id) on delete cascade`
  ]
}

/** Stores the current content of a memory as a version: of the memory itself, or of the memory `p_of` that replaces it. */
const keepMemoryVersion = sqlFunction(
  "keep_memory_version",
  `(p_owner text, p_id uuid, p_of uuid, p_at timestamptz) returns void language plpgsql as $$
begin
  insert into {schema}.memory_versions
    (owner, memory_id, content, metadata, source, confirmed_by, valid_from, valid_until, written_at, replaced_at)
  select owner, p_of, content, metadata, source, confirmed_by, valid_from, valid_until, updated_at, p_at
  from {schema}.memories where owner = p_owner and id = p_id;
end $$`
)

/**
 * Records that another run stated the same fact; each run is recorded once. The run id is searched in the text of the JSON, because the
 * strings in the JSON may contain characters (`\u0000`) that PostgreSQL cannot convert to its own text. A user's string cannot be taken for
 * the searched text, because quotes inside a JSON string are escaped.
 */
const confirmMemory = sqlFunction(
  "confirm_memory",
  `(p_owner text, p_id uuid, p_run uuid, p_source text) returns void language plpgsql as $$
declare
  v_confirmed text;
begin
  select (
    select json_agg(newest.value order by newest.place)::text from (
      select known.value, known.place from json_array_elements(coalesce(m.confirmed_by, '[]')::json) with ordinality known (value, place)
      union all select p_source::json, ${mostConfirmations + 1} order by place desc limit ${mostConfirmations}
    ) newest
  ) into v_confirmed from {schema}.memories m where m.owner = p_owner and m.id = p_id and p_source is not null
    and position('"runId":"' || p_run || '"' in concat(m.source, m.confirmed_by)) = 0;
  if found then update {schema}.memories set confirmed_by = v_confirmed where owner = p_owner and id = p_id; end if;
end $$`
)

/** Waits until no other transaction changes memories of the assistant. Returns false when the assistant does not exist. */
const lockMemories = sqlFunction(
  "lock_memories",
  `(p_owner text, p_assistant uuid) returns boolean language plpgsql as $$
begin
  perform from {schema}.assistants where owner = p_owner and id = p_assistant for key share;
  if not found then return false; end if;
  perform pg_advisory_xact_lock(hashtextextended(p_owner || 'memories:' || p_assistant, 0));
  return true;
end $$`
)

const columns = `id uuid, content text, content_hash text, metadata text, source text, confirmed_by text,
  valid_from timestamptz, valid_until timestamptz, said_at timestamptz, session text, speaker text, created_at timestamptz, updated_at timestamptz`

const indexColumns = `language text, bodies text[], places text[], terms text[], offsets text[], impacts text[], model text,
  dimensions integer, ordinals integer[], vectors text[]`

/**
 * `p_changes` is a JSON array of changes, `p_beside` one of other memories with their new terms. Returns a JSON array with the outcome of each
 * change, or null when the assistant does not exist.
 */
const applyMemoryChanges = sqlFunction(
  "apply_memory_changes",
  `(p_owner text, p_assistant uuid, p_run uuid, p_ordered_at timestamptz, p_thread uuid, p_at timestamptz, p_changes text,
    p_most bigint, p_beside text)
returns text language plpgsql as $$
declare
  v_is_gone boolean;
  v_change record;
  v_copy uuid;
  v_event text;
  v_id uuid;
  v_known text;
  v_outcomes json[] := '{}';
  v_answer text;
  v_left bigint;
begin
  if not {schema}.lock_memories(p_owner, p_assistant) then return null; end if;
  if p_most is not null then
    perform pg_advisory_xact_lock(hashtextextended(p_owner || 'memories', 0));
    -- Each change removes one memory at most, so those beyond that many need not be counted.
    select p_most - count(*) into v_left from (
      select from {schema}.memories where owner = p_owner limit p_most + json_array_length(p_changes::json)
    ) stored;
  end if;
  if p_run is not null then
    select outcomes into v_known from {schema}.memory_runs where owner = p_owner and run_id = p_run;
    if found then return v_known; end if;
  end if;
  -- The lock keeps the thread, which is the source of the memories, until they are committed.
  perform from {schema}.threads where owner = p_owner and id = p_thread for key share;
  v_is_gone := p_thread is not null and not found;
  if p_run is null or not v_is_gone and not exists (
    select from {schema}.memory_forgotten f where f.owner = p_owner and f.assistant_id = p_assistant and f.at >= p_ordered_at
  ) then
    for v_change in
      select one.* from rows from (
        json_to_recordset(p_changes::json) as (change text, ${columns}, ${indexColumns})
      ) with ordinality one (change, id, content, content_hash, metadata, source, confirmed_by, valid_from, valid_until, said_at, session, speaker,
        created_at, updated_at, language, bodies, places, terms, offsets, impacts, model, dimensions, ordinals, vectors, place)
      order by one.place
    loop
      v_id := v_change.id;
      select m.id into v_copy from {schema}.memories m where m.owner = p_owner and m.assistant_id = p_assistant
        and m.content_hash = v_change.content_hash and (v_change.change = 'Add' or m.id <> v_change.id);
      if v_change.change = 'Delete' then
        delete from {schema}.memories m where m.owner = p_owner and m.assistant_id = p_assistant and m.id = v_change.id;
        v_event := case when found then 'Deleted' else 'Gone' end;
      elsif v_change.change = 'Update' and not exists (
        select from {schema}.memories m where m.owner = p_owner and m.assistant_id = p_assistant and m.id = v_change.id
      ) then
        v_event := 'Gone';
      elsif v_copy is not null then
        if p_run is not null and v_change.change = 'Update' then
          update {schema}.memory_versions set memory_id = v_copy where owner = p_owner and memory_id = v_change.id;
          perform {schema}.keep_memory_version(p_owner, v_change.id, v_copy, p_at);
          delete from {schema}.memories where owner = p_owner and id = v_change.id;
          v_event := 'Merged';
        else
          v_event := 'Known';
          v_id := v_copy;
        end if;
        if p_run is not null then perform {schema}.confirm_memory(p_owner, v_copy, p_run, v_change.source); end if;
      elsif v_change.change = 'Update' then
        perform {schema}.keep_memory_version(p_owner, v_change.id, v_change.id, p_at);
        update {schema}.memories set content = v_change.content, content_hash = v_change.content_hash, metadata = v_change.metadata,
          source = v_change.source, confirmed_by = v_change.confirmed_by, valid_from = v_change.valid_from, valid_until = v_change.valid_until,
          said_at = v_change.said_at, session = v_change.session, speaker = v_change.speaker, updated_at = v_change.updated_at
          where owner = p_owner and id = v_change.id;
        v_event := 'Updated';
      elsif v_left <= 0 then
        v_event := 'Full';
      else
        v_left := v_left - 1;
        insert into {schema}.memories (owner, id, assistant_id, content_hash, content, metadata, source, confirmed_by,
          valid_from, valid_until, said_at, session, speaker, created_at, updated_at)
        values (p_owner, v_change.id, p_assistant, v_change.content_hash, v_change.content, v_change.metadata, v_change.source, v_change.confirmed_by,
          v_change.valid_from, v_change.valid_until, v_change.said_at, v_change.session, v_change.speaker, v_change.created_at,
          v_change.updated_at);
        v_event := 'Added';
      end if;
      if v_event in ('Added', 'Updated') then
        perform {schema}.put_search_document(p_owner, 'memories:' || p_assistant, v_change.id, v_change.language, v_change.bodies,
          v_change.places, v_change.terms, v_change.offsets, v_change.impacts, v_change.model, v_change.dimensions,
          v_change.ordinals, v_change.vectors);
      end if;
      if v_event in ('Deleted', 'Merged') then v_left := v_left + 1; end if;
      v_outcomes := v_outcomes || json_build_object('event', v_event, 'id', v_id);
    end loop;
    perform {schema}.reweigh_search_document(p_owner, 'memories:' || p_assistant, one.id, one.language, one.terms, one.offsets, one.impacts)
      from json_to_recordset(p_beside::json) one (id uuid, hash text, language text, terms text[], offsets text[], impacts text[])
      join {schema}.memories m on m.owner = p_owner and m.assistant_id = p_assistant and m.id = one.id
        and encode(sha256(convert_to(m.content, 'UTF8')), 'hex') = one.hash;
  end if;
  v_answer := array_to_json(v_outcomes)::text;
  if p_run is not null then
    insert into {schema}.memory_runs (owner, run_id, assistant_id, outcomes, applied_at)
      values (p_owner, p_run, p_assistant, v_answer, p_at);
  end if;
  return v_answer;
end $$`
)

/** Returns how many memories and versions were removed, or null when the assistant does not exist. */
const forgetMemories = sqlFunction(
  "forget_memories",
  `(p_owner text, p_assistant uuid, p_at timestamptz) returns text language plpgsql as $$
declare
  v_removed integer;
  v_versions integer;
begin
  if not {schema}.lock_memories(p_owner, p_assistant) then return null; end if;
  select count(*) into v_versions from {schema}.memories m join {schema}.memory_versions v on v.owner = m.owner and v.memory_id = m.id
    where m.owner = p_owner and m.assistant_id = p_assistant;
  insert into {schema}.memory_forgotten as known (owner, assistant_id, at) values (p_owner, p_assistant, p_at)
    on conflict (owner, assistant_id) do update set at = greatest(known.at, excluded.at);
  delete from {schema}.memories where owner = p_owner and assistant_id = p_assistant;
  get diagnostics v_removed = row_count;
  return json_build_object('memories', v_removed, 'versions', v_versions)::text;
end $$`
)

/**
 * Copies the next memories after an ordinal. Returns how many it read, how many it copied, and the last ordinal, or null when the target
 * assistant does not exist.
 */
const copyMemories = sqlFunction(
  "copy_memories",
  `(p_owner text, p_from uuid, p_to uuid, p_after bigint, p_limit integer) returns text language plpgsql as $$
declare
  v_memory record;
  v_id uuid;
  v_seen integer := 0;
  v_copied integer := 0;
  v_last bigint := p_after;
begin
  if not {schema}.lock_memories(p_owner, p_to) then return null; end if;
  for v_memory in
    select * from {schema}.memories where owner = p_owner and assistant_id = p_from and ordinal > p_after
    order by ordinal limit p_limit
  loop
    v_seen := v_seen + 1;
    v_last := v_memory.ordinal;
    insert into {schema}.memories (owner, id, assistant_id, content_hash, content, metadata, source, confirmed_by, valid_from,
      valid_until, said_at, session, speaker, created_at, updated_at)
    values (p_owner, gen_random_uuid(), p_to, v_memory.content_hash, v_memory.content, v_memory.metadata, v_memory.source,
      v_memory.confirmed_by, v_memory.valid_from, v_memory.valid_until, v_memory.said_at, v_memory.session,
      v_memory.speaker, v_memory.created_at, v_memory.updated_at)
    on conflict (owner, assistant_id, content_hash) do nothing returning id into v_id;
    if v_id is not null then
      perform {schema}.copy_search_document(p_owner, 'memories:' || p_from, v_memory.id, 'memories:' || p_to, v_id);
      v_copied := v_copied + 1;
    end if;
  end loop;
  return json_build_object('seen', v_seen, 'copied', v_copied, 'last', v_last::text)::text;
end $$`
)

/** Stores the vectors of memories whose text still has the given hash. Returns how many were stored. */
const setMemoryVectors = sqlFunction(
  "set_memory_vectors",
  `(p_owner text, p_assistant uuid, p_model text, p_dimensions integer, p_ids text[], p_hashes text[], p_vectors text[])
returns integer language plpgsql as $$
declare
  v_one record;
  v_set integer := 0;
begin
  if not {schema}.lock_memories(p_owner, p_assistant) then return 0; end if;
  for v_one in
    select m.id, e.id as entry, one.vector from unnest(p_ids::uuid[], p_hashes, p_vectors) one (id, hash, vector)
      join {schema}.memories m on m.owner = p_owner and m.assistant_id = p_assistant and m.id = one.id
        and encode(sha256(convert_to(m.content, 'UTF8')), 'hex') = one.hash
      join {schema}.search_entries e on e.owner = p_owner and e.scope = 'memories:' || p_assistant and e.document = m.id
        and e.state = 'ready'
  loop
    if {schema}.set_search_vectors(p_owner, 'memories:' || p_assistant, v_one.id, v_one.entry, p_model, p_dimensions,
      array[0], array[v_one.vector]) then v_set := v_set + 1; end if;
  end loop;
  return v_set;
end $$`
)

export const memoryFunctions: ReadonlyArray<SqlFunction> = [
  lockMemories,
  keepMemoryVersion,
  confirmMemory,
  applyMemoryChanges,
  forgetMemories,
  copyMemories,
  setMemoryVectors
]
