/**
 * Reads Excel files since 2007: one section for each sheet, also for hidden ones. A formula gives the value that was saved with it, or its own
 * text if there is none. Dates, durations and percentages are recognised by the number format of their cell. Empty cells after the last value
 * of a row take no memory.
 */
import type { Section } from "@colloquy/core/retrieval"
import { checkCharacters, limits } from "./Limits.ts"
import { type OfficePackage, openPackage, relationPath } from "./OfficePackage.ts"
import { damaged, tooLarge } from "./Refused.ts"
import { oneLine, section } from "./Sections.ts"
import { walkXml } from "./Xml.ts"

export const readXlsx = (bytes: Uint8Array): ReadonlyArray<Section> => {
  const office = openPackage(bytes, "Excel workbook")
  const { from1904, sheets } = readWorkbook(office)
  const strings = readStrings(office)
  const formats = readFormats(office)
  const budget = { cells: 0, characters: 0, fileSize: bytes.length }
  return sheets.flatMap(({ name, path }) => {
    const part = office.read(path)
    if (part === undefined) return []
    const { first, lines } = readSheet(office, part, { strings, formats, from1904, budget })
    return section("table", lines.join("\n"), { sheet: name, row: first })
  })
}

const readWorkbook = (office: OfficePackage) => {
  const { bytes, relations } = office.main
  const sheets: Array<{ readonly name: string; readonly path: string }> = []
  let from1904 = false
  walkXml(bytes, office.kind, {
    open: (name, attribute) => {
      if (name === "workbookPr") from1904 = /^(1|true)$/u.test(attribute("date1904") ?? "")
      else if (name === "sheet") {
        sheets.push({ name: attribute("name") ?? "", path: relations.get(attribute("id") ?? "")?.path ?? "" })
      }
    }
  })
  return { sheets, from1904 }
}

/** Excel writes characters that XML does not permit as `_x000D_`, and an underscore that would look like that as `_x005F_`. */
const unescaped = (text: string): string =>
  text.replaceAll(/_x([0-9a-f]{4})_/giu, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

/** The texts to which cells refer. Phonetic guides above Japanese words (`rPh`) are skipped. */
const readStrings = (office: OfficePackage): ReadonlyArray<string> => {
  const strings: Array<string> = []
  const part = office.read(relationPath(office.main.relations, "sharedStrings") ?? "")
  if (part === undefined) return strings
  let text = ""
  let isText = false
  let isReading = false
  walkXml(part, office.kind, {
    open: (name) => {
      if (name === "si") text = ""
      else if (name === "rPh") isReading = true
      else if (name === "t") isText = !isReading
    },
    text: (piece) => {
      if (isText) text += piece
    },
    close: (name) => {
      if (name === "t") isText = false
      else if (name === "rPh") isReading = false
      else if (name === "si") strings.push(unescaped(text))
    }
  })
  return strings
}

type Format = "date" | "duration" | "percent" | "plain"

/** The kind of number format of each cell style. */
const readFormats = (office: OfficePackage): ReadonlyArray<Format> => {
  const formats: Array<Format> = []
  const part = office.read(relationPath(office.main.relations, "styles") ?? "")
  if (part === undefined) return formats
  const codes = new Map<number, string>()
  let isCells = false
  walkXml(part, office.kind, {
    open: (name, attribute) => {
      const id = Number(attribute("numFmtId"))
      if (name === "numFmt") codes.set(id, (attribute("formatCode") ?? "").replaceAll(notOfFormat, ""))
      else if (name === "cellXfs") isCells = true
      else if (name === "xf" && isCells) formats.push(numberFormat(id, codes.get(id) ?? ""))
    },
    close: (name) => {
      if (name === "cellXfs") isCells = false
    }
  })
  return formats
}

/**
 * Parts of a number format that are removed before its kind is determined: texts, colours, conditions, and the characters whose width is left
 * free or that fill the cell. `[h]` (hours above 24) stays.
 */
const notOfFormat = /"[^"]*"|\[(?!(?:h+|m+|s+)\])[^[\]]*\]|[\\_*]./giu

/** The kind of a format. Ids below 164 are built-in formats without a code. */
const numberFormat = (id: number, code: string): Format => {
  if (id === 46 || code.includes("[")) return "duration"
  if (id === 9 || id === 10 || code.includes("%")) return "percent"
  const isDate = (id > 13 && id < 23) || (id > 44 && id < 48) || (/[dmyhs]/iu.test(code) && !/general/iu.test(code))
  return isDate ? "date" : "plain"
}

