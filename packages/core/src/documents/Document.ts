/**
 * A file that a user attached to an assistant, a thread or a message. Its bytes are a blob, and its text is split into chunks and indexed.
 * This record describes the file and the progress of its indexing.
 */
import * as Schema from "effect/Schema"
import { AssistantId, BlobId, DocumentId, MessageId, ThreadId } from "../primitives/Ids.ts"
import { Metadata } from "../threads/Thread.ts"

/** The set of documents in which a thread shares a document with its forks; absent: the set of the thread itself. */
const shelf = Schema.optionalKey(ThreadId)

/** Where a document is attached. The attachment of a message belongs to its thread too, and is found in later turns. */
export const DocumentScope = Schema.Union([
  Schema.TaggedStruct("Assistant", { assistantId: AssistantId }),
  Schema.TaggedStruct("Thread", { threadId: ThreadId, shelf }),
  Schema.TaggedStruct("Message", { threadId: ThreadId, shelf, messageId: MessageId })
])
export type DocumentScope = typeof DocumentScope.Type

/** Whether a document is being read, can be searched, or could not be read. */
export const DocumentStatus = Schema.Literals(["processing", "completed", "error"])
export type DocumentStatus = typeof DocumentStatus.Type

export const Document = Schema.Struct({
  id: DocumentId,
  scope: DocumentScope,
  /** The user's name of the file. It is shown, and never used as a path. */
  filename: Schema.String,
  /** The extension of its type, without a dot: `pdf`. Determined by content and name. */
  extension: Schema.String,
  mimeType: Schema.String,
  blobId: BlobId,
  size: Schema.Int,
  sha256: Schema.String,
  status: DocumentStatus,
  /** A text for people: the progress, the reason of a failure, or what was left out. */
  statusMessage: Schema.NullOr(Schema.String),
  summary: Schema.NullOr(Schema.String),
  totalTokens: Schema.NullOr(Schema.Int),
  chunkCount: Schema.NullOr(Schema.Int),
  metadata: Schema.NullOr(Metadata),
  createdAt: Schema.Date,
  /** The time of the last change of the record. */
  updatedAt: Schema.Date,
  /** When its indexing began for the first time. */
  processingStartedAt: Schema.NullOr(Schema.Date),
  /** When its indexing ended, with or without success. */
  processingCompletedAt: Schema.NullOr(Schema.Date)
})
export type Document = typeof Document.Type

/** The owner has no document with this id. */
export class DocumentNotFound extends Schema.TaggedError<DocumentNotFound>()("DocumentNotFound", {
  documentId: DocumentId
}) {
  override get message() {
    return `There is no document ${this.documentId}.`
  }
}

/** The record of bytes that are stored and not searched: what a model made, or a recording. It is `completed` from the beginning. */
export const unindexedDocument = (
  file: Pick<
    Document,
    "id" | "scope" | "filename" | "extension" | "mimeType" | "blobId" | "size" | "sha256" | "metadata"
  >,
  at: Date
): Document => ({
  ...file,
  status: "completed",
  statusMessage: null,
  summary: null,
  totalTokens: null,
  chunkCount: null,
  createdAt: at,
  updatedAt: at,
  processingStartedAt: null,
  processingCompletedAt: at
})

/** A copy of a document with new ids and another attachment, for a clone. Status, counts, summary and metadata stay. */
export const copyDocument = (
  document: Document,
  fields: { readonly id: DocumentId; readonly blobId: BlobId; readonly scope: DocumentScope; readonly at: Date }
): Document => ({
  ...document,
  id: fields.id,
  blobId: fields.blobId,
  scope: fields.scope,
  createdAt: fields.at,
  updatedAt: fields.at
})
