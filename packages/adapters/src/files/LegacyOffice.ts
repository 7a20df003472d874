/**
 * Reads Word and Excel files of 1997 to 2003. Both libraries accept files of any kind, so they are called only after `kindOfCompoundFile` has
 * recognised the kind of file.
 */
import type { Section } from "@colloquy/core/retrieval"
import { limits } from "./Limits.ts"
import { damaged, encrypted, Refused, tooLarge } from "./Refused.ts"
import { oneLine, section } from "./Sections.ts"

/**
 * Whether one of the flags of a Word file says that it is encrypted. The stream of the text begins with a mark, the version of the format, and
 * flags. The stream begins at a multiple of 512 bytes, usually at the first one.
 */
const isEncryptedDoc = (bytes: Uint8Array): boolean => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 512; at + 12 <= bytes.length; at += 512) {
    const version = view.getUint16(at + 2, true)
    if (view.getUint16(at, true) !== 0xa5ec || version < 0x65 || version > 0x120) continue
    return (view.getUint16(at + 10, true) & 0x0100) !== 0
  }
  return false
}

export const readDoc = async (bytes: Uint8Array): Promise<ReadonlyArray<Section>> => {
  if (isEncryptedDoc(bytes)) throw encrypted()
  const { default: WordExtractor } = await import("word-extractor")
  const document = await new WordExtractor().extract(Buffer.from(bytes)).catch(() => {
    throw damaged("Word document")
  })
  return [
    ...section("prose", paragraphs(document.getBody())),
    ...section("prose", paragraphs(document.getTextboxes())),
    ...section("prose", paragraphs(document.getFootnotes()), { heading: "Footnotes" }),
    ...section("prose", paragraphs(document.getEndnotes()), { heading: "Endnotes" }),
    ...section("prose", paragraphs(document.getAnnotations()), { heading: "Comments" })
  ]
}

/** Each line that the library returns is a paragraph. */
const paragraphs = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("\n\n")

export const readXls = async (bytes: Uint8Array): Promise<ReadonlyArray<Section>> => {
  const { read, utils } = await import("@e965/xlsx")
  const book = (() => {
    try {
      return read(bytes, { type: "array", dense: true, cellFormula: false, cellHTML: false, cellNF: true, UTC: true })
    } catch (error) {
      throw error instanceof Error && /password/iu.test(error.message) ? encrypted() : damaged("Excel workbook")
    }
  })()
  let cells = 0
  return book.SheetNames.flatMap((name) => {
    const sheet = book.Sheets[name]
    if (sheet === undefined) return []
    for (const cell of (sheet["!data"] ?? []).flat()) {
      // The displayed form of a number without a format is rounded, so the stored value is used.
      if (cell?.t === "n" && cell.z === "General") cell.w = String(cell.v)
      // The library treats a cell with an error as empty.
      else if (cell?.t === "e") Object.assign(cell, { t: "s", v: cell.w ?? "#ERROR" })
    }
    const rows = utils.sheet_to_json<ReadonlyArray<unknown>>(sheet, {
      header: 1,
      raw: false,
      blankrows: true,
      defval: "",
      dateNF: "yyyy-mm-dd"
    })
    const texts = rows.map((row) => row.map((cell) => oneLine(String(cell))))
    cells += texts.reduce((sum, row) => sum + row.filter((cell) => cell !== "").length, 0)
    if (cells > limits.cells) throw tooLarge(`it has more than ${limits.cells.toLocaleString("en")} cells`)
    const lines = texts.map((row) => row.slice(0, row.findLastIndex((cell) => cell !== "") + 1).join(" | "))
    const first = lines.findIndex((line) => line !== "")
    const text = lines.filter((line) => line !== "").join("\n")
    return section("table", text, { sheet: name, row: firstRow(sheet["!ref"]) + Math.max(0, first) })
  })
}

/** The first row of a range such as `B3:D9`. */
const firstRow = (range: string | undefined): number => Number(/\d+/u.exec(range ?? "")?.[0] ?? 1)

/** The names of streams inside a compound file, in UTF-16, by which its kind is recognised. Files of the other kinds may be embedded in it. */
const streams = [
  ["EncryptedPackage", "encrypted"],
  ["WordDocument", "doc"],
  ["PowerPoint Document", "ppt"],
  ["Workbook", "xls"],
  ["Book", "xls"]
] as const

/** Where the streams of several kinds are found, the extension of the file decides. */
export const kindOfCompoundFile = (bytes: Uint8Array, extension: string): "doc" | "ppt" | "xls" => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const kinds = streams.flatMap(([name, each]) => (buffer.includes(Buffer.from(`${name}\0`, "utf16le")) ? [each] : []))
  const kind = kinds.find((each) => extension.startsWith(each)) ?? kinds[0]
  if (kind === "encrypted") throw encrypted()
  if (kind === undefined)
    throw new Refused(
      "damaged",
      "The file is damaged, or its content is of another type than its name says. Check the file and upload it again."
    )
  return kind
}
