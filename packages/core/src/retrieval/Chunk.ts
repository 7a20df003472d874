/** A chunk: the unit that is indexed, searched and shown. `Chunking` makes chunks. */
import type { SectionPosition } from "./Section.ts"

export interface Chunk extends SectionPosition {
  /** Counted from 0 in its document; adjacent chunks have adjacent numbers. */
  readonly ordinal: number
  readonly text: string
  /** The length of the beginning of the text that is also part of an earlier chunk (UTF-16 units). */
  readonly repeated: number
  /**
   * The position of its own text in the text of its document (UTF-16 units). Absent: it is no part of a document, or was indexed by an older
   * version.
   */
  readonly start?: number
}

/** The text without the repeated beginning. The own texts of a section's chunks, joined, are the section's text. */
export const ownText = ({ repeated, text }: Pick<Chunk, "repeated" | "text">): string => text.slice(repeated)
