/**
 * Assistants, threads and messages. JSON that no statement searches is stored as text: the server then returns exactly the stored
 * characters and does not parse them. `ordinal` gives records with the same `created_at` the order in which they were inserted.
 */
import { type Migration, primaryKey, sqlFunction, type SqlFunction, withFixedPlans } from "./SchemaPart.ts"

const assistants = `
create table {schema}.assistants (
  owner text collate "C" not null,
  id uuid not null,
  ordinal bigint generated always as identity,
  name text collate "C" not null,
  description text,
  system_prompt text,
  provider text,
  model text,
  tools text,
  search_limit integer not null,
  embedding text not null,
  fact_extraction_prompt text,
  memory_update_prompt text,
  metadata text,
  created_at timestamptz not null,
  updated_at timestamptz not null
)`

/**
 * `revision` is raised when a stored message changes. Adding a message leaves it as it is. The columns from `last_message_id` on repeat, under
 * the lock of the row, what a turn would otherwise look up in other tables: the newest message, the number of active runs, whether a run waits
 * for its client, and whether a voice session was opened. The session may have ended since.
 */
const threads = `
create table {schema}.threads (
  owner text collate "C" not null,
  id uuid not null,
  ordinal bigint generated always as identity,
  assistant_id uuid not null,
  metadata text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  message_count integer not null default 0,
  tokens bigint not null default 0,
  revision integer not null default 0,
  last_message_id uuid,
  active integer not null default 0,
  waits boolean not null default false,
  in_session boolean not null default false,
  foreign key (owner, assistant_id) references {schema}.assistants (owner, id) on delete cascade
) with (fillfactor = 80)`

/**
 * The message of a queued run has no position in the thread yet: its `sequence` is the place of the run in the queue, negated. `tokens_before`
 * is the sum of the tokens of all earlier messages. `body` is the JSON of every field that no statement reads, among them the supplements
 * that a turn's parts stored. The primary key is the only index, because every turn writes two messages. The messages of a run are found by
 * the positions in the run's row.
 */
const messages = `
create table {schema}.messages (
  owner text collate "C" not null,
  id uuid not null,
  thread_id uuid not null,
  run_id uuid,
  sequence integer not null,
  role text not null,
  status text not null,
  tokens integer not null,
  tokens_before bigint,
  created_at timestamptz not null,
  body text not null,
  tool_results text not null
)`

/** The summary of the oldest messages, which a model reads in their place, and the sequence of the last message it covers. */
export const summaryColumns: Migration = {
  name: "thread_summaries",
  tables: [],
  statements: [
    `alter table {schema}.threads add column summary text, add column summarized_through integer not null default 0`
  ]
}

/** An assistant that is being cloned is a draft, which nobody sees, until its documents and memories are copied. */
export const assistantDrafts: Migration = {
  name: "assistant_drafts",
  tables: [],
  statements: [`alter table {schema}.assistants add column draft boolean not null default false`]
}

/** How the model of an assistant writes; null: its own defaults. */
export const assistantOptions: Migration = {
  name: "assistant_options",
  tables: [],
  statements: [`alter table {schema}.assistants add column model_options text`]
}

/** `author` and `changes` are those of the present version. `fields` is the JSON of everything that a version may change. */
export const assistantVersions: Migration = {
  name: "assistant_versions",
  tables: ["assistant_versions"],
  statements: [
    `alter table {schema}.assistants add column version integer not null default 1, add column author text, add column changes text`,
    `alter table {schema}.threads add column assistant_version integer`,
    `create table {schema}.assistant_versions (
      owner text collate "C" not null,
      assistant_id uuid not null,
      version integer not null,
      created_at timestamptz not null,
      author text,
      changes text,
      fields text not null,
      primary key (assistant_id, version, owner),
      foreign key (owner, assistant_id) references {schema}.assistants (owner, id) on delete cascade
    )`
  ]
}

export const assistantColleagues: Migration = {
  name: "assistant_colleagues",
  tables: [],
  statements: [`alter table {schema}.assistants add column helpers text, add column handoffs text`]
}

/** The index finds the threads in which a removed assistant answers. */
export const actingAssistants: Migration = {
  name: "acting_assistants",
  tables: [],
  statements: [
    `alter table {schema}.threads add column acting_assistant_id uuid`,
    `create index threads_by_acting_assistant on {schema}.threads (acting_assistant_id, owner) where acting_assistant_id is not null`
  ]
}

/** Scratch threads, on which experiments answer; no list shows them. */
export const scratchThreads: Migration = {
  name: "scratch_threads",
  tables: [],
  statements: [`alter table {schema}.threads add column scratch boolean not null default false`]
}

/** LZ4 is faster than the default compression of long texts. A server that was built without LZ4 keeps the default. */
const compression = `
do $do$ begin
  execute 'alter table {schema}.messages alter column body set compression lz4';
exception when others then null;
end $do$`

