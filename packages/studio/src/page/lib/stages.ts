/** How far the reading of a document is: its stages, and the share of the last one. Pure. */
import type { DocumentRead } from "../wire.ts"

export type Stage = "received" | "text" | "vectors" | "done"

export interface Progress {
  readonly stage: Stage
  /** Of the whole, from 0 to 1. */
  readonly share: number
}

/** Reading the text is taken for a third of the work. */
const textShare = 1 / 3

/** The server tells the stage in its sentence, and the pieces when the text is read. */
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
