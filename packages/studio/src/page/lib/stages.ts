/** The progress of reading a document: its stages, and the share of the last one. Pure. */
import type { DocumentRead } from "../wire.ts"

export type Stage = "received" | "text" | "vectors" | "done"

export interface Progress {
  readonly stage: Stage
  /** The share of the whole, from 0 to 1. */
  readonly share: number
}

/** Reading the text counts as a third of the work. */
const textShare = 1 / 3

/** Reads the stage from the server's sentence, and the number of pieces when the text has been read. */
export const readingProgress = ({
  chunk_count = 0,
  status,
  status_message
}: Pick<DocumentRead, "chunk_count" | "status" | "status_message">): Progress => {
  if (status === "completed") return { stage: "done", share: 1 }
  const [, done, all] = /(\d+) of (\d+)/u.exec(status_message ?? "") ?? []
  if (done !== undefined && all !== undefined && Number(all) > 0)
    return { stage: "vectors", share: textShare + (1 - textShare) * Math.min(1, Number(done) / Number(all)) }
  return chunk_count > 0 ? { stage: "text", share: textShare } : { stage: "received", share: 0 }
}
