/**
 * What a file's text looks like when it comes out of the file: sections in reading order, each with its place. Extractors write them,
 * `Chunking` cuts them. A section never spans pages, slides or sheets; how long it is does not matter.
 */

/** Where a text stands. What a file does not have is null. */
export interface Place {
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

export const nowhere: Place = { heading: null, page: null, slide: null, sheet: null, row: null }

/**
 * How the text of a section is built, which decides where it may be cut:
 *
 * | form | the text | cut between |
 * |---|---|---|
 * | `prose` | paragraphs with empty lines between | paragraphs, then sentences |
 * | `markdown` | Markdown | headings, blocks, rows of tables |
 * | `code` | source text | definitions, inner definitions, lines |
 * | `table` | separated values, the first record is the header; a quoted value may hold line breaks | records; the header is repeated |
 * | `lines` | one record a line (JSON lines, logs) | lines |
 */
export type SectionForm = "prose" | "markdown" | "code" | "table" | "lines"

export interface Section extends Place {
  readonly form: SectionForm
  readonly text: string
}
