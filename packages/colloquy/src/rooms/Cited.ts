/** What replies cite, for the rooms whose texts are cited. */
import { type Citation, citationsIn, type TurnReply } from "@colloquy/core"

export interface CitedReply {
  /** What the answer cites: `retrieved[index]` or, with the kind `memory`, `memories[index]`. */
  readonly citations: ReadonlyArray<Citation>
  /** How many markers of the answer were removed, because the model was given no such text. */
  readonly citationsDropped: number
}

export const cited = (supplements: TurnReply["supplements"]): CitedReply => {
  const { citations, dropped } = citationsIn(supplements) ?? { citations: [], dropped: 0 }
  return { citations, citationsDropped: dropped }
}