interface Book {
  readonly strings: ReadonlyArray<string>
  readonly formats: ReadonlyArray<Format>
  readonly from1904: boolean
  /** Counts the cells and characters of all sheets together. */
  readonly budget: { cells: number; characters: number; readonly fileSize: number }
}

const separator = " | "

const readSheet = (office: OfficePackage, part: Uint8Array, book: Book) => {
  const lines: Array<string> = []
  let first: number | null = null
  let rowNumber = 0
  let row: Array<string> = []
  let column = -1
  let type = "n"
  let style = 0
  let value = ""
  let formula = ""
  let isValue = false
  let isFormula = false
  let isReading = false

  const spend = (characters: number) => {
    book.budget.characters += characters
    checkCharacters(book.budget.characters, book.budget.fileSize)
  }
  const endCell = () => {
    if (value === "" && formula !== "") [type, value] = ["str", `=${formula}`]
    if (value === "") return
    if (++book.budget.cells > limits.cells)
      throw tooLarge(`it has more than ${limits.cells.toLocaleString("en")} cells`)
    if (column >= limits.columns) throw damaged(office.kind)
    while (row.length < column) row.push("")
    const text = displayText(book, type, style, value)
    // Before the text is changed: a million cells may refer to one long text.
    spend(text.length)
    row[column] = oneLine(text)
  }
  const endRow = () => {
    if (row.every((cell) => cell === "")) return
    first ??= rowNumber
    spend(row.length * separator.length)
    lines.push(row.join(separator))
  }
  walkXml(part, office.kind, {
    open: (name, attribute) => {
      if (name === "row") {
        const given = Number(attribute("r"))
        rowNumber = Number.isSafeInteger(given) && given > 0 ? given : rowNumber + 1
        row = []
        column = -1
      } else if (name === "c") {
        const reference = attribute("r")
        column = reference === undefined ? column + 1 : columnIndex(reference)
        type = attribute("t") ?? "n"
        style = Number(attribute("s") ?? 0)
        value = formula = ""
      } else if (name === "rPh") isReading = true
      else if (name === "f") isFormula = true
      else if (name === "v" || name === "t") isValue = !isReading
    },
    text: (piece) => {
      if (isValue) value += piece
      else if (isFormula) formula += piece
    },
    close: (name) => {
      if (name === "v" || name === "t") isValue = false
      else if (name === "f") isFormula = false
      else if (name === "rPh") isReading = false
      else if (name === "c") endCell()
      else if (name === "row") endRow()
    }
  })
  return { first, lines }
}

/** `AB12` is in column 27, counted from 0. */
const columnIndex = (reference: string): number => {
  let column = 0
  for (const letter of /^[A-Z]{1,3}/u.exec(reference)?.[0] ?? "A") column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}

const displayText = ({ formats, from1904, strings }: Book, type: string, style: number, value: string): string => {
  if (type === "s") return strings[Number(value)] ?? ""
  if (type === "b") return value === "1" ? "TRUE" : "FALSE"
  if (type !== "n") return unescaped(value)
  const format = formats[style]
  if (format === "percent") return `${Number((Number(value) * 100).toFixed(4))}%`
  if (format === "duration") return writeDuration(Number(value))
  return format === "date" ? writeDate(Number(value), from1904) : value
}

/** Hours and minutes; seconds only if they are not zero. */
const writeDuration = (days: number): string => {
  const seconds = Math.round(Math.abs(days) * 86_400)
  if (!Number.isSafeInteger(seconds)) return String(days)
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0")
  const rest = seconds % 60 === 0 ? "" : `:${two(seconds % 60)}`
  return `${days < 0 ? "-" : ""}${Math.floor(seconds / 3600)}:${two((seconds % 3600) / 60)}${rest}`
}

/** A date is a number of days since the end of 1899 or of 1903. A number below one is a time of day. */
const writeDate = (days: number, from1904: boolean): string => {
  const date = new Date(Math.round((days + (from1904 ? 1462 : 0) - 25_569) * 86_400_000))
  if (Number.isNaN(date.getTime())) return String(days)
  const text = date.toISOString()
  if (days < 1) return text.slice(11, 19)
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ")
}
