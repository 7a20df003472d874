/**
 * Reads the text of PDF files, page by page, under headings that are recognised by their font size. Scripts, forms and annotations are never
 * loaded. A page without text (usually a scan) gives no section.
 *
 * Texts in Chinese, Japanese and Korean often use a font that is not in the file. The tables that translate its codes to characters are in the
 * package `pdfjs-dist`; without that package, a file that needs the tables is refused.
 */
import type { Section } from "@colloquy/core/retrieval"
import { getDocumentProxy } from "unpdf"
import { readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { checkCharacters, limits } from "./Limits.ts"
import { type Line, readingOrder, textOfLine, type Word } from "./PdfLines.ts"
import { damaged, encrypted, Refused, tooLarge } from "./Refused.ts"
import { section } from "./Sections.ts"

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>

/** `tablesFolder` contains the tables of characters; null when their package is not installed. */
export const readPdf = async (bytes: Uint8Array, tablesFolder: string | null): Promise<ReadonlyArray<Section>> => {
  if (!hasEnd(bytes)) throw new Refused("damaged", "The PDF file is incomplete: its end is missing. Upload it again.")
  // The library takes the bytes, and they are empty afterwards.
  const size = bytes.length
  const tables = new CharacterTables(tablesFolder)
  const document = await open(bytes, tables)
  if (document.numPages > limits.pages) throw tooLarge(`it has more than ${limits.pages} pages`)
  const sections: Array<Section> = []
  const sizes = new Map<number, SizeCount>()
  let heading: string | null = null
  let characters = 0
  for (let page = 1; page <= document.numPages; page++) {
    const directions = await readWords(document, page)
    for (const { words } of directions) countSizes(words, sizes)
    for (const { letters, width, words } of directions) {
      characters += letters
      checkCharacters(characters, size)
      const found = readPage(words, width, page, heading, usualSize(sizes))
      sections.push(...found.sections)
      heading = found.heading
    }
  }
  // Some of the text is missing, also where there is other text.
  if (tables.isLacking) throw new Refused("unsupported", withoutTables)
  return sections
}

const withoutTables =
  "The text of this PDF file uses Chinese, Japanese or Korean fonts that are not in the file. To read it, the server needs the package pdfjs-dist."

/** Loads tables of characters for the library. */
class CharacterTables {
  /** Whether the library has asked for a table while the package is not installed. */
  isLacking = false
  private readonly folder: string | null

  constructor(folder: string | null) {
    this.folder = folder
  }

  readonly fetch = async ({ filename, kind }: { readonly kind: string; readonly filename: string }) => {
    // The other kinds are fonts and code for drawing, which reading text does not need.
    if (kind !== "cMapUrl") throw new Error("Only text is read.")
    if (this.folder === null) {
      this.isLacking = true
      throw new Error("The package pdfjs-dist is not installed.")
    }
    return new Uint8Array(await readFile(join(this.folder, basename(filename))))
  }
}

/** Whether the file is complete. The library would read an incomplete file without an error. */
const hasEnd = (bytes: Uint8Array): boolean => {
  // Some programs append zeros to the file.
  const end = bytes.findLastIndex((byte) => byte !== 0) + 1
  return new TextDecoder("latin1").decode(bytes.subarray(Math.max(0, end - 4096), end)).includes("%%EOF")
}

const open = async (bytes: Uint8Array, tables: CharacterTables): Promise<PdfDocument> => {
  try {
    // The library expects a class and creates an object of it; this constructor returns the existing object.
    const BinaryDataFactory = function () {
      return tables
    }
    return await getDocumentProxy(bytes, { verbosity: 0, useWorkerFetch: false, BinaryDataFactory })
  } catch (error) {
    throw error instanceof Error && error.name === "PasswordException" ? encrypted() : damaged("PDF file")
  }
}

/** The words of a page, grouped by their direction (pages and tables may be rotated), the direction with the most letters first. */
const readWords = async (document: PdfDocument, number: number) => {
  const directions = new Map<number, Direction>()
  try {
    const page = await document.getPage(number)
    const [left = 0, bottom = 0, right = 612, top = 792] = page.view
    const size = { width: right - left, height: top - bottom }
    const { items } = await page.getTextContent()
    for (const item of items) {
      if (!("str" in item) || item.str.trim() === "") continue
      const turn = quarterTurns(item.transform)
      const direction = directions.get(turn) ?? {
        words: [],
        width: turn % 2 === 0 ? size.width : size.height,
        letters: 0
      }
      direction.words.push(uprightWord(item, turn, { left, bottom, ...size }))
      direction.letters += item.str.length
      directions.set(turn, direction)
    }
    page.cleanup()
    return [...directions.values()].sort((a, b) => b.letters - a.letters)
  } catch {
    throw damaged("PDF file")
  }
}

interface Direction {
  readonly words: Array<Word>
  /** The width of the page when it is rotated so that these words are horizontal. */
  readonly width: number
  letters: number
}

/** The rotation of a word, in quarter turns to the left. */
const quarterTurns = ([across = 10, up = 0]: ReadonlyArray<number>): number =>
  (Math.round(Math.atan2(up, across) / (Math.PI / 2)) + 4) % 4

/** The word with its position after the page is rotated so that the word is horizontal. */
const uprightWord = (
  {
    str: text,
    transform,
    width: length
  }: { readonly str: string; readonly transform: ReadonlyArray<number>; readonly width: number },
  turn: number,
  size: { readonly left: number; readonly bottom: number; readonly width: number; readonly height: number }
): Word => {
  const [across = 10, up = 0, , , sheetX = 0, sheetY = 0] = transform
  // The shown part of the page may begin anywhere on its sheet.
  const [x, y] = [sheetX - size.left, sheetY - size.bottom]
  const positions = [
    [x, y],
    [y, -x],
    [size.width - x, -y],
    [size.height - y, x]
  ] as const
  const [left, height] = positions[turn] ?? positions[0]
  return { text, left, right: left + length, height, size: Math.hypot(across, up) || 10 }
}

const readPage = (words: ReadonlyArray<Word>, width: number, page: number, before: string | null, usual: number) => {
  const sections: Array<Section> = []
  let heading = before
  let text = ""
  let last: Line | undefined
  const flush = () => {
    sections.push(...section("prose", joinHyphens(text), { page, heading }))
    text = ""
  }
  for (const line of readingOrder(words, width)) {
    const next = textOfLine(line)
    if (next === "") continue
    const goesOn = text !== "" && !beginsParagraph(last, line)
    if (isLarge(line, usual) && goesOn && text === heading && isOfSize(line, last)) {
      // A title of several lines.
      const whole: string = `${text} ${next}`
      heading = isTitle(whole) ? whole : heading
      text = isTitle(whole) ? whole : `${text}\n${next}`
    } else {
      if (isLarge(line, usual) && isTitle(next) && !(goesOn && isOfSize(line, last))) {
        flush()
        heading = next
      }
      text += text === "" ? next : `${goesOn ? "\n" : "\n\n"}${next}`
    }
    last = line
  }
  flush()
  return { sections, heading }
}

interface SizeCount {
  letters: number
  words: number
}

/** How much of each font size the pages have so far: a page of small code does not make its other text a heading. */
const countSizes = (words: ReadonlyArray<Word>, sizes: Map<number, SizeCount>): void => {
  for (const { size, text } of words) {
    const rounded = Math.round(size * 2) / 2
    const found = sizes.get(rounded) ?? { letters: 0, words: 0 }
    sizes.set(rounded, { letters: found.letters + text.length, words: found.words + 1 })
  }
}

/** A size has much of the text if it has this share of the letters, and is no single title of a short text. */
const muchText = 0.1
const fewestWords = 5

/** The largest of the font sizes that much of the text has, because the text around code or tables is larger than they are. */
const usualSize = (sizes: ReadonlyMap<number, SizeCount>): number => {
  const all = [...sizes].toSorted(([, a], [, b]) => b.letters - a.letters)
  const letters = all.reduce((sum, [, found]) => sum + found.letters, 0)
  const much = all.filter(
    ([, found], index) => index === 0 || (found.letters >= letters * muchText && found.words >= fewestWords)
  )
  return much.reduce((largest, [size]) => Math.max(largest, size), 0) || 10
}

const isLarge = ([first]: Line, usual: number): boolean => first !== undefined && first.size >= usual * 1.2

const isTitle = (text: string): boolean => text.length < 160 && /\p{L}/u.test(text) && !isSentence(text)

/** A line of running text: a sentence ends in it, or it is as long as one and ends like one. */
const isSentence = (text: string): boolean =>
  /\p{L}{2}[.!?] \p{Lu}/u.test(text) || (/[.;]$/u.test(text) && text.split(" ").length > 6)

const isOfSize = ([first]: Line, before: Line | undefined): boolean =>
  first !== undefined && Math.abs(first.size - (before?.[0]?.size ?? 0)) < 0.5

/** A line begins a paragraph if the gap above it is larger than usual, or if it is higher on the page, in a new column. */
const beginsParagraph = (above: Line | undefined, line: Line): boolean => {
  const [first, second] = [above?.[0], line[0]]
  if (first === undefined || second === undefined) return false
  const gap = first.height - second.height
  return gap > second.size * 1.8 || gap < -second.size
}

const joinHyphens = (text: string): string => text.replaceAll(/(\p{L})[-\u00ad]\n(\p{Ll})/gu, "$1$2")
