/**
 * The erasure of everything of an owner, some rows at a time. Every table with a column `owner` stands in one of the two lists of this file;
 * a test reads the tables of the database and fails for one that is in none.
 */
import { type Migration, sqlFunction, type SqlFunction, withFixedPlans } from "./SchemaPart.ts"

export const erasureTables: Migration = {
  name: "erasures",
  tables: ["erasures"],
  statements: [
    `create table {schema}.erasures (
      owner text collate "C" not null,
      id uuid not null,
      status text not null default 'IN_PROGRESS',
      created_at timestamptz not null,
      ended_at timestamptz,
      primary key (owner, id)
    )`,
    `create unique index erasures_in_progress on {schema}.erasures (owner) where status = 'IN_PROGRESS'`
  ]
}

/** The tables in which an operation of the principal adds or changes a row itself. Rows of all other tables are written together with these. */
const guardedTables = [
  ["assistants", "insert or update"],
  ["threads", "insert or update of metadata"],
  ["memories", "insert or update of content"],
  ["documents", "insert"],
  ["blobs", "insert"],
  ["blob_pieces", "insert"],
  ["search_entries", "insert"],
  ["answer_outcomes", "insert or update"],
  ["provider_keys", "insert or update"],
  ["realtime_sessions", "insert"],
  ["realtime_tickets", "insert"],
  ["keys", "insert"]
] as const

/** Triggers for tables that a later migration makes. */
export const refusedWhileErasing = (tables: ReadonlyArray<readonly [table: string, writes: string]>) =>
  tables.map(
    ([table, writes]) =>
      `create trigger ${table}_refused before ${writes} on {schema}.${table} for each row
           execute function {schema}.refuse_erased()`
  )

/** The SQLSTATE of a refusal while everything of the owner is erased. */
export const erasingState = "CQ001"

/** The statement by which a function refuses. */
export const refuseErasing = `raise exception using errcode = '${erasingState}', message = 'Everything of the owner is being erased.';`

/** Refuses while everything of `p_owner` is being erased. */
export const refuseWhileErasing = `if exists (select from {schema}.erasures where owner = p_owner and status = 'IN_PROGRESS') then ${refuseErasing} end if;`

/** A writer holds this lock until its transaction ends, so that the end of an erasure sees what it has written. */
const ownerLock = (owner: string) => `hashtextextended(${owner}, 1163023425)`

/**
 * Triggers, so that no version of the kernel can add a row during an erasure. A trigger costs some microseconds for each row. Messages and
 * logs have none, because runs are refused at their beginning.
 */
export const erasedWriters: Migration = {
  name: "erasures refuse writes",
  tables: [],
  statements: [
    `create function {schema}.refuse_erased() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(${ownerLock("new.owner")});
  if exists (select from {schema}.erasures where owner = new.owner and status = 'IN_PROGRESS') then
    raise exception using errcode = '${erasingState}', message = 'Everything of the owner is being erased.';
  end if;
  return new;
end $$`,
    ...refusedWhileErasing(guardedTables)
  ]
}

/** The tables whose rows stay after an erasure, each with the reason. None contains text of a conversation. */
export const keptTables: Readonly<Record<string, string>> = {
  audit_log: "a record of acts, without content",
  erasures: "tells that the erasure happened",
  realtime_charges: "paid for and not reported to the meter yet; deleted when it is",
  secrets: "of the service, and of no owner",
  usage_days: "the sums of what was paid for, without text",
  usage_receipts: "keeps a charge from being counted twice; deleted by age"
}

/** The tables in the order of erasure. Rows of a thread are erased with it, because their tables have no index by owner. */
export const erasedTables = [
  "realtime_sessions",
  "realtime_tickets",
  "thread_drafts",
  "threads",
  "memory_versions",
  "memories",
  "memory_runs",
  "memory_forgotten",
  "eval_online_scores",
  "eval_feedback",
  "eval_results",
  "eval_experiments",
  "eval_cases",
  "schedules",
  "webhook_deliveries",
  "webhooks",
  "answer_outcomes",
  "documents",
  "blob_pieces",
  "blobs",
  "search_postings",
  "search_vectors",
  "search_chunks",
  "search_entries",
  "assistant_versions",
  "assistants",
  "idempotency_keys",
  "deleted_runs",
  "provider_keys",
  "owner_rates",
  "budget_holds",
  "run_followers",
  "run_changes",
  "follow_ups",
  "keys"
] as const

