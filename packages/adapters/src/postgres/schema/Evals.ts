/** Cases and experiments of evals. They stay when their thread or assistant is deleted. */
import { refusedWhileErasing, refuseWhileErasing } from "./Owners.ts"
import { type Migration, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/** `tags` has each tag between two line breaks, and begins and ends with one. */
export const evalTables: Migration = {
  name: "evals",
  tables: ["eval_cases"],
  statements: [
    `create table {schema}.eval_cases (
      owner text collate "C" not null,
      id uuid not null,
      ordinal bigint generated always as identity,
      tags text collate "C" not null,
      body text not null,
      primary key (owner, id)
    )`,
    `create unique index eval_cases_of_owner on {schema}.eval_cases (owner, ordinal)`,
    ...refusedWhileErasing([["eval_cases", "insert or update"]])
  ]
}

/** While a large import is not complete, its cases name its row in "thread_drafts", and nobody sees them. */
export const caseDrafts: Migration = {
  name: "imports of cases in portions",
  tables: [],
  statements: [
    `alter table {schema}.eval_cases add column draft uuid`,
    `create index eval_cases_of_draft on {schema}.eval_cases (owner, draft) where draft is not null`
  ]
}

/** The condition that a case, or the import that it came with, is complete. */
export const isCompleteCase = (row: string): string =>
  `(${row}.draft is null or not exists (select from {schema}.thread_drafts d where d.owner = ${row}.owner and d.id = ${row}.draft))`

/** Adds cases to an import that is not complete. */
const fillCases = sqlFunction(
  "fill_eval_cases",
  `(p_owner text, p_draft uuid, p_ids text[], p_tags text[], p_bodies text[]) returns void language plpgsql as $$
begin
  if not exists (select from {schema}.thread_drafts where owner = p_owner and id = p_draft) then return; end if;
  for v_place in 1 .. cardinality(p_ids) loop
    insert into {schema}.eval_cases (owner, id, tags, body, draft)
      values (p_owner, p_ids[v_place]::uuid, p_tags[v_place], p_bodies[v_place], p_draft) on conflict (owner, id) do nothing;
  end loop;
end $$`
)

/** Inserts cases, after those of the draft. The inserts of one owner run one after the other: otherwise two could both see room for one case. */
const insertCases = sqlFunction(
  "insert_eval_cases",
  `(p_owner text, p_ids text[], p_tags text[], p_bodies text[], p_draft uuid, p_filled integer, p_most double precision, p_key text, p_fingerprint text, p_answer text)
returns text language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(p_owner, 1702257004));
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, coalesce(p_ids[1]::uuid, gen_random_uuid()), p_answer) is not null then return 'repeated'; end if;
  if p_draft is not null and (select count(*) from {schema}.eval_cases where owner = p_owner and draft = p_draft) <> p_filled then
    raise exception 'The draft of an import is not complete.' using errcode = '40001';
  end if;
  if (select count(*) from {schema}.eval_cases c where c.owner = p_owner and ${isCompleteCase("c")}) + p_filled + cardinality(p_ids) > p_most then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    return 'too_many';
  end if;
  for v_place in 1 .. cardinality(p_ids) loop
    insert into {schema}.eval_cases (owner, id, tags, body)
      values (p_owner, p_ids[v_place]::uuid, p_tags[v_place], p_bodies[v_place]);
  end loop;
  if p_draft is not null then delete from {schema}.thread_drafts where owner = p_owner and id = p_draft; end if;
  return 'stored';
end $$`
)

/** `done` and `cost_usd` are the sums of the results. */
export const experimentTables: Migration = {
  name: "experiments",
  tables: ["eval_experiments", "eval_results"],
  statements: [
    `create table {schema}.eval_experiments (
      owner text collate "C" not null,
      id uuid not null,
      ordinal bigint generated always as identity,
      status text not null default 'running',
      reason text,
      attempts integer not null,
      done integer not null default 0,
      cost_usd double precision not null default 0,
      ended_at timestamptz,
      body text not null,
      primary key (owner, id)
    )`,
    `create unique index eval_experiments_of_owner on {schema}.eval_experiments (owner, ordinal)`,
    `create table {schema}.eval_results (
      owner text collate "C" not null,
      experiment_id uuid not null,
      number integer not null,
      body text not null,
      primary key (owner, experiment_id, number),
      foreign key (owner, experiment_id) references {schema}.eval_experiments (owner, id) on delete cascade
    )`,
    ...refusedWhileErasing([
      ["eval_experiments", "insert"],
      ["eval_results", "insert"]
    ])
  ]
}

const insertExperiment = sqlFunction(
  "insert_experiment",
  `(p_owner text, p_id uuid, p_attempts integer, p_body text, p_follow_ups text, p_most double precision,
  p_key text, p_fingerprint text, p_answer text) returns text language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(p_owner, 1702257004));
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_id, p_answer) is not null then return 'repeated'; end if;
  if (select count(*) from {schema}.eval_experiments where owner = p_owner) >= p_most then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    return 'too_many';
  end if;
  insert into {schema}.eval_experiments (owner, id, attempts, body) values (p_owner, p_id, p_attempts, p_body);
  if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  return 'stored';
end $$`
)

const resumeExperiment = sqlFunction(
  "resume_experiment",
  `(p_owner text, p_id uuid, p_body text, p_follow_ups text, p_key text, p_fingerprint text, p_answer text)
returns text language plpgsql as $$
begin
  ${refuseWhileErasing}
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_id, p_answer) is not null then return 'repeated'; end if;
  update {schema}.eval_experiments set status = 'running', reason = null, ended_at = null, body = p_body
    where owner = p_owner and id = p_id and status in ('stopped', 'cancelled');
  if not found then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    return 'kept';
  end if;
  if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  return 'resumed';
end $$`
)

/** The results of one experiment are stored one after the other, so that the last one finds all others. */
const recordResult = sqlFunction(
  "record_eval_result",
  `(p_owner text, p_id uuid, p_number integer, p_body text, p_cost double precision, p_at timestamptz, p_follow_ups text)
returns boolean language plpgsql as $$
begin
  perform from {schema}.eval_experiments where owner = p_owner and id = p_id and status = 'running' for update;
  if not found then return false; end if;
  if exists (select from {schema}.eval_results where owner = p_owner and experiment_id = p_id and number = p_number) then
    return false;
  end if;
  insert into {schema}.eval_results (owner, experiment_id, number, body) values (p_owner, p_id, p_number, p_body);
  update {schema}.eval_experiments set
    done = done + 1,
    cost_usd = cost_usd + p_cost,
    status = case when done + 1 >= attempts then 'completed' else status end,
    ended_at = case when done + 1 >= attempts then p_at end
    where owner = p_owner and id = p_id;
  if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  return true;
end $$`
)

/** A row is deleted with its thread. `ordinal` is new with each feedback. */
export const feedbackTables: Migration = {
  name: "feedback",
  tables: ["eval_feedback"],
  statements: [
    `create sequence {schema}.eval_feedback_ordinals`,
    `create table {schema}.eval_feedback (
      owner text collate "C" not null,
      message_id uuid not null,
      thread_id uuid not null,
      assistant_id uuid not null,
      ordinal bigint not null,
      body text not null,
      primary key (owner, message_id),
      foreign key (owner, thread_id) references {schema}.threads (owner, id) on delete cascade
    )`,
    `create index eval_feedback_of_owner on {schema}.eval_feedback (owner, ordinal)`,
    `create index eval_feedback_of_thread on {schema}.eval_feedback (owner, thread_id)`,
    ...refusedWhileErasing([["eval_feedback", "insert or update"]])
  ]
}

const putFeedback = sqlFunction(
  "put_feedback",
  `(p_owner text, p_thread uuid, p_message uuid, p_assistant uuid, p_body text, p_key text, p_fingerprint text, p_answer text)
returns text language plpgsql as $$
begin
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_thread, p_answer) is not null then return 'repeated'; end if;
  perform from {schema}.threads where owner = p_owner and id = p_thread for key share;
  if not found then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    return 'missing';
  end if;
  insert into {schema}.eval_feedback (owner, message_id, thread_id, assistant_id, ordinal, body)
    values (p_owner, p_message, p_thread, p_assistant, nextval('{schema}.eval_feedback_ordinals'), p_body)
    on conflict (owner, message_id) do update set thread_id = excluded.thread_id, assistant_id = excluded.assistant_id,
      ordinal = excluded.ordinal, body = excluded.body;
  return 'stored';
end $$`
)

/** A row is deleted with its thread. `message_ids` are the answers of the turn. */
export const onlineTables: Migration = {
  name: "online scores",
  tables: ["eval_online_scores"],
  statements: [
    `create table {schema}.eval_online_scores (
      owner text collate "C" not null,
      run_id uuid not null,
      thread_id uuid not null,
      assistant_id uuid not null,
      message_ids uuid[] not null,
      ended_at timestamptz not null,
      ordinal bigint generated always as identity,
      body text not null,
      primary key (owner, run_id),
      foreign key (owner, thread_id) references {schema}.threads (owner, id) on delete cascade
    )`,
    `create index eval_online_scores_of_owner on {schema}.eval_online_scores (owner, ordinal)`,
    `create index eval_online_scores_of_thread on {schema}.eval_online_scores (owner, thread_id)`,
    ...refusedWhileErasing([["eval_online_scores", "insert"]])
  ]
}

export const evalFunctions: ReadonlyArray<SqlFunction> = [
  fillCases,
  insertCases,
  insertExperiment,
  resumeExperiment,
  recordResult,
  putFeedback
]
