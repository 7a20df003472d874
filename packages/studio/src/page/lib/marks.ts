/** Where an excerpt stands in a piece of its document. Pure. */

export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * The part of a piece that belongs to the quoted text. Null: none of the piece does. A quote may begin before the piece, end behind it, or
 * be shorter, because a server keeps only its beginning.
 */
export const markIn = (piece: string, quote: string): Span | null => {
  if (piece === "" || quote === "") return null
  const inside = piece.indexOf(quote)
  if (inside >= 0) return { start: inside, end: inside + quote.length }
  if (quote.includes(piece)) return { start: 0, end: piece.length }
  // The quote begins or ends in the piece. A shorter match than this may be chance.
  const least = Math.min(40, quote.length, piece.length)
  const head = piece.indexOf(quote.slice(0, least))
  if (head >= 0 && quote.startsWith(piece.slice(head))) return { start: head, end: piece.length }
  const tail = piece.lastIndexOf(quote.slice(-least))
  if (tail >= 0 && quote.endsWith(piece.slice(0, tail + least))) return { start: 0, end: tail + least }
  return null
}
