/**
 * Pure: splits sections into chunks, the unit that is searched and shown. Structure decides first (`Section`), then size. A chunk that
 * begins in the middle of something starts with the text that a reader needs to understand it: the header of its table, the first line of
 * its definition, or the last sentences of the chunk before. Equal sections give equal chunks.
 */
import { runSteps, type Steps } from "../primitives/Steps.ts"
import type { Chunk } from "./Chunk.ts"
import { definitionsOf } from "./Code.ts"
import { type CountTokens, fit, linesOf, tailOf } from "./Cutting.ts"
import { headedParts } from "./Markdown.ts"
import { recordsOf } from "./Records.ts"
import type { Place, Section } from "./Section.ts"

export interface ChunkSize {
  /** The maximum of tokens in a chunk. */
  readonly tokens: number
  /** How many of them may repeat the end of the chunk before. */
  readonly overlap: number
  readonly count: CountTokens
}

export const chunksOf = (sections: ReadonlyArray<Section>, size: ChunkSize): ReadonlyArray<Chunk> =>
  runSteps(chunking(sections, size))

export function* chunking(sections: ReadonlyArray<Section>, size: ChunkSize): Steps<ReadonlyArray<Chunk>> {
  const chunks: Array<Chunk> = []
  for (const section of joined(sections)) {
    for (const part of yield* partsOf(section, size)) {
      for (const chunk of yield* packed(part, size)) {
        if (chunk.text.slice(chunk.repeated).trim() !== "") chunks.push({ ...chunk, ordinal: chunks.length })
      }
      yield
    }
  }
  return chunks
}

/** Joins prose sections with the same place, because extractors may write one section for each paragraph. */
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

/** Text that is packed into chunks together. */
interface Part {
  readonly place: Place
  readonly pieces: ReadonlyArray<Piece>
}

interface Piece {
  readonly text: string
  /** The text that a chunk repeats when it begins with this piece; null: the end of the chunk before. */
  readonly prefix: string | null
  readonly row: number | null
  /** True: the piece begins a new chunk, even if there is room in the one before. */
  readonly startsChunk?: true
}

function* partsOf(section: Section, size: ChunkSize): Steps<ReadonlyArray<Part>> {
  const { form, text, ...place } = section
  switch (form) {
    case "prose":
      return [{ place, pieces: yield* prose(text, size) }]
    case "code":
      return [{ place, pieces: yield* code(text, size) }]
    case "table":
      return [{ place, pieces: yield* table(recordsOf(text), 1, place.row ?? 1, size) }]
    case "lines":
      return [{ place, pieces: yield* recordPieces(linesOf(text), "", place.row ?? 1, size) }]
    case "markdown":
      return yield* markdown(text, place, size)
  }
}

function* markdown(text: string, place: Place, size: ChunkSize): Steps<ReadonlyArray<Part>> {
  const parts: Array<Part> = []
  for (const { blocks, headings } of headedParts(text)) {
    const pieces: Array<Piece> = []
    for (const { kind, text: block } of blocks) {
      if (kind === "table") pieces.push(...withoutRows(yield* table(linesOf(block), 2, 1, size)))
      else pieces.push(...(yield* kind === "fence" ? code(block, size) : prose(block, size)))
    }
    const heading = [place.heading, ...headings].filter(Boolean).join(" > ") || null
    parts.push({ place: { ...place, heading }, pieces })
    yield
  }
  return parts
}

function* prose(text: string, { count, tokens }: ChunkSize): Steps<ReadonlyArray<Piece>> {
  return (yield* fit(text, tokens, count)).map((piece) => ({ text: piece, prefix: null, row: null }))
}

/** A header that would take half of a chunk is not repeated. */
const prefixIfSmall = (prefix: string, { count, tokens }: ChunkSize): string =>
  count(prefix) * 2 > tokens ? "" : prefix

/** The header stays with the first record. */
function* table(
  records: ReadonlyArray<string>,
  headerRows: number,
  firstRow: number,
  size: ChunkSize
): Steps<ReadonlyArray<Piece>> {
  const header = records.slice(0, headerRows).join("")
  const prefix = prefixIfSmall(header.endsWith("\n") ? header : `${header}\n`, size)
  const [first = "", ...rest] = records.slice(headerRows)
  const opening = yield* recordPieces([header + first], "", firstRow, size)
  return opening.concat(yield* recordPieces(rest, prefix, firstRow + headerRows + 1, size))
}

const withoutRows = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> =>
  pieces.map((piece) => ({ ...piece, row: null }))

function* recordPieces(
  records: ReadonlyArray<string>,
  prefix: string,
  firstRow: number,
  { count, tokens }: ChunkSize
): Steps<ReadonlyArray<Piece>> {
  const pieces: Array<Piece> = []
  const room = tokens - count(prefix)
  let row = firstRow
  for (const text of records) {
    for (const piece of yield* fit(text, room, count)) pieces.push({ text: piece, prefix, row })
    row++
    if (row % 32 === 0) yield
  }
  return pieces
}

function* code(text: string, size: ChunkSize, above = ""): Steps<ReadonlyArray<Piece>> {
  const room = size.tokens - size.count(above)
  if (size.count(text) <= room) return [{ text, prefix: above, row: null }]
  const definitions = definitionsOf(text)
  if (definitions.length < 2) return yield* lines(text, above, size)
  const pieces: Array<Piece> = []
  for (const { signature, text: body } of definitions) {
    if (size.count(body) <= room) pieces.push({ text: body, prefix: above, row: null })
    else pieces.push(...(yield* inside(body, signature, above, size)))
    yield
  }
  return pieces
}

/** The first piece of a definition contains its signature itself. */
function* inside(body: string, signature: string, above: string, size: ChunkSize): Steps<ReadonlyArray<Piece>> {
  const prefix = prefixIfSmall(above + signature, size)
  const [first, ...rest] = yield* code(body, size, prefix)
  return first === undefined ? [] : [{ ...first, prefix: above, startsChunk: true }, ...rest]
}

function* lines(text: string, prefix: string, size: ChunkSize): Steps<ReadonlyArray<Piece>> {
  return withoutRows(yield* recordPieces(linesOf(text), prefix, 0, size))
}

type Unnumbered = Omit<Chunk, "ordinal">

/** Puts as many pieces into a chunk as fit. */
function* packed({ pieces, place: whole }: Part, size: ChunkSize): Steps<ReadonlyArray<Unnumbered>> {
  const place = { ...whole, heading: shortened(whole.heading), sheet: shortened(whole.sheet) }
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
      chunks.push({ ...place, row: piece.row ?? place.row, text: prefix + piece.text, repeated: prefix.length })
      yield
      room = size.tokens - tokens - size.count(prefix)
    }
  }
  return chunks
}

/** A place is stored with every chunk, so it must not grow with the text. */
const longestTitle = 500

const shortened = (title: string | null): string | null =>
  title === null || title.length <= longestTitle ? title : `${title.slice(0, longestTitle).toWellFormed()}…`

const overlap = (before: Unnumbered | undefined, size: ChunkSize, tokens: number): string => {
  const room = Math.min(size.overlap, size.tokens - tokens)
  if (before === undefined || room <= 0) return ""
  return tailOf(before.text.slice(before.repeated), room, size.count)
}
