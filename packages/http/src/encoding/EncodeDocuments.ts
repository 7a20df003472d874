/** From the kernel's documents, chunks and excerpts to the records of the wire. */
import type { Chunk, Document, FoundExcerpt } from "@colloquy/core/wings"
import type * as Records from "../wire/DocumentRecords.ts"
import { timestampOrNull, writeTimestamp } from "../wire/Fields.ts"

export const documentToWire = (document: Document): Records.DocumentRead => ({
  document_id: document.id,
  filename: document.filename,
  status: document.status,
  status_message: document.statusMessage,
  summary: document.summary,
  assistant_id: document.scope._tag === "Assistant" ? document.scope.assistantId : null,
  thread_id: document.scope._tag === "Assistant" ? null : document.scope.threadId,
  created_at: writeTimestamp(document.createdAt),
  updated_at: writeTimestamp(document.updatedAt),
  metadata_: document.metadata
})

export const statusToWire = (document: Document): Records.DocumentStatusResponse => ({
  ...documentToWire(document),
  document_type: document.extension,
  file_size_bytes: document.size,
  total_tokens: document.totalTokens,
  chunk_count: document.chunkCount,
  processing_started_at: timestampOrNull(document.processingStartedAt),
  processing_completed_at: timestampOrNull(document.processingCompletedAt)
})

const positionToWire = ({ heading, page, sheet, slide }: Chunk) => ({ heading, page, slide, sheet })

export const chunkToWire = (chunk: Chunk, tokens: number) => ({
  ordinal: chunk.ordinal,
  text: chunk.text,
  ...positionToWire(chunk),
  row: chunk.row,
  token_count: tokens
})

export const excerptToWire = ({ chunk, document, lexical, score, semantic }: FoundExcerpt) => ({
  document_id: document.id,
  filename: document.filename,
  ordinal: chunk.ordinal,
  text: chunk.text,
  ...positionToWire(chunk),
  score,
  lexical,
  semantic
})
