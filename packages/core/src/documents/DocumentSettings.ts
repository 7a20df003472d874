/** What a host may set about documents. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

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
  /** Bytes of one picture as models get it; a larger one is converted, or refused. */
  readonly pictureBytes: number
  /** Pixels of the longer side of a picture that is converted. */
  readonly pictureSide: number
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
  pictureBytes: 3_700_000,
  pictureSide: 2048,
  attempts: 3
}

export const DocumentSettings = Context.Reference<DocumentSettings>("@colloquy/core/documents/DocumentSettings", {
  defaultValue: () => defaultDocumentSettings
})
