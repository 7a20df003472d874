/** Cases of evals. They stay when their thread or assistant goes. */
import { refusedWhileErasing } from "./Owners.ts"
import { type Migration, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/** `tags` has each tag between two ends of line, and begins and ends with one. */
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

/** Inserts of one owner take turns, so that two of them do not both see room for one. */
const insertCases = sqlFunction(
  "insert_eval_cases",
  `(p_owner text, p_ids text[], p_tags text[], p_bodies text[], p_most integer, p_key text, p_fingerprint text, p_answer text)
returns text language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(p_owner, 1702257004));
  if {schema}.claim_answer(p_owner, p_key, p_fingerprint, p_ids[1]::uuid, p_answer) is not null then return 'repeated'; end if;
  if (select count(*) from {schema}.eval_cases where owner = p_owner) + cardinality(p_ids) > p_most then
    delete from {schema}.idempotency_keys where owner = p_owner and key = p_key;
    return 'too_many';
  end if;
  insert into {schema}.eval_cases (owner, id, tags, body)
    select p_owner, given.id::uuid, given.tags, given.body
    from unnest(p_ids, p_tags, p_bodies) with ordinality as given (id, tags, body, place) order by given.place;
  return 'stored';
end $$`
)

export const evalFunctions: ReadonlyArray<SqlFunction> = [insertCases]
