/** The settings of documents that a host may change. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

/** Which model writes summaries of documents, and how long they are. */
export interface DocumentSummarySettings {
  /** The model that writes summaries; null: the model that answers for the document's assistant. */
  readonly writer: { readonly provider: string; readonly model: string } | null
  /** How many tokens of a file are read for its summary; of a longer file, pieces from beginning to end. */
  readonly sourceTokens: number
  readonly summaryTokens: number
}

export interface DocumentSettings {
  /** The maximum size of a file in bytes. */
  readonly maxFileSize: number
  /** The maximum of tokens in a chunk, and how many of them may repeat the end of the chunk before. */
  readonly chunkTokens: number
  readonly chunkOverlap: number
  /** The maximum of chunks of a document. A file with more text is refused. */
  readonly mostChunks: number
  /** The number of chunks that are embedded between two updates of the progress. */
  readonly embeddingBatch: number
  /** How long an indexing waits for an unavailable embedding provider, counted from the first attempt. */
  readonly embeddingWait: Duration.Input
  /** `recall`: excerpts are added before every message. `tool`: the model searches with the tool `search_documents`. */
  readonly excerpts: "recall" | "tool"
  /**
   * How many hits of a search the `Reranker` of the host puts in order before the best are told to the model, and its time limit; 0: the
   * order of the search is kept.
   */
  readonly reranked: number
  readonly rerankTimeout: Duration.Input
  /** How long a message waits for the indexing of the files that came with it. */
  readonly attachmentWait: Duration.Input
  /** A summary costs a model call per document; null: no summaries. */
  readonly summaries: DocumentSummarySettings | null
  /** The maximum bytes of a picture that models get; a larger one is converted or refused. */
  readonly pictureBytes: number
  /** Pixels of the longer side of a converted picture. */
  readonly pictureSide: number
  /** The interval of the search for bytes without a document. The first search comes after one interval. */
  readonly orphanSweep: Duration.Input
  /** The age at which such bytes are deleted: longer than any upload takes. */
  readonly orphanAge: Duration.Input
  /** The maximum of attempts that fail for a reason inside the server. */
  readonly attempts: number
}

/** The settings of a host that changes none. */
export const defaultDocumentSettings: DocumentSettings = {
  maxFileSize: 50 * 1024 * 1024,
  chunkTokens: 400,
  chunkOverlap: 50,
  mostChunks: 30_000,
  embeddingBatch: 256,
  embeddingWait: "15 minutes",
  excerpts: "recall",
  reranked: 0,
  rerankTimeout: "3 seconds",
  attachmentWait: "30 seconds",
  summaries: null,
  orphanSweep: "1 hour",
  orphanAge: "1 day",
  pictureBytes: 3_700_000,
  pictureSide: 2048,
  attempts: 3
}

/** The usual settings for a host that wants summaries. */
export const defaultDocumentSummaries: DocumentSummarySettings = {
  writer: null,
  sourceTokens: 6_000,
  summaryTokens: 160
}

export const DocumentSettings = Context.Reference<DocumentSettings>("@colloquy/core/documents/DocumentSettings", {
  defaultValue: () => defaultDocumentSettings
})
