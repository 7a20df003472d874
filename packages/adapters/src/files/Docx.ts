/**
 * Reads Word files since 2007: paragraphs under their headings, lists and tables, then footnotes and comments. A heading is recognised by its
 * style's name or outline level, because Word translates the ids of styles. Text that tracked changes have deleted or moved is skipped.
 */
import type { Section } from "@colloquy/core/retrieval"
import { type OfficePackage, openPackage, relationPath } from "./OfficePackage.ts"
import { type SectionCollector, collectSections, markdownTable, oneLine } from "./Sections.ts"
import { walkXml } from "./Xml.ts"

export const readDocx = (bytes: Uint8Array): ReadonlyArray<Section> => {
  const office = openPackage(bytes, "Word document")
  const body = collectSections()
  readStory(office, office.main.bytes, headingLevels(office), body)
  return [...body.end(), ...["footnotes", "endnotes", "comments"].flatMap((type) => readNotes(office, type))]
}

const titles: Readonly<Record<string, string>> = { footnotes: "Footnotes", endnotes: "Endnotes", comments: "Comments" }

const readNotes = (office: OfficePackage, type: string): ReadonlyArray<Section> => {
  const part = office.read(relationPath(office.main.relations, type) ?? "")
  if (part === undefined) return []
  const notes = collectSections()
  readStory(office, part, new Map(), notes)
  return notes.end().map((section) => ({ ...section, heading: titles[type] ?? null }))
}

/** The level of each style that is a heading. The title has level 0. */
const headingLevels = (office: OfficePackage): ReadonlyMap<string, number> => {
  const levels = new Map<string, number>()
  const part = office.read(relationPath(office.main.relations, "styles") ?? "")
  if (part === undefined) return levels
  let style = ""
  walkXml(part, office.kind, {
    open: (name, attribute) => {
      const value = attribute("val") ?? ""
      if (name === "style") style = attribute("styleId") ?? ""
      else if (name === "name" && /^(title|heading \d)$/iu.test(value))
        levels.set(style, Number(/\d/u.exec(value)?.[0] ?? 0))
      else if (name === "outlineLvl" && !levels.has(style) && Number(value) < 9) levels.set(style, Number(value) + 1)
    }
  })
  return levels
}

interface Table {
  readonly rows: Array<Array<string>>
  cell: Array<string>
  /** How many columns the current cell spans. */
  span: number
}

interface Paragraph {
  text: string
  /** Undefined: no heading. */
  level: number | undefined
  /** Undefined: no item of a list. */
  indent: number | undefined
}

/**
 * Elements whose content is skipped: the second copy of a text box for old programs (`Fallback`), deleted text, the old place of a moved text,
 * what a paragraph and a cell were before a tracked change, and the small characters that show how Japanese words are pronounced (`rt`).
 */
const unread: ReadonlySet<string> = new Set(["Fallback", "del", "moveFrom", "pPrChange", "tcPrChange", "rt"])

const newParagraph = (): Paragraph => ({ text: "", level: undefined, indent: undefined })

const mostColumns = 63

/** The elements that represent a character. */
const characters: Readonly<Record<string, string>> = { tab: "\t", br: "\n", cr: "\n", noBreakHyphen: "-", den: "/" }

const readStory = (
  office: OfficePackage,
  part: Uint8Array,
  levels: ReadonlyMap<string, number>,
  out: SectionCollector
): void => {
  const tables: Array<Table> = []
  /** The open paragraphs. Those of a text box are inside of the paragraph that has the box. */
  const paragraphs: Array<Paragraph> = []
  /** What text boxes hold, until the paragraph that has them is written. */
  const boxed: Array<() => void> = []
  let isText = false
  /** The number of open elements that are skipped. */
  let skipped = 0

  const current = (): Paragraph => paragraphs.at(-1) ?? newParagraph()
  const write = (block: () => void) => {
    if (paragraphs.length > 0) boxed.push(block)
    else block()
  }
  const endParagraph = () => {
    const { indent, level, text } = paragraphs.pop() ?? newParagraph()
    const paragraph = text.trim()
    const table = tables.at(-1)
    if (table !== undefined && paragraph !== "") table.cell.push(oneLine(paragraph))
    else if (paragraph !== "") {
      write(() => {
        if (level !== undefined) out.heading(oneLine(paragraph), level)
        else if (indent !== undefined) out.block(`${"  ".repeat(indent)}- ${paragraph}`, true)
        else out.block(paragraph)
      })
    }
    if (paragraphs.length === 0) for (const block of boxed.splice(0)) block()
  }
  const endTable = () => {
    const rows = tables.pop()?.rows ?? []
    const outer = tables.at(-1)
    // A table inside a cell becomes text of that cell.
    if (outer !== undefined) outer.cell.push(rows.map((cells) => cells.join(", ")).join("; "))
    else if (rows.some((cells) => cells.some((cell) => cell !== ""))) write(() => out.block(markdownTable(rows)))
  }
  const opened: Readonly<Record<string, (attribute: (name: string) => string | undefined) => void>> = {
    p: () => paragraphs.push(newParagraph()),
    t: () => {
      isText = true
    },
    pStyle: (attribute) => {
      current().level = levels.get(attribute("val") ?? "") ?? current().level
    },
    outlineLvl: (attribute) => {
      const value = Number(attribute("val"))
      if (value < 9) current().level = value + 1
    },
    ilvl: (attribute) => {
      current().indent = Math.min(9, Number(attribute("val")) || 0)
    },
    numId: (attribute) => {
      // The number 0 removes the paragraph from the list of its style.
      if (attribute("val") === "0") current().indent = undefined
    },
    tbl: () => tables.push({ rows: [], cell: [], span: 1 }),
    tr: () => tables.at(-1)?.rows.push([]),
    tc: () => {
      const table = tables.at(-1)
      if (table !== undefined) Object.assign(table, { cell: [], span: 1 })
    },
    gridSpan: (attribute) => {
      const table = tables.at(-1)
      if (table !== undefined) table.span = Math.min(mostColumns, Math.max(1, Number(attribute("val")) || 1))
    }
  }
  const closed: Readonly<Record<string, () => void>> = {
    t: () => {
      isText = false
    },
    p: endParagraph,
    tbl: endTable,
    tc: () => {
      const table = tables.at(-1)
      if (table === undefined) return
      table.rows.at(-1)?.push(table.cell.join(" "), ...Array.from({ length: table.span - 1 }, () => ""))
    }
  }
  walkXml(part, office.kind, {
    open: (name, attribute) => {
      if (unread.has(name)) skipped++
      if (skipped > 0) return
      if (Object.hasOwn(characters, name)) current().text += characters[name] ?? ""
      if (Object.hasOwn(opened, name)) opened[name]?.(attribute)
    },
    text: (piece) => {
      if (isText && skipped === 0) current().text += piece
    },
    close: (name) => {
      if (unread.has(name)) skipped--
      else if (skipped === 0 && Object.hasOwn(closed, name)) closed[name]?.()
    }
  })
}
