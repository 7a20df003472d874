/** Converts a document to a row of the table `documents`, and back. */
import type { AssistantId, MessageId, ThreadId } from "@colloquy/core"
import type { BlobId, DocumentId } from "@colloquy/core/adapters"
import type { Document, DocumentScope, DocumentStatus } from "@colloquy/core/wings"
import type { Arguments } from "./Database.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJsonOrNull, fromText, fromTextOrNull, toJson, toText, toTextOrNull } from "./StoredText.ts"

export interface DocumentRow {
  readonly id: DocumentId
  readonly assistant_id: AssistantId | null
  readonly thread_id: ThreadId | null
  readonly message_id: MessageId | null
  readonly shelf: ThreadId | null
  readonly filename: string
  readonly extension: string
  readonly mime_type: string
  readonly blob_id: BlobId
  readonly size: bigint
  readonly sha256: string
  readonly status: DocumentStatus
  readonly attempts: number
  readonly status_message: string | null
  readonly summary: string | null
  readonly total_tokens: number | null
  readonly chunk_count: number | null
  readonly metadata: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly processing_started_at: Date | null
  readonly processing_completed_at: Date | null
}

export const documentColumns =
  "d.id, d.assistant_id, d.thread_id, d.message_id, d.shelf, d.filename, d.extension, d.mime_type, d.blob_id, d.size, d.sha256, d.status, " +
  "d.attempts, d.status_message, d.summary, d.total_tokens, d.chunk_count, d.metadata, d.created_at, d.updated_at, " +
  "d.processing_started_at, d.processing_completed_at"

export const decodeDocument = (row: DocumentRow): Document => ({
  id: row.id,
  scope: decodeScope(row),
  filename: fromText(row.filename),
  extension: fromText(row.extension),
  mimeType: fromText(row.mime_type),
  blobId: row.blob_id,
  size: Number(row.size),
  sha256: fromText(row.sha256),
  status: row.status,
  statusMessage: fromTextOrNull(row.status_message),
  summary: fromTextOrNull(row.summary),
  totalTokens: row.total_tokens,
  chunkCount: row.chunk_count,
  metadata: fromJsonOrNull(row.metadata),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  processingStartedAt: row.processing_started_at,
  processingCompletedAt: row.processing_completed_at
})

const decodeScope = ({ assistant_id, message_id, shelf, thread_id }: DocumentRow): DocumentScope => {
  if (assistant_id !== null) return { _tag: "Assistant", assistantId: assistant_id }
  if (thread_id === null) throw new Error("A document belongs to an assistant or to a thread.")
  const thread = { threadId: thread_id, ...(shelf === null || shelf === thread_id ? {} : { shelf }) }
  return message_id === null ? { _tag: "Thread", ...thread } : { _tag: "Message", ...thread, messageId: message_id }
}

/** The arguments of the schema's function `insert_document`. */
export const insertArguments = (ownerId: string, document: Document): Arguments => ({
  owner: toText(ownerId),
  id: newRowId(document.id),
  ...scopeColumns(document.scope),
  filename: toText(document.filename),
  extension: toText(document.extension),
  mime_type: toText(document.mimeType),
  blob: newRowId(document.blobId),
  size: document.size,
  sha256: toText(document.sha256),
  status: document.status,
  status_message: toTextOrNull(document.statusMessage),
  summary: toTextOrNull(document.summary),
  total_tokens: document.totalTokens,
  chunk_count: document.chunkCount,
  metadata: toJson(document.metadata),
  created_at: document.createdAt,
  updated_at: document.updatedAt,
  started_at: document.processingStartedAt,
  completed_at: document.processingCompletedAt
})

const scopeColumns = (scope: DocumentScope) => ({
  assistant: scope._tag === "Assistant" ? knownId(scope.assistantId) : null,
  thread: scope._tag === "Assistant" ? null : knownId(scope.threadId),
  message: scope._tag === "Message" ? newRowId(scope.messageId) : null
})
