/** Converts rows of the table `runs`. Columns that only the schema's functions read are left out. */
import type { AssistantId, MessageId, Run, RunId, ThreadId } from "@colloquy/core"
import type { RunStatus, ScheduleId } from "@colloquy/core/adapters"
import { fromJson, fromJsonOrNull, fromText } from "./StoredText.ts"
import { decodeUsage, type UsageRow } from "./UsageColumns.ts"

export interface RunRow extends UsageRow {
  readonly id: RunId
  readonly thread_id: ThreadId
  readonly assistant_id: AssistantId
  readonly status: RunStatus
  readonly leg: number
  readonly leg_start: number
  readonly last_sequence: number
  readonly user_message_id: MessageId
  readonly answer_id: MessageId
  readonly stream: boolean
  readonly provider: string
  readonly model: string
  readonly plan: string
  readonly model_calls: number
  readonly first_token_at: Date | null
  readonly assistant_version: number | null
  readonly schedule_id: ScheduleId | null
  readonly parent_run_id: RunId | null
  readonly fault: string | null
  readonly explanation: string | null
  readonly cancel_requested: boolean
  readonly created_at: Date
  readonly started_at: Date | null
  readonly ended_at: Date | null
}

/** `r.id, r.thread_id, …` */
export const runColumns = [
  "id",
  "thread_id",
  "assistant_id",
  "status",
  "leg",
  "leg_start",
  "last_sequence",
  "user_message_id",
  "answer_id",
  "stream",
  "provider",
  "model",
  "plan",
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "cost_usd",
  "estimated",
  "model_calls",
  "first_token_at",
  "assistant_version",
  "schedule_id",
  "parent_run_id",
  "fault",
  "explanation",
  "cancel_requested",
  "created_at",
  "started_at",
  "ended_at"
]
  .map((column) => `r.${column}`)
  .join(", ")

export const decodeRun = (row: RunRow): Run => ({
  id: row.id,
  threadId: row.thread_id,
  assistantId: row.assistant_id,
  status: row.status,
  leg: row.leg,
  legStart: row.leg_start,
  lastSequence: row.last_sequence,
  userMessageId: row.user_message_id,
  answerId: row.answer_id,
  stream: row.stream,
  provider: fromText(row.provider),
  model: fromText(row.model),
  plan: fromJson(row.plan),
  usage: decodeUsage(row),
  modelCalls: row.model_calls,
  firstTokenAt: row.first_token_at,
  assistantVersion: row.assistant_version,
  scheduleId: row.schedule_id,
  parentRunId: row.parent_run_id,
  fault: fromJsonOrNull(row.fault),
  explanation: fromJsonOrNull(row.explanation),
  cancelRequested: row.cancel_requested,
  createdAt: row.created_at,
  startedAt: row.started_at,
  endedAt: row.ended_at
})
