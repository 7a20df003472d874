/** What a host may set about documents. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface DocumentSummarySettings {
  /** Who writes; null: the model that answers for the document's assistant. */
  readonly writer: { readonly provider: string; readonly model: string } | null
  /** How much of a file is read for it; of a longer one, pieces from beginning to end. */
  readonly sourceTokens: number
  readonly summaryTokens: number
}

export interface DocumentSettings {
  /** Bytes of one file. */
  readonly maxFileSize: number
  /** Tokens of a chunk at most, and how many of them may repeat the end of the chunk before. */
  readonly chunkTokens: number
  readonly chunkOverlap: number
  /** Chunks that are embedded before the progress is written down. */
  readonly embeddingBatch: number
  /** How long an indexing waits for an embedding provider that is away, counted from the first attempt. */
  readonly embeddingPatience: Duration.Input
  /** Excerpts stand before every message (`recall`), or the model asks for them with the tool `search_documents` (`tool`). */
  readonly excerpts: "recall" | "tool"
  /** How long a message waits for the indexing of the files that came with it. */
  readonly attachmentWait: Duration.Input
  /** Summaries cost a call of a model for each document; null: there are none. */
  readonly summaries: DocumentSummarySettings | null
  /** Bytes of one picture as models get it; a larger one is converted, or refused. */
  readonly pictureBytes: number
  /** Pixels of the longer side of a picture that is converted. */
  readonly pictureSide: number
  /** How often bytes that no document has are looked for, the first time when a process has run so long. */
  readonly orphanSweep: Duration.Input
  /** How old they must be: longer than any upload takes. */
  readonly orphanAge: Duration.Input
  /** Attempts that may fail for a reason inside the server. */
  readonly attempts: number
}

export const defaultDocumentSettings: DocumentSettings = {
  maxFileSize: 50 * 1024 * 1024,
  chunkTokens: 400,
  chunkOverlap: 50,
  embeddingBatch: 256,
  embeddingPatience: "15 minutes",
  excerpts: "recall",
  attachmentWait: "30 seconds",
  summaries: null,
  orphanSweep: "1 hour",
  orphanAge: "1 day",
  pictureBytes: 3_700_000,
  pictureSide: 2048,
  attempts: 3
}

/** For a host that wants summaries and no more of it. */
export const defaultDocumentSummaries: DocumentSummarySettings = {
  writer: null,
  sourceTokens: 6_000,
  summaryTokens: 160
}

export const DocumentSettings = Context.Reference<DocumentSettings>("@colloquy/core/documents/DocumentSettings", {
  defaultValue: () => defaultDocumentSettings
})
