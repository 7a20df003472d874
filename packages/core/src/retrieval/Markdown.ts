/**
 * Pure: Markdown as parts with headings, and their blocks. Nothing is interpreted: the text of a block is the text as written. Headings
 * inside of a fence are code. One pass over the lines for the parts, one for the blocks; a line of any length is read a fixed number of times.
 */
import { forEachLine } from "./Cutting.ts"
import type { Steps } from "../primitives/Steps.ts"

export interface HeadedPart {
  /** The headings above, outermost first, including this part's own. */
  readonly headings: ReadonlyArray<string>
  /** The line of its own heading as written, and the empty lines behind it; empty before the first heading. */
  readonly title: string
  /** Empty: nothing stands below the heading. */
  readonly blocks: ReadonlyArray<Block>
}

export interface Block {
  readonly kind: "text" | "table" | "fence"
  readonly text: string
}

const fence = /^\s{0,3}(`{3,}|~{3,})/u
const marks = /^(#{1,6})\s/u
/** More characters than a title or a row of dashes has. */
const longestTitle = 1_000
const longestDelimiter = 20_000

/** The parts in order; their titles and blocks, joined, are the text. */
export function* headedParts(text: string): Steps<ReadonlyArray<HeadedPart>> {
  const drafts: Array<Draft> = [{ headings: [], title: "", lines: [] }]
  let trail: ReadonlyArray<string> = []
  let fenced: string | null = null
  yield* forEachLine(text, (line) => {
    const mark = fence.exec(line)?.[1]
    if (mark !== undefined) fenced = fenced === null ? mark : mark.startsWith(fenced) ? null : fenced
    const level = fenced === null && mark === undefined ? marks.exec(line)?.[1]?.length : undefined
    if (level === undefined) return void drafts.at(-1)?.lines.push(line)
    trail = under(trail, level, headingTitle(line.slice(level, longestTitle)))
    drafts.push({ headings: trail.filter(Boolean), title: line, lines: [] })
  })
  const parts: Array<HeadedPart> = []
  for (const { headings, lines, title } of drafts) {
    const isBare = lines.every((line) => line.trim() === "")
    if (isBare) parts.push({ headings, title: title + lines.join(""), blocks: [] })
    else parts.push({ headings, title, blocks: yield* cutBlocks(lines) })
  }
  return parts
}

interface Draft {
  readonly headings: ReadonlyArray<string>
  readonly title: string
  readonly lines: Array<string>
}

/** The text of a heading without the marks that may close it. */
const headingTitle = (rest: string): string => {
  const title = rest.trim()
  let end = title.length
  while (end > 0 && title.charAt(end - 1) === "#") end--
  return end === 0 || /\s/u.test(title.charAt(end - 1)) ? title.slice(0, end).trimEnd() : title
}

/** A skipped level leaves an empty title, which is not shown. */
const under = (trail: ReadonlyArray<string>, level: number, title: string): ReadonlyArray<string> => [
  ...Array.from({ length: level - 1 }, (_, index) => trail[index] ?? ""),
  title
]

function* cutBlocks(lines: ReadonlyArray<string>): Steps<ReadonlyArray<Block>> {
  const blocks: Array<{ readonly kind: Block["kind"]; readonly lines: Array<string> }> = []
  let fenced: string | null = null
  let wasEmpty = false
  for (const [index, line] of lines.entries()) {
    const last = blocks.at(-1)
    const add = (kind: Block["kind"], isNew: boolean) => {
      if (last === undefined || last.kind !== kind || isNew) blocks.push({ kind, lines: [line] })
      else last.lines.push(line)
    }
    const mark = fence.exec(line)?.[1]
    const isEmpty = line.trim() === ""
    if (fenced !== null) {
      add("fence", false)
      if (mark?.startsWith(fenced) === true) fenced = null
    } else if (mark !== undefined) {
      fenced = mark
      add("fence", true)
    } else if (isEmpty && last !== undefined) {
      // Empty lines belong to the block before them; a new paragraph is a new block.
      last.lines.push(line)
    } else if (isRow(line) && last?.kind === "table" && !wasEmpty) add("table", false)
    else if (isRow(line) && isDelimiter(lines[index + 1] ?? "")) add("table", true)
    else add("text", wasEmpty)
    wasEmpty = isEmpty
    if (index % 32 === 0) yield
  }
  return blocks.map(({ kind, lines: own }) => ({ kind, text: own.join("") }))
}

const isRow = (line: string): boolean => line.includes("|")

/** The line between the header of a table and its rows: cells of dashes, each with a colon before or after it or none. */
const isDelimiter = (line: string): boolean => {
  const row = line.trim()
  if (row.length > longestDelimiter || !/^[\s|:-]+$/u.test(row)) return false
  const cells = row.split("|")
  const inside = cells.slice(row.startsWith("|") ? 1 : 0, row.endsWith("|") && cells.length > 1 ? -1 : undefined)
  return inside.length > 0 && inside.every((cell) => /^:?-+:?$/u.test(cell.trim()))
}
