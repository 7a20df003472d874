/**
 * A file that a user attached to an assistant, a thread or a message. Its bytes are a blob, its text is cut into chunks and indexed; this
 * record says what it is and how far the indexing came. Specification part 2, "Document"; part 3, "Document processing".
 */
import * as Schema from "effect/Schema"
import { AssistantId, BlobId, DocumentId, MessageId, ThreadId } from "../primitives/Ids.ts"
import { Metadata } from "../threads/Thread.ts"

/** Where a document is attached. The attachment of a message belongs to its thread, too, and is found in later turns. */
export const DocumentScope = Schema.Union([
  Schema.TaggedStruct("Assistant", { assistantId: AssistantId }),
  Schema.TaggedStruct("Thread", { threadId: ThreadId }),
  Schema.TaggedStruct("Message", { threadId: ThreadId, messageId: MessageId })
])
export type DocumentScope = typeof DocumentScope.Type

export const DocumentStatus = Schema.Literals(["processing", "completed", "error"])
export type DocumentStatus = typeof DocumentStatus.Type

export const Document = Schema.Struct({
  id: DocumentId,
  scope: DocumentScope,
  /** As the user named the file. It is shown, and never used as a path. */
  filename: Schema.String,
  /** The extension of its type, without a dot: `pdf`. Decided by content and name. */
  extension: Schema.String,
  mimeType: Schema.String,
  blobId: BlobId,
  size: Schema.Int,
  sha256: Schema.String,
  status: DocumentStatus,
  /** What a person should know: the progress, why it failed, or what was left out. */
  statusMessage: Schema.NullOr(Schema.String),
  summary: Schema.NullOr(Schema.String),
  totalTokens: Schema.NullOr(Schema.Int),
  chunkCount: Schema.NullOr(Schema.Int),
  metadata: Schema.NullOr(Metadata),
  createdAt: Schema.Date,
  /** When the record changed last. */
  updatedAt: Schema.Date,
  /** When its indexing began first. */
  processingStartedAt: Schema.NullOr(Schema.Date),
  /** When its indexing ended, well or not. */
  processingCompletedAt: Schema.NullOr(Schema.Date)
})
export type Document = typeof Document.Type

export class DocumentNotFound extends Schema.TaggedError<DocumentNotFound>()("DocumentNotFound", {
  documentId: DocumentId
}) {
  override get message() {
    return `There is no document ${this.documentId}.`
  }
}

/**
 * The record of bytes that are stored already and that nobody searches: what a model made, what was recorded. It is completed from the
 * beginning and counts as nothing to search.
 */
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

/** A document under new ids, attached elsewhere: for a clone. What was made of it (status, counts, summary) stays; its metadata too. */
export const copyDocument = (
  document: Document,
  place: { readonly id: DocumentId; readonly blobId: BlobId; readonly scope: DocumentScope; readonly at: Date }
): Document => ({
  ...document,
  id: place.id,
  blobId: place.blobId,
  scope: place.scope,
  createdAt: place.at,
  updatedAt: place.at
})
