/** A run of the inbox as everybody outside reads it: `GET /runs`, its stream of changes, and webhooks give the same record. */
import { totalTokens } from "../primitives/Usage.ts"
import type { RunSummary } from "./InboxStore.ts"

const isoOrNull = (date: Date | null): string | null => date?.toISOString() ?? null

export const summaryRecord = (run: RunSummary) => ({
  run_id: run.id,
  thread_id: run.threadId,
  assistant_id: run.assistantId,
  assistant_version: run.assistantVersion,
  status: run.status,
  created_at: run.createdAt.toISOString(),
  started_at: isoOrNull(run.startedAt),
  first_token_at: isoOrNull(run.firstTokenAt),
  ended_at: isoOrNull(run.endedAt),
  model_provider: run.provider,
  model_name: run.model,
  steps: run.modelCalls,
  usage: {
    input_tokens: run.usage.inputTokens,
    output_tokens: run.usage.outputTokens,
    total_tokens: totalTokens(run.usage)
  },
  cost_usd: run.usage.costUsd,
  content_preview: run.contentPreview,
  fault: run.fault,
  parent_run_id: run.parentRunId,
  schedule_id: run.scheduleId
})
