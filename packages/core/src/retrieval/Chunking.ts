/**
 * Pure: splits sections into chunks, the unit that is searched and shown. Structure decides first (`Section`), then size. A chunk that
 * begins in the middle of something starts with the text that a reader needs to understand it: the header of its table, the first line of
 * its definition, or the last sentences of the chunk before. Equal sections give equal chunks.
 */
import { runSteps, type Steps } from "../primitives/Steps.ts"
import { type Chunk, ownText } from "./Chunk.ts"
import { findDefinitions } from "./Code.ts"
import { eachLine, fit, fits, splitLines } from "./Cutting.ts"
import { type Block, headedParts } from "./Markdown.ts"
import { splitRecords } from "./Records.ts"
import { type ChunkSize, longestTitle, packed, type Piece, type Unnumbered } from "./Packing.ts"
import { unknownPosition, type SectionPosition, type Section } from "./Section.ts"

/** Cuts the text of a file into chunks that overlap. */
export const cutChunks = (sections: ReadonlyArray<Section>, size: ChunkSize): ReadonlyArray<Chunk> =>
  runSteps(chunking(sections, size))

export function* chunking(sections: ReadonlyArray<Section>, size: ChunkSize): Steps<ReadonlyArray<Chunk>> {
  const chunks: Array<Unnumbered> = []
  /** What stands before the next chunk: space that is left out, and the ends of sections. */
  let space = ""
  let isOnLine = true
  const leaveOut = (text: string) => {
    space += text
    if (text !== "") isOnLine = text.endsWith("\n")
  }
  const add = (chunk: Unnumbered) => {
    const own = ownText(chunk)
    if (own.trim() === "") return leaveOut(own)
    chunks.push({ ...chunk, space: space.length })
    space = ""
    isOnLine = own.endsWith("\n")
  }
  /** Titles with nothing below them: they stand before the next text, so that no chunk is a title alone. */
  let waiting: Array<string> = []
  for (const section of yield* joined(sections)) {
    if (!isOnLine && waiting.length === 0) leaveOut(sectionBreak)
    for (const { blocks, position, title } of yield* cutParts(section)) {
      if (blocks.length === 0) {
        if (waiting.length > 0 || title.trim() !== "") waiting.push(title)
        else leaveOut(title)
        continue
      }
      const pieces = yield* piecesBelow(onLines([...waiting, title, ""]), blocks, position, size)
      for (const chunk of yield* packed(pieces, position, size)) add(chunk)
      waiting = []
      yield
    }
  }
  chunks.push(...(yield* ending(chunks.pop(), onLines(waiting), space, size)))
  let end = 0
  return chunks.map(({ space: before, ...chunk }, ordinal) => {
    const start = end + before
    end = start + ownText(chunk).length
    return { ...chunk, ordinal, start }
  })
}

/** In the text of a document, an empty line stands between sections. */
const sectionBreak = "\n\n"

/** Texts below each other, without a break before the first or behind the last. */
const onLines = (texts: ReadonlyArray<string>): string => {
  const above = texts.slice(0, -1).filter((text) => text !== "")
  return above.map((text) => (text.endsWith("\n") ? text : `${text}\n\n`)).join("") + (texts.at(-1) ?? "")
}

/** Titles at the end of a file stand below its last text, with the space between them. */
function* ending(
  last: Unnumbered | undefined,
  titles: string,
  space: string,
  size: ChunkSize
): Steps<ReadonlyArray<Unnumbered>> {
  if (titles.trim() === "") return last === undefined ? [] : [last]
  const chunk = last ?? { ...unknownPosition, text: "", repeated: 0, space: space.length }
  const [before, end] = yield* linesAtEnd(titles, size)
  const own = onLines([last === undefined ? "" : ownText(last) + space, before, ""])
  const pieces = yield* fit(own, size.tokens - size.count(end), size.count)
  const chunks: Array<Unnumbered> = []
  let leftOut = chunk.space
  for (const text of [...pieces.slice(0, -1), (pieces.at(-1) ?? "") + end]) {
    if (text.trim() === "") {
      leftOut += text.length
    } else {
      chunks.push({ ...chunk, text, repeated: 0, space: leftOut })
      leftOut = 0
    }
  }
  return chunks
}

/** Joins prose sections with the same position, because extractors may write one section for each paragraph. */
function* joined(sections: ReadonlyArray<Section>): Steps<ReadonlyArray<Section>> {
  const groups: Array<{ readonly section: Section; readonly texts: Array<string> }> = []
  for (const section of sections) {
    const last = groups.at(-1)
    if (last !== undefined && section.form === "prose" && isSamePosition(last.section, section))
      last.texts.push(section.text)
    else groups.push({ section, texts: [section.text] })
    if (groups.length % 32 === 0) yield
  }
  return groups.map(({ section, texts }) => ({
    ...section,
    text: texts.map((text, index) => (index < texts.length - 1 ? `${text.trimEnd()}\n\n` : text)).join("")
  }))
}

const isSamePosition = (a: Section, b: Section): boolean =>
  a.form === b.form &&
  a.heading === b.heading &&
  a.page === b.page &&
  a.slide === b.slide &&
  a.sheet === b.sheet &&
  a.row === null &&
  b.row === null

/** Text that is packed into chunks together. */
interface Part {
  readonly position: SectionPosition
  /** The lines that only name what stands below them. */
  readonly title: string
  /** Empty: nothing stands below the title. */
  readonly blocks: ReadonlyArray<PartBlock>
}