/** Tables whose rows are found by their thread. */
export const tablesOfThreads = ["messages", "runs", "active_runs", "run_log", "realtime_messages"] as const

/** Erases messages of the owner's oldest thread with their runs, and then the thread. 0: there is none. */
const eraseThread = sqlFunction(
  "erase_thread",
  `(p_owner text, p_limit integer) returns integer language plpgsql as $$
declare
  v_thread uuid;
begin
  select id into v_thread from {schema}.threads where owner = p_owner order by created_at, ordinal limit 1 for update;
  if not found then return 0; end if;
  if {schema}.erase_messages(p_owner, v_thread, p_limit) then delete from {schema}.threads where id = v_thread and owner = p_owner; end if;
  return 1;
end $$`
)

/** Like `eraseThread`, for drafts, whose messages have no thread yet. */
const eraseDraft = sqlFunction(
  "erase_draft",
  `(p_owner text, p_limit integer) returns integer language plpgsql as $$
declare
  v_draft uuid;
begin
  select id into v_draft from {schema}.thread_drafts where owner = p_owner limit 1 for update;
  if not found then return 0; end if;
  if {schema}.erase_messages(p_owner, v_draft, p_limit) then delete from {schema}.thread_drafts where owner = p_owner and id = v_draft; end if;
  return 1;
end $$`
)

/** Erases rows of the first table that has some. 0: nothing is left. */
const eraseSome = sqlFunction(
  "erase_some",
  `(p_owner text, p_limit integer, p_kept_kind text) returns integer language plpgsql as $$
declare
  v_table text;
  v_gone integer;
begin
  foreach v_table in array array[${erasedTables.map((table) => `'${table}'`).join(", ")}] loop
    continue when v_table = 'search_vectors' and to_regclass('{schema}.search_vectors') is null;
    if v_table = 'threads' then
      v_gone := {schema}.erase_thread(p_owner, p_limit);
    elsif v_table = 'thread_drafts' then
      v_gone := {schema}.erase_draft(p_owner, p_limit);
    else
      execute format(
        'delete from {schema}.%1$I where owner = $1 and ctid = any (array(
           select ctid from {schema}.%1$I where owner = $1%2$s limit $2))',
        v_table, case when v_table = 'follow_ups' then ' and kind <> $3 and not (status = ''running'' and due_at > clock_timestamp())' end
      ) using p_owner, p_limit, p_kept_kind;
      get diagnostics v_gone = row_count;
    end if;
    if v_gone > 0 then return v_gone; end if;
  end loop;
  return 0;
end $$`
)

/** The number of rows that are left, by table, as JSON. Rows that belong to threads are counted through their threads. */
const leftOfOwner = sqlFunction(
  "left_of_owner",
  `(p_owner text, p_kept_kind text) returns text language plpgsql as $$
declare
  v_table text;
  v_rows bigint;
  v_left jsonb := '{}';
begin
  foreach v_table in array array[${erasedTables.map((table) => `'${table}'`).join(", ")}] loop
    continue when v_table = 'search_vectors' and to_regclass('{schema}.search_vectors') is null;
    execute format('select count(*) from {schema}.%I where owner = $1%s',
      v_table, case when v_table = 'follow_ups' then ' and kind <> $2' end) into v_rows using p_owner, p_kept_kind;
    if v_rows > 0 then v_left := v_left || jsonb_build_object(v_table, v_rows); end if;
  end loop;
  select coalesce(sum(message_count), 0) into v_rows from {schema}.threads where owner = p_owner;
  if v_rows > 0 then v_left := v_left || jsonb_build_object('messages', v_rows); end if;
  return v_left::text;
end $$`
)

/** Ends an erasure after all writers that began before it. False: rows are left, so the erasure is not completed. */
const endErasure = sqlFunction(
  "end_erasure",
  `(p_owner text, p_id uuid, p_status text, p_at timestamptz, p_kept_kind text) returns boolean language plpgsql as $$
begin
  if p_status = 'COMPLETED' then
    perform pg_advisory_xact_lock(${ownerLock("p_owner")});
    if {schema}.left_of_owner(p_owner, p_kept_kind) <> '{}' then return false; end if;
  end if;
  update {schema}.erasures set status = p_status, ended_at = p_at where owner = p_owner and id = p_id and status = 'IN_PROGRESS';
  return true;
end $$`
)

export const ownerFunctions: ReadonlyArray<SqlFunction> = [
  withFixedPlans(eraseThread),
  withFixedPlans(eraseDraft),
  eraseSome,
  leftOfOwner,
  endErasure
]