/** Names of assistants may be longer than an index entry can be, so the index holds a hash of the name. */
export const threadTables: Migration = {
  name: "threads",
  tables: ["assistants", "threads", "messages"],
  statements: [
    assistants,
    `create index assistants_of_owner on {schema}.assistants (owner, created_at, ordinal)`,
    `create index assistants_by_name on {schema}.assistants (owner, hashtextextended(name, 0), created_at, ordinal)`,
    primaryKey("assistants", "(id, owner)"),
    threads,
    `create index threads_of_owner on {schema}.threads (owner, created_at, ordinal)`,
    `create index threads_of_assistant on {schema}.threads (assistant_id, created_at, ordinal)`,
    primaryKey("threads", "(id, owner)"),
    messages,
    primaryKey("messages", "(thread_id, sequence, owner)"),
    compression
  ]
}

/**
 * SQL for the message of a row, as the JSON array that the kernel reads. Its elements need no escaping: ids, words of the kernel, numbers, and
 * text that is JSON already. `concat` leaves out null arguments. A client reads one long text faster than thousands of small columns.
 */
export const messageText = (m: string): string => `concat(
    '["', ${m}.id, '","', ${m}.thread_id, '",', '"' || ${m}.run_id || '"', case when ${m}.run_id is null then 'null' end,
    ',', ${m}.sequence, ',"', ${m}.role, '","', ${m}.status, '",', ${m}.tokens, ',',
    (date_part('epoch', ${m}.created_at) * 1000)::bigint, ',', ${m}.body, ',', ${m}.tool_results, ']')`

/**
 * The history of a run: every message from the run's first one on, and as many earlier messages as fit into the budget of tokens. The first
 * message that does not fit is found by reading backwards. Rows are looked up one by one: without statistics, a join may read all threads of
 * the owner. The result is one text; a history of more than a million bytes is split into rows
 * of about that size, because a client cannot receive a value of unlimited length.
 */
const historyTexts = sqlFunction(
  "history_texts",
  `(p_owner text, p_run uuid, p_budget bigint)
returns table (part bigint, revision integer, tokens_before bigint, messages text) strict language plpgsql as $$
declare
  v_thread uuid;
  v_revision integer;
  v_first integer;
  v_floor bigint;
  v_from integer;
  v_before bigint;
  v_texts text;
begin
  select m.thread_id, t.revision, m.sequence, m.tokens_before - p_budget into v_thread, v_revision, v_first, v_floor
    from {schema}.runs run
    cross join lateral (
      select t.revision from {schema}.threads t where t.id = run.thread_id and t.owner = p_owner offset 0
    ) t
    cross join lateral (
      select m.thread_id, m.sequence, m.tokens_before from {schema}.messages m
        where m.thread_id = run.thread_id and m.sequence = run.first_message and m.owner = p_owner offset 0
    ) m
    where run.id = p_run and run.owner = p_owner;
  select m.sequence + 1 into v_from from {schema}.messages m
    where m.thread_id = v_thread and m.owner = p_owner and m.sequence > 0 and m.sequence < v_first and m.tokens_before < v_floor
    order by m.sequence desc limit 1;
  v_from := coalesce(v_from, 1);
  select min(m.tokens_before), '[' || string_agg(${messageText("m")}, ',' order by m.sequence) || ']' into v_before, v_texts
    from {schema}.messages m where m.thread_id = v_thread and m.owner = p_owner and m.sequence >= v_from;
  if octet_length(v_texts) <= 1000000 then
    return query select bigint '0', v_revision, v_before, v_texts;
    return;
  end if;
  return query
    select page.part, v_revision, min(page.tokens_before), '[' || string_agg(page.message, ',' order by page.sequence) || ']'
    from (
      select listed.*, sum(octet_length(listed.message)) over (order by listed.sequence) / 1000000 as part
      from (
        select m.sequence, m.tokens_before, ${messageText("m")} as message
        from {schema}.messages m where m.thread_id = v_thread and m.owner = p_owner and m.sequence >= v_from
      ) listed
    ) page
    group by page.part order by page.part;
end $$`
)

/** The names that a statement has for the fields of a thread. */
export interface ThreadNames {
  readonly owner: string
  readonly id: string
  readonly metadata: string
  readonly assistantVersion: string
  readonly acting: string
  readonly summarizedThrough: string
  readonly rewinds: string
  readonly shelves: string
}

/**
 * A text that changes with every record on which a turn is decided: the assistant `a`, the metadata, pin and summary of the thread, and
 * whether the assistant or the thread has documents (the last letter is then `t`). Every update of a row gives the row another `xmin`. For
 * the thread, single columns are named in place of `xmin`, because every turn updates its row. The number of rewinds tells apart two
 * summaries that cover the same number of messages.
 */
export const joinedRevision = (
  a: string,
  { acting, assistantVersion, id, metadata, owner, rewinds, shelves, summarizedThrough }: ThreadNames
): string => `concat_ws(':', ${a}.xmin, ${summarizedThrough}, ${rewinds}, coalesce(${assistantVersion}, 0), concat(${acting}), md5(${metadata}), ${shelves} is not null
      or exists (select from {schema}.documents d where d.owner = ${owner} and d.thread_id = ${id})
      or exists (select from {schema}.documents d where d.owner = ${owner} and d.assistant_id = ${a}.id))`

export const threadFunctions: ReadonlyArray<SqlFunction> = [withFixedPlans(historyTexts)]
