/** A chunk: the unit that is indexed, searched and shown. `Chunking` cuts them. */
import type { Place } from "./Section.ts"

export interface Chunk extends Place {
  /** Counted from 0 in its document; neighbours have neighbouring numbers. */
  readonly ordinal: number
  readonly text: string
  /** How much of the text, from its beginning, stands in an earlier chunk as well (UTF-16 units). */
  readonly repeated: number
}

/** What stands in the chunk alone; the own texts of a section's chunks together are the section's text. */
export const ownText = ({ repeated, text }: Chunk): string => text.slice(repeated)
