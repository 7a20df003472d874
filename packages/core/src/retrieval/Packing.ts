/** Pure: puts the pieces of a section into chunks of a size. */
import type { Steps } from "../primitives/Steps.ts"
import type { Chunk } from "./Chunk.ts"
import { type CountTokens, textTail } from "./Cutting.ts"
import type { SectionPosition } from "./Section.ts"

/** How many tokens a chunk has, and how many it shares with the next. */
export interface ChunkSize {
  /** The maximum of tokens in a chunk. */
  readonly tokens: number
  /** How many of them may repeat the end of the chunk before. */
  readonly overlap: number
  readonly count: CountTokens
}

export interface Piece {
  readonly text: string
  /** The text that a chunk repeats when it begins with this piece; null: the end of the chunk before. */
  readonly prefix: string | null
  readonly row: number | null
  /** True: the piece begins a new chunk, even if there is room in the one before. */
  readonly startsChunk?: true
}

export interface Unnumbered extends Omit<Chunk, "ordinal" | "start"> {
  /** How many characters stand between the chunk before and this one. */
  readonly space: number
}

/** Puts as many pieces into a chunk as fit. */
export function* packed(
  pieces: ReadonlyArray<Piece>,
  whole: SectionPosition,
  size: ChunkSize
): Steps<ReadonlyArray<Unnumbered>> {
  const position = { ...whole, heading: shortened(whole.heading), sheet: shortened(whole.sheet) }
  const chunks: Array<Unnumbered> = []
  let room = 0
  for (const piece of pieces) {
    const tokens = size.count(piece.text)
    const last = chunks.at(-1)
    if (last !== undefined && tokens <= room && piece.startsChunk !== true) {
      chunks[chunks.length - 1] = { ...last, text: last.text + piece.text }
      room -= tokens
    } else {
      const wanted = piece.prefix ?? overlap(last, size, tokens)
      const prefix = size.count(wanted) + tokens > size.tokens ? "" : wanted
      chunks.push({
        ...position,
        row: piece.row ?? position.row,
        text: prefix + piece.text,
        repeated: prefix.length,
        space: 0
      })
      yield
      room = size.tokens - tokens - size.count(prefix)
    }
  }
  return chunks
}

/** A position is stored with every chunk, so it must not grow with the text. */
export const longestTitle = 500

const shortened = (title: string | null): string | null =>
  title === null || title.length <= longestTitle ? title : `${title.slice(0, longestTitle).toWellFormed()}…`

const overlap = (before: Unnumbered | undefined, size: ChunkSize, tokens: number): string => {
  const room = Math.min(size.overlap, size.tokens - tokens)
  if (before === undefined || room <= 0) return ""
  return textTail(before.text.slice(before.repeated), room, size.count)
}
