/**
 * Pure: Markdown as parts with headings, and their blocks. Nothing is interpreted: the text of a block is the text as written. Headings
 * inside of a fence are code.
 */
import { linesOf } from "./Cutting.ts"

export interface HeadedPart {
  /** The headings above, outermost first, including this part's own. */
  readonly headings: ReadonlyArray<string>
  readonly blocks: ReadonlyArray<Block>
}

export interface Block {
  readonly kind: "text" | "table" | "fence"
  readonly text: string
}

const fence = /^\s{0,3}(`{3,}|~{3,})/u
const heading = /^(#{1,6})\s+(.*?)\s*#*\s*$/u
const row = /^\s*\|.*\|\s*$|^[^|\n]+\|[^\n]*$/u
const delimiter = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/u

/** The parts in order; their blocks, joined, are the text. A heading without text below it belongs to the next part. */
export const headedParts = (text: string): ReadonlyArray<HeadedPart> => {
  const parts: Array<{ headings: ReadonlyArray<string>; blocks: ReadonlyArray<Block> }> = []
  let trail: ReadonlyArray<string> = []
  let waiting = ""
  let current: Array<string> = []
  let fenced: string | null = null
  const close = () => {
    if (current.length === 0) return
    const body = current.join("")
    if (waiting !== "" || body.trim() !== "")
      parts.push({ headings: trail.filter(Boolean), blocks: blocksOf(waiting, body) })
    else if (body !== "") parts.push({ headings: trail.filter(Boolean), blocks: [{ kind: "text", text: body }] })
    waiting = ""
    current = []
  }
  for (const line of linesOf(text)) {
    const opens = fence.exec(line)?.[1]
    if (opens !== undefined) {
      if (fenced === null) fenced = opens
      else if (opens.startsWith(fenced)) fenced = null
    }
    const found = fenced === null && opens === undefined ? heading.exec(line) : null
    if (found === null) {
      current.push(line)
      continue
    }
    if (current.some((each) => each.trim() !== "")) close()
    else waiting += current.splice(0).join("")
    trail = under(trail, found[1]?.length ?? 1, found[2] ?? "")
    waiting += line
  }
  if (current.length === 0 && waiting !== "") current.push("")
  close()
  return parts
}

/** A skipped level leaves an empty title, which is not shown. */
const under = (trail: ReadonlyArray<string>, level: number, title: string): ReadonlyArray<string> => [
  ...Array.from({ length: level - 1 }, (_, index) => trail[index] ?? ""),
  title
]

/** The headings belong to the first block. */
const blocksOf = (headings: string, body: string): ReadonlyArray<Block> => {
  const blocks: Array<{ kind: Block["kind"]; text: string }> = []
  const lines = linesOf(body)
  let fenced: string | null = null
  let inTable = false
  const add = (kind: Block["kind"], line: string, fresh: boolean) => {
    const last = blocks.at(-1)
    if (last !== undefined && last.kind === kind && !fresh) last.text += line
    else blocks.push({ kind, text: line })
  }
  lines.forEach((line, index) => {
    const mark = fence.exec(line)?.[1]
    if (fenced !== null) {
      add("fence", line, false)
      if (mark?.startsWith(fenced) === true) fenced = null
    } else if (mark !== undefined) {
      fenced = mark
      add("fence", line, true)
      inTable = false
    } else if (inTable && row.test(line.trimEnd())) add("table", line, false)
    else if (row.test(line.trimEnd()) && delimiter.test(lines[index + 1]?.trimEnd() ?? "")) {
      inTable = true
      add("table", line, true)
    } else {
      inTable = false
      const last = blocks.at(-1)
      // Empty lines belong to the block before them; a new paragraph is a new block.
      if (line.trim() === "" && last !== undefined) last.text += line
      else add("text", line, last?.text.endsWith("\n\n") === true)
    }
  })
  const [first, ...rest] = blocks
  if (headings === "") return blocks
  return first?.kind === "text"
    ? [{ kind: "text", text: headings + first.text }, ...rest]
    : [{ kind: "text", text: headings }, ...blocks]
}
