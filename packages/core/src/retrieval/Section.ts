/**
 * The form in which a file's text leaves an extractor: sections in reading order, each with its position. `Chunking` splits them. A section
 * never spans pages, slides or sheets; its length does not matter.
 */

/** Where a text stands in its file. A field that the file does not have is null. */
export interface SectionPosition {
  /** The titles above it, outermost first, joined by " > ". */
  readonly heading: string | null
  /** Counted from 1. */
  readonly page: number | null
  readonly slide: number | null
  /** The name of the sheet. */
  readonly sheet: string | null
  /** The first row, line or record, counted from 1. */
  readonly row: number | null
}

/** The position of a text of which nothing is known. */
export const unknownPosition: SectionPosition = { heading: null, page: null, slide: null, sheet: null, row: null }

/**
 * The form of a section's text, which determines where it may be split:
 *
 * | form | the text | split between |
 * |---|---|---|
 * | `prose` | paragraphs with empty lines between | paragraphs, then sentences |
 * | `markdown` | Markdown | headings, blocks, rows of tables |
 * | `code` | source text | definitions, inner definitions, lines |
 * | `table` | separated values, the first record is the header; a quoted value may contain line breaks | records; the header is repeated |
 * | `lines` | one record per line (JSON lines, logs) | lines |
 */
export type SectionForm = "prose" | "markdown" | "code" | "table" | "lines"

export interface Section extends SectionPosition {
  readonly form: SectionForm
  readonly text: string
}
