/** The event that the indexing of a document has ended, with its record as everybody outside reads it. */
import type { OwnerEvent } from "../runs/OwnerEvents.ts"
import type { Document } from "./Document.ts"

const toTimeText = (date: Date | null): string | null => date?.toISOString() ?? null

export const indexedEvent = (document: Document): OwnerEvent => {
  const { scope, summary } = document
  return {
    type: "document.indexed",
    key: document.id,
    data: {
      document_id: document.id,
      filename: document.filename,
      status: document.status,
      status_message: document.statusMessage,
      summary: null,
      assistant_id: scope._tag === "Assistant" ? scope.assistantId : null,
      thread_id: scope._tag === "Assistant" ? null : scope.threadId,
      created_at: document.createdAt.toISOString(),
      updated_at: document.updatedAt.toISOString(),
      metadata_: document.metadata,
      document_type: document.extension,
      file_size_bytes: document.size,
      total_tokens: document.totalTokens,
      chunk_count: document.chunkCount,
      processing_started_at: toTimeText(document.processingStartedAt),
      processing_completed_at: toTimeText(document.processingCompletedAt)
    },
    content: { summary }
  }
}
