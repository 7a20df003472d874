/** Converts rows of the table `threads`. The columns are renamed, because they are read together with those of the assistant. */
import type { AssistantId, MessageId, Thread, ThreadId } from "@colloquy/core"
import { fromJsonOrNull } from "./StoredText.ts"

export interface ThreadRow {
  readonly thread_id: ThreadId
  readonly assistant_id: AssistantId
  readonly thread_metadata: string | null
  readonly assistant_version: number | null
  readonly acting_assistant_id: AssistantId | null
  readonly scratch: boolean
  readonly thread_created_at: Date
  readonly thread_updated_at: Date
  readonly forked_from: ThreadId | null
  readonly forked_at: MessageId | null
}

export const threadColumns =
  "t.id as thread_id, t.assistant_id, t.metadata as thread_metadata, t.assistant_version, t.acting_assistant_id, t.scratch, " +
  "t.created_at as thread_created_at, t.updated_at as thread_updated_at, t.forked_from, t.forked_at"

export const decodeThread = (row: ThreadRow): Thread => ({
  id: row.thread_id,
  assistantId: row.assistant_id,
  metadata: fromJsonOrNull(row.thread_metadata),
  assistantVersion: row.assistant_version,
  ...(row.acting_assistant_id === null ? {} : { actingAssistantId: row.acting_assistant_id }),
  ...(row.scratch ? { scratch: true as const } : {}),
  createdAt: row.thread_created_at,
  updatedAt: row.thread_updated_at,
  ...(row.forked_from === null || row.forked_at === null
    ? {}
    : { forkedFrom: { threadId: row.forked_from, messageId: row.forked_at } })
})
