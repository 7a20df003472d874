/** `OutcomeStore` on PostgreSQL. An outcome is stored as one JSON text, so that it is returned exactly as it was recorded. */
import { Outcome, OutcomeStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import type { Database, Parameter } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId } from "./StoredId.ts"
import { fromJson } from "./StoredText.ts"

export const outcomeStore = (database: Database): typeof OutcomeStore.Service => {
  const { schema } = database
  const own = ownedStatements(database, "OutcomeStore")
  const read = (operation: string, statement: string, parameters: ReadonlyArray<Parameter>) =>
    Effect.map(own.rows<{ readonly body: string }>(operation, statement, parameters), (rows) =>
      rows.map(({ body }) => decode(fromJson(body)))
    )
  const newestWhere = (operation: string, where: string, limit: number, parameters: ReadonlyArray<Parameter>) =>
    read(
      operation,
      `select body from ${schema}.answer_outcomes where owner = $1 and ${where}
       order by recorded_at desc, ordinal desc limit $2`,
      [limit, ...parameters]
    )
  return OutcomeStore.of({
    record: (outcome) =>
      Effect.suspend(() => {
        const { assistantId, threadId } = outcome
        // The locks keep the assistant and the thread from being removed before the row is committed.
        return own.finds(
          "record",
          `with assistant as (
             select id from ${schema}.assistants where owner = $1 and id = $3 for key share
           ), thread as (
             select id from ${schema}.threads where owner = $1 and id = $4 for key share
           )
           insert into ${schema}.answer_outcomes (owner, answer_hash, assistant_id, thread_id, recorded_at, body)
           select $1, $2, $3, $4, $5, $6
           where ($7 or exists (select from assistant)) and ($8 or exists (select from thread))
           on conflict (owner, answer_hash) do update set assistant_id = excluded.assistant_id,
             thread_id = excluded.thread_id, recorded_at = excluded.recorded_at, body = excluded.body
           returning owner`,
          [
            outcomeHash(outcome),
            assistantId === null ? null : knownId(assistantId),
            threadId === null ? null : knownId(threadId),
            outcome.recordedAt,
            encode(outcome),
            assistantId === null,
            threadId === null
          ]
        )
      }),
    newest: (assistantId, limit) =>
      newestWhere(
        "newest",
        assistantId === null ? "assistant_id is null" : "assistant_id = $3",
        limit,
        assistantId === null ? [] : [knownId(assistantId)]
      ),
    ofThread: (threadId, limit) => newestWhere("ofThread", "thread_id = $3", limit, [knownId(threadId)]),
    find: (answered) =>
      read("find", `select body from ${schema}.answer_outcomes where owner = $1 and answer_hash = any($2)`, [
        answered.map(outcomeHash)
      ])
  })
}

const outcomeHash = ({ answerSetId, question }: Pick<Outcome, "answerSetId" | "question">): string =>
  createHash("sha256")
    .update(JSON.stringify([answerSetId, question]))
    .digest("hex")

const codec = Schema.toCodecJson(Outcome)

const encodeSync = Schema.encodeSync(codec)

const encode = (outcome: Outcome): string => JSON.stringify(encodeSync(outcome))

const decode = Schema.decodeUnknownSync(codec)
