/** Converts rows of the table `threads`. The columns are renamed, because they are read together with those of the assistant. */
import type { AssistantId, Thread, ThreadId } from "@colloquy/core"
import { fromJsonOrNull } from "./StoredText.ts"

export interface ThreadRow {
  readonly thread_id: ThreadId
  readonly assistant_id: AssistantId
  readonly thread_metadata: string | null
  readonly thread_created_at: Date
  readonly thread_updated_at: Date
}

export const threadColumns =
  "t.id as thread_id, t.assistant_id, t.metadata as thread_metadata, " +
  "t.created_at as thread_created_at, t.updated_at as thread_updated_at"

export const decodeThread = (row: ThreadRow): Thread => ({
  id: row.thread_id,
  assistantId: row.assistant_id,
  metadata: fromJsonOrNull(row.thread_metadata),
  createdAt: row.thread_created_at,
  updatedAt: row.thread_updated_at
})
