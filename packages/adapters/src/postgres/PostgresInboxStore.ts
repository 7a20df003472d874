/** `InboxStore` on PostgreSQL. Each method sends one statement; the trigger of `schema/Inbox.ts` records the changes. */
import type { AssistantId, RunId, ThreadId } from "@colloquy/core"
import { InboxStore, longestPreview, type RunStatus, type RunSummary, type ScheduleId } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { ownerOfRun } from "./schema/Inbox.ts"
import { knownId } from "./StoredId.ts"
import { fromJsonOrNull, fromText } from "./StoredText.ts"
import { decodeUsage, type UsageRow } from "./UsageColumns.ts"

interface SummaryRow extends UsageRow {
  readonly id: RunId
  readonly thread_id: ThreadId
  readonly assistant_id: AssistantId
  readonly status: RunStatus
  readonly provider: string
  readonly model: string
  readonly model_calls: number
  readonly assistant_version: number | null
  readonly schedule_id: ScheduleId | null
  readonly parent_run_id: RunId | null
  readonly fault: string | null
  readonly created_at: Date
  readonly started_at: Date | null
  readonly first_token_at: Date | null
  readonly ended_at: Date | null
  /** The beginning of the body of the newest answer. */
  readonly body: string | null
}

const columns = [
  "id, thread_id, assistant_id, status, provider, model, model_calls, assistant_version, schedule_id, parent_run_id, fault, created_at, started_at",
  "first_token_at, ended_at, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_usd, estimated"
]
  .flatMap((names) => names.split(", "))
  .map((name) => `r.${name}`)
  .join(", ")

/** The most characters of the body that are read: a character takes at most six in JSON, and the name of the field comes first. */
const bodyBeginning = longestPreview * 6 + 20

export const inboxStore = (database: Database): typeof InboxStore.Service => {
  const { brief, schema } = database
  const own = ownedStatements(database, "InboxStore")
  const briefly = ownedStatements(database, "InboxStore", brief)
  const summaries = (runs: string) => `select ${columns}, m.body from ${runs} r left join lateral (
      select left(m.body, ${bodyBeginning}) as body from ${schema}.messages m
      where m.thread_id = r.thread_id and m.owner = $1 and m.sequence = r.last_message and m.role = 'assistant' offset 0
    ) m on true`
  const isListed = `exists (select from ${schema}.threads t where t.id = r.thread_id and t.owner = $1 and not t.scratch)`
  const ofOwner = `${ownerOfRun("r.owner")} = ${ownerOfRun("$1")} and r.owner = $1`

  return InboxStore.of({
    list: ({ after, assistantId, limit, since, status, threadId }) => {
      const conditions = [
        ofOwner,
        isListed,
        "r.created_at >= coalesce($2::timestamptz, '-infinity')",
        "(r.created_at, r.id) < (coalesce($3::timestamptz, 'infinity'), coalesce($4::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))"
      ]
      const values: Array<string | Date | null> = [
        since ?? null,
        after?.createdAt ?? null,
        after === undefined ? null : knownId(after.id)
      ]
      const add = (condition: (parameter: string) => string, value: string | null) => {
        values.push(value)
        // The owner is the first parameter.
        conditions.push(condition(`$${values.length + 1}`))
      }
      if (status !== undefined) add((parameter) => `r.status = ${parameter}`, status)
      // Few runs are under way or wait, and an index has these alone, however many have ended.
      if (status === "REQUIRES_ACTION") conditions.push("r.waits")
      if (status === "IN_PROGRESS" || status === "QUEUED")
        conditions.push(`r.id in (select a.run_id from ${schema}.active_runs a where a.owner = $1)`)
      if (assistantId !== undefined) add((parameter) => `r.assistant_id = ${parameter}`, knownId(assistantId))
      if (threadId !== undefined)
        add(
          // Copies of messages, in other threads, name the run too.
          (parameter) => `r.thread_id = ${parameter} and r.id in (select m.run_id from ${schema}.messages m
              where m.thread_id = ${parameter} and m.owner = $1 and m.role = 'user')`,
          knownId(threadId)
        )
      const order = "order by r.created_at desc, r.id desc"
      const page = `(select * from ${schema}.runs r where ${conditions.join(" and ")} ${order} limit ${Math.trunc(limit)})`
      return Effect.map(own.rows<SummaryRow>("list", `${summaries(page)} ${order}`, values), (rows) => rows.map(decode))
    },

    summary: (runId) =>
      Effect.map(
        briefly.rows<SummaryRow>(
          "summary",
          summaries(`(select * from ${schema}.runs r where r.owner = $1 and r.id = $2 and ${isListed})`),
          [knownId(runId)]
        ),
        ([row]) => (row === undefined ? null : decode(row))
      ),

    follow: (time, kept) =>
      Effect.map(
        own.call<bigint>("follow", "follow_runs", { time: Duration.toMillis(time), kept: Duration.toMillis(kept) }),
        Number
      ),

    changes: (after, kept, limit) =>
      Effect.map(
        briefly.rows<SummaryRow & { readonly mark: string }>(
          "changes",
          `${summaries(`(
               select r.*, change.mark from (
                 select run_id, max(mark) as mark from (
                   select run_id, mark from ${schema}.run_changes
                   where owner = $1 and mark > $2 and changed_at > clock_timestamp() - $3 * interval '1 millisecond'
                   order by mark limit $4
                 ) page group by run_id
               ) change cross join lateral (
                 select * from ${schema}.runs r where r.id = change.run_id and r.owner = $1 and ${isListed} offset 0
               ) r
             )`).replace("select ", "select r.mark, ")} order by r.mark`,
          [after, Duration.toMillis(kept), limit]
        ),
        (rows) => rows.map((row) => ({ mark: Number(row.mark), run: decode(row) }))
      )
  })
}

const decode = (row: SummaryRow): RunSummary => ({
  id: row.id,
  threadId: row.thread_id,
  assistantId: row.assistant_id,
  status: row.status,
  provider: fromText(row.provider),
  model: fromText(row.model),
  usage: decodeUsage(row),
  modelCalls: row.model_calls,
  assistantVersion: row.assistant_version,
  scheduleId: row.schedule_id,
  parentRunId: row.parent_run_id,
  fault: fromJsonOrNull(row.fault),
  createdAt: row.created_at,
  startedAt: row.started_at,
  firstTokenAt: row.first_token_at,
  endedAt: row.ended_at,
  contentPreview: row.body === null ? null : readPreview(row.body)
})

const beforeContent = `{"content":"`

/** The body of a message is JSON whose first field is the content. Of a longer one only the beginning is read, and it may end in an escape. */
const readPreview = (body: string): string | null => {
  if (!body.startsWith(beforeContent)) return null
  let end = beforeContent.length
  let characters = 0
  while (characters < longestPreview) {
    const next = body[end]
    if (next === undefined || next === '"') break
    end += next !== "\\" ? 1 : body[end + 1] === "u" ? 6 : 2
    characters++
  }
  return JSON.parse(`"${body.slice(beforeContent.length, end)}"`)
}
