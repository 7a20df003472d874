/**
 * Pure: sections into chunks, the unit that is searched and shown. Structure decides first (`Section`), then size. A chunk that begins in
 * the middle of something starts with what a reader needs to understand it: the header of its table, the first line of its definition, or
 * the last sentences of the chunk before. Equal sections give equal chunks.
 */
import { definitionsOf } from "./Code.ts"
import { type CountTokens, fit, linesOf, tailOf } from "./Cutting.ts"
import { headedParts } from "./Markdown.ts"
import { recordsOf } from "./Records.ts"
import type { Place, Section } from "./Section.ts"

export interface Chunk extends Place {
  /** Counted from 0 in its document; neighbours have neighbouring numbers. */
  readonly ordinal: number
  readonly text: string
  /** How much of the text, from its beginning, stands in an earlier chunk as well (UTF-16 units). */
  readonly repeated: number
}

export interface ChunkSize {
  /** A chunk has at most so many tokens. */
  readonly tokens: number
  /** How many of them may repeat the end of the chunk before. */
  readonly overlap: number
  readonly count: CountTokens
}

/** What stands in the chunk alone; the own texts of a section's chunks together are the section's text. */
export const ownText = ({ repeated, text }: Chunk): string => text.slice(repeated)

export const chunksOf = (sections: ReadonlyArray<Section>, size: ChunkSize): ReadonlyArray<Chunk> =>
  joined(sections)
    .flatMap((section) => partsOf(section, size).flatMap((part) => packed(part, size)))
    .filter(({ repeated, text }) => text.slice(repeated).trim() !== "")
    .map((chunk, ordinal) => ({ ...chunk, ordinal }))

/** Extractors may give one section a paragraph; those of one place are one text. */
const joined = (sections: ReadonlyArray<Section>): ReadonlyArray<Section> => {
  const all: Array<Section> = []
  for (const section of sections) {
    const last = all.at(-1)
    if (last !== undefined && section.form === "prose" && isSamePlace(last, section))
      all[all.length - 1] = { ...last, text: `${last.text.trimEnd()}\n\n${section.text}` }
    else all.push(section)
  }
  return all
}

const isSamePlace = (a: Section, b: Section): boolean =>
  a.form === b.form &&
  a.heading === b.heading &&
  a.page === b.page &&
  a.slide === b.slide &&
  a.sheet === b.sheet &&
  a.row === null &&
  b.row === null

/** What is packed into chunks together. */
interface Part {
  readonly place: Place
  readonly pieces: ReadonlyArray<Piece>
}

interface Piece {
  readonly text: string
  /** What a chunk that begins with this piece repeats; null: the end of the chunk before. */
  readonly lead: string | null
  readonly row: number | null
  /** Begins a chunk, even where there is room in the one before. */
  readonly opens?: true
}

const partsOf = (section: Section, size: ChunkSize): ReadonlyArray<Part> => {
  const { form, text, ...place } = section
  const one = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Part> => [{ place, pieces }]
  switch (form) {
    case "prose":
      return one(prose(text, size))
    case "code":
      return one(code(text, size))
    case "table":
      return one(table(recordsOf(text), 1, place.row ?? 1, size))
    case "lines":
      return one(linesOf(text).flatMap((line, index) => record(line, "", (place.row ?? 1) + index, size)))
    case "markdown":
      return headedParts(text).map(({ blocks, headings }) => ({
        place: { ...place, heading: [place.heading, ...headings].filter(Boolean).join(" > ") || null },
        pieces: blocks.flatMap(({ kind, text: block }) => {
          if (kind === "table") return withoutRows(table(linesOf(block), 2, 1, size))
          return kind === "fence" ? code(block, size) : prose(block, size)
        })
      }))
  }
}

const prose = (text: string, { count, tokens }: ChunkSize): ReadonlyArray<Piece> =>
  fit(text, tokens, count).map((piece) => ({ text: piece, lead: null, row: null }))

/** A header that would take half of a chunk is not repeated. */
const affordable = (lead: string, { count, tokens }: ChunkSize): string => (count(lead) * 2 > tokens ? "" : lead)

/** The header stays with the first record. */
const table = (
  records: ReadonlyArray<string>,
  headerRows: number,
  firstRow: number,
  size: ChunkSize
): ReadonlyArray<Piece> => {
  const header = records.slice(0, headerRows).join("")
  const lead = affordable(header.endsWith("\n") ? header : `${header}\n`, size)
  const [first = "", ...rest] = records.slice(headerRows)
  const opening = record(header + first, "", firstRow, size)
  return [...opening, ...rest.flatMap((each, index) => record(each, lead, firstRow + headerRows + 1 + index, size))]
}

const withoutRows = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> =>
  pieces.map((piece) => ({ ...piece, row: null }))

const record = (text: string, lead: string, row: number, { count, tokens }: ChunkSize): ReadonlyArray<Piece> =>
  fit(text, tokens - count(lead), count).map((piece) => ({ text: piece, lead, row }))

const code = (text: string, size: ChunkSize, above = ""): ReadonlyArray<Piece> => {
  const room = size.tokens - size.count(above)
  if (size.count(text) <= room) return [{ text, lead: above, row: null }]
  const definitions = definitionsOf(text)
  if (definitions.length < 2) return lines(text, above, size)
  return definitions.flatMap(({ signature, text: body }) => {
    if (size.count(body) <= room) return [{ text: body, lead: above, row: null }]
    return inside(body, signature, above, size)
  })
}

/** The first piece of a definition shows its signature itself. */
const inside = (body: string, signature: string, above: string, size: ChunkSize): ReadonlyArray<Piece> => {
  const lead = affordable(above + signature, size)
  const [first, ...rest] = code(body, size, lead)
  return first === undefined ? [] : [{ ...first, lead: above, opens: true }, ...rest]
}

const lines = (text: string, lead: string, size: ChunkSize): ReadonlyArray<Piece> =>
  linesOf(text)
    .flatMap((line) => fit(line, size.tokens - size.count(lead), size.count))
    .map((line) => ({ text: line, lead, row: null }))

type Unnumbered = Omit<Chunk, "ordinal">

/** As many pieces a chunk as there is room for. */
const packed = ({ pieces, place }: Part, size: ChunkSize): ReadonlyArray<Unnumbered> => {
  const chunks: Array<Unnumbered> = []
  let room = 0
  for (const piece of pieces) {
    const tokens = size.count(piece.text)
    const last = chunks.at(-1)
    if (last !== undefined && tokens <= room && piece.opens !== true) {
      chunks[chunks.length - 1] = { ...last, text: last.text + piece.text }
      room -= tokens
    } else {
      const wanted = piece.lead ?? overlap(last, size, tokens)
      const lead = size.count(wanted) + tokens > size.tokens ? "" : wanted
      chunks.push({ ...place, row: piece.row ?? place.row, text: lead + piece.text, repeated: lead.length })
      room = size.tokens - tokens - size.count(lead)
    }
  }
  return chunks
}

const overlap = (before: Unnumbered | undefined, size: ChunkSize, tokens: number): string => {
  const room = Math.min(size.overlap, size.tokens - tokens)
  if (before === undefined || room <= 0) return ""
  return tailOf(before.text.slice(before.repeated), room, size.count)
}
