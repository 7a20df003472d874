/**
 * For typed answers: which option turned out to be true, together with the distribution that was predicted. A row is deleted with its
 * thread or its assistant. Names of questions and options may be longer than an index entry can be, so the key holds a hash of them.
 */
import type { Migration } from "./SchemaPart.ts"

const outcomes = `
create table {schema}.answer_outcomes (
  owner text collate "C" not null,
  answer_hash text collate "C" not null,
  ordinal bigint generated always as identity,
  assistant_id uuid,
  thread_id uuid,
  recorded_at timestamptz not null,
  body text not null,
  primary key (owner, answer_hash),
  foreign key (owner, assistant_id) references {schema}.assistants (owner, id) on delete cascade,
  foreign key (owner, thread_id) references {schema}.threads (owner, id) on delete cascade
)`

export const outcomeTables: Migration = {
  name: "answer_outcomes",
  tables: ["answer_outcomes"],
  statements: [
    outcomes,
    `create index answer_outcomes_newest on {schema}.answer_outcomes (owner, assistant_id, recorded_at desc, ordinal desc)`,
    `create index answer_outcomes_of_thread on {schema}.answer_outcomes (owner, thread_id)`
  ]
}