interface PartBlock {
  readonly kind: Block["kind"] | "code" | "records" | "lines"
  readonly text: string
}

function* cutParts({ form, text, ...position }: Section): Steps<ReadonlyArray<Part>> {
  const title = chunkTitle(text, position)
  const rest = text.slice(title.length)
  switch (form) {
    case "prose":
      return [part(position, title, "text", rest)]
    case "code":
      return [part(position, title, "code", rest)]
    case "table":
      return [part(position, title, "records", rest)]
    case "lines":
      return [part(position, title, "lines", rest)]
    case "markdown":
      return yield* markdown(rest, title, position)
  }
}

const part = (position: SectionPosition, title: string, kind: PartBlock["kind"], text: string): Part =>
  text.trim() === "" ? { position, title: title + text, blocks: [] } : { position, title, blocks: [{ kind, text }] }

/** Extractors write the last title of a heading as the first line of the text below it. */
const chunkTitle = (text: string, { heading }: SectionPosition): string => {
  const [line = ""] = eachLine(text.slice(0, longestTitle))
  const title = line.trim()
  if (heading === null || title === "" || (heading !== title && !heading.endsWith(` > ${title}`))) return ""
  return line
}

function* markdown(text: string, title: string, position: SectionPosition): Steps<ReadonlyArray<Part>> {
  const parts: Array<Part> = []
  const [first, ...rest] = yield* headedParts(text)
  if (first !== undefined) parts.push({ position, title: title + first.title, blocks: first.blocks })
  for (const { headings, ...below } of rest) {
    const heading = [position.heading, ...headings].filter(Boolean).join(" > ") || null
    parts.push({ ...below, position: { ...position, heading } })
  }
  return parts
}

/** The pieces of blocks. The title stands before the first one. */
function* piecesBelow(
  titles: string,
  blocks: ReadonlyArray<PartBlock>,
  position: SectionPosition,
  size: ChunkSize
): Steps<ReadonlyArray<Piece>> {
  const [above, title] = yield* linesAtEnd(titles, size)
  const pieces: Array<Piece> = above === "" ? [] : [...(yield* prose(above, size))]
  const first = pieces.length
  for (const block of blocks) {
    const isFirst = pieces.length === first
    const room = isFirst ? { ...size, tokens: size.tokens - size.count(title) } : size
    for (const piece of yield* cutPieces(block, position, room)) {
      pieces.push(pieces.length === first ? { ...piece, text: title + piece.text } : piece)
    }
    yield
  }
  return pieces
}

/** The last lines that take at most half of a chunk, behind the lines before them. */
function* linesAtEnd(text: string, { count, tokens }: ChunkSize): Steps<readonly [before: string, end: string]> {
  if (fits(text, tokens / 2, count)) return ["", text]
  const all = yield* splitLines(text)
  let from = all.length
  let room = tokens / 2
  for (; from > 0; from--) {
    const line = all[from - 1] ?? ""
    if (!fits(line, room, count)) break
    room -= count(line)
  }
  return [all.slice(0, from).join(""), all.slice(from).join("")]
}

function* cutPieces(
  { kind, text }: PartBlock,
  position: SectionPosition,
  size: ChunkSize
): Steps<ReadonlyArray<Piece>> {
  switch (kind) {
    case "text":
      return yield* prose(text, size)
    case "fence":
    case "code":
      return yield* code(text, size)
    case "table":
      return withoutRows(yield* table(yield* splitLines(text), 2, 1, size))
    case "records":
      return yield* table(yield* splitRecords(text), 1, position.row ?? 1, size)
    case "lines":
      return yield* recordPieces(yield* splitLines(text), "", position.row ?? 1, size)
  }
}

function* prose(text: string, { count, tokens }: ChunkSize): Steps<ReadonlyArray<Piece>> {
  return (yield* fit(text, tokens, count)).map((piece) => ({ text: piece, prefix: null, row: null }))
}

/** A header that would take half of a chunk is not repeated. */
const prefixIfSmall = (prefix: string, { count, tokens }: ChunkSize): string =>
  fits(prefix, tokens / 2, count) ? prefix : ""

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

/** Definitions that are nested more deeply are split by lines, so that the text is not read once for every level. */
const deepestDefinition = 8

function* code(text: string, size: ChunkSize, above = "", depth = 0): Steps<ReadonlyArray<Piece>> {
  const room = size.tokens - size.count(above)
  if (fits(text, room, size.count)) return [{ text, prefix: above, row: null }]
  const definitions = depth === deepestDefinition ? [] : yield* findDefinitions(text)
  if (definitions.length < 2) return yield* lines(text, above, size)
  const pieces: Array<Piece> = []
  for (const { signature, text: body } of definitions) {
    if (fits(body, room, size.count)) pieces.push({ text: body, prefix: above, row: null })
    else for (const piece of yield* inside(body, signature, above, size, depth + 1)) pieces.push(piece)
    yield
  }
  return pieces
}

/** The first piece of a definition contains its signature itself. */
function* inside(
  body: string,
  signature: string,
  above: string,
  size: ChunkSize,
  depth: number
): Steps<ReadonlyArray<Piece>> {
  const prefix = prefixIfSmall(above + signature, size)
  const pieces = yield* code(body, size, prefix, depth)
  return pieces.map((piece, index) => (index === 0 ? { ...piece, prefix: above, startsChunk: true } : piece))
}

function* lines(text: string, prefix: string, size: ChunkSize): Steps<ReadonlyArray<Piece>> {
  return withoutRows(yield* recordPieces(yield* splitLines(text), prefix, 0, size))
}
