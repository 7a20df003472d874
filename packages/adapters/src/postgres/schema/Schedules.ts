/** Schedules and their next times. The due ones of all owners are found by one index; a row is deleted with its assistant. */
import { refusedWhileErasing } from "./Owners.ts"
import { type Migration, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

export const scheduleTables: Migration = {
  name: "schedules",
  tables: ["schedules"],
  statements: [
    `create table {schema}.schedules (
      owner text collate "C" not null,
      id uuid not null,
      ordinal bigint generated always as identity,
      assistant_id uuid not null,
      next_at timestamptz,
      last_at timestamptz,
      body text not null,
      last text,
      primary key (owner, id),
      foreign key (owner, assistant_id) references {schema}.assistants (owner, id) on delete cascade
    )`,
    `create index schedules_due on {schema}.schedules (next_at) where next_at is not null`,
    `create index schedules_of_assistant on {schema}.schedules (owner, assistant_id, ordinal)`,
    ...refusedWhileErasing([["schedules", "insert or update of body, next_at"]])
  ]
}

/** A change is stored only from the revision to which it was made. */
export const scheduleRevisions: Migration = {
  name: "schedule revisions",
  tables: [],
  statements: [`alter table {schema}.schedules add column revision integer not null default 1`]
}

/** One of several callers finds the expected time and revision; the others wait for the row and then find other ones. */
const advanceSchedule = sqlFunction(
  "advance_schedule",
  `(p_owner text, p_id uuid, p_revision integer, p_due timestamptz, p_next timestamptz, p_follow_ups text, p_last_at timestamptz, p_last text)
returns boolean language plpgsql as $$
begin
  update {schema}.schedules set next_at = p_next, revision = p_revision + 1,
      last_at = coalesce(p_last_at, last_at), last = coalesce(p_last, last)
    where owner = p_owner and id = p_id and next_at = p_due and revision = p_revision;
  if not found then return false; end if;
  if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  return true;
end $$`
)

/** Inserts of one owner take turns, so that two of them do not both see room for one. */
const insertSchedule = sqlFunction(
  "insert_schedule",
  `(p_owner text, p_id uuid, p_assistant uuid, p_next timestamptz, p_revision integer, p_body text, p_most double precision,
  p_key text, p_fingerprint text, p_answer text) returns text language plpgsql as $$
declare
  v_refused text;
begin
  perform pg_advisory_xact_lock(hashtextextended(p_owner, 1935894629));
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_id, p_answer) is not null then return 'repeated'; end if;
  perform from {schema}.assistants where owner = p_owner and id = p_assistant for key share;
  if not found then v_refused := 'assistant_missing';
  elsif (select count(*) from {schema}.schedules where owner = p_owner) >= p_most then v_refused := 'too_many';
  end if;
  if v_refused is not null then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    return v_refused;
  end if;
  insert into {schema}.schedules (owner, id, assistant_id, next_at, revision, body)
    values (p_owner, p_id, p_assistant, p_next, p_revision, p_body);
  return 'stored';
end $$`
)

export const scheduleFunctions: ReadonlyArray<SqlFunction> = [advanceSchedule, insertSchedule]
