/** Functions that the readers share to build sections: headings become a path (`Part > Chapter`), tables become Markdown. */
import type { SectionPosition, Section, SectionForm } from "@colloquy/core/retrieval"

const unknownPosition: SectionPosition = { heading: null, page: null, slide: null, sheet: null, row: null }

/** A list of one section, or an empty list when there is no text. */
export const section = (
  form: SectionForm,
  text: string,
  position: Partial<SectionPosition> = {}
): ReadonlyArray<Section> => (text.trim() === "" ? [] : [{ ...unknownPosition, ...position, form, text }])

export interface SectionCollector {
  /** Ends the current section. The heading belongs to the sections that follow. Level 0 is the title of the document. */
  readonly heading: (text: string, level: number) => void
  /** Adds a paragraph, a list item or a whole table. */
  readonly block: (text: string, isItem?: boolean) => void
  readonly end: () => ReadonlyArray<Section>
}

/** Collects blocks of text into sections under their headings. */
export const collectSections = (): SectionCollector => {
  const sections: Array<Section> = []
  const path: Array<string> = []
  let text = ""
  let wasItem = false
  const flush = () => {
    const heading = path.filter((title) => title !== undefined && title !== "").join(" > ")
    sections.push(...section("markdown", text, { heading: heading === "" ? null : heading }))
    text = ""
    wasItem = false
  }
  const block = (next: string, isItem = false) => {
    if (text !== "") text += isItem && wasItem ? "\n" : "\n\n"
    text += next
    wasItem = isItem
  }
  return {
    heading: (title, level) => {
      flush()
      path.length = Math.min(path.length, level)
      while (path.length < level) path.push("")
      path.push(title)
      block(title)
    },
    block,
    end: () => {
      flush()
      return sections
    }
  }
}

/** The first row becomes the header. */
export const markdownTable = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const [header = [], ...rest] = rows.filter((cells) => cells.some((cell) => cell !== ""))
  if (rest.length === 0) return header.join(" | ")
  const line = (cells: ReadonlyArray<string>) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  return [line(header), line(header.map(() => "---")), ...rest.map(line)].join("\n")
}

export const oneLine = (text: string): string => text.replaceAll(/\s+/gu, " ").trim()
