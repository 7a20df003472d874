/**
 * Chooses the reader for a file by its extension and its first bytes. A reader is imported only when it is needed: a text file does not load the
 * PDF reader, and a package that is not installed matters only for its own types.
 */
import type { TextCutting } from "@colloquy/core/documents"
import type { Section, SectionForm } from "@colloquy/core/retrieval"
import { checkCharacters } from "./Limits.ts"
import { damaged, Refused } from "./Refused.ts"
import { section } from "./Sections.ts"
import { decodeText } from "./Text.ts"

const startsWith = (bytes: Uint8Array, ...mark: ReadonlyArray<number>): boolean =>
  mark.every((byte, at) => bytes[at] === byte)

const isCompound = (bytes: Uint8Array) => startsWith(bytes, 0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1)
const isZip = (bytes: Uint8Array) => startsWith(bytes, 0x50, 0x4b)

const forms: Readonly<Record<string, SectionForm>> = {
  txt: "prose",
  csv: "table",
  md: "markdown",
  markdown: "markdown",
  jsonl: "lines"
}

const officeNames: Readonly<Record<string, string>> = {
  doc: "Word document",
  docx: "Word document",
  ppt: "PowerPoint presentation",
  pptx: "PowerPoint presentation",
  xls: "Excel workbook",
  xlsx: "Excel workbook"
}

/** The description of the file that the reader's process gets. */
export interface FileTask {
  readonly extension: string
  /** The folder with the tables of characters for PDF; null when their package is not installed. */
  readonly tables: string | null
  /** How the text is cut; null when its sections are wanted. */
  readonly cutting: TextCutting | null
}

export const readFile = async (
  { extension, tables }: Pick<FileTask, "extension" | "tables">,
  bytes: Uint8Array<ArrayBuffer>
): Promise<ReadonlyArray<Section>> => {
  // A reader may take the bytes.
  const size = bytes.length
  const sections = await readSections(extension, tables, bytes)
  const characters = sections.reduce((sum, { text }) => sum + text.length, 0)
  checkCharacters(characters, size)
  return sections
}

const readSections = async (extension: string, tables: string | null, bytes: Uint8Array<ArrayBuffer>) => {
  if (extension === "pdf") return (await import("./Pdf.ts")).readPdf(bytes, tables)
  const office = officeNames[extension]
  return office === undefined ? readText(extension, bytes) : readOffice(extension, office, bytes)
}

/** The bytes decide whether the file has the old or the new format, because its name may be wrong. */
const readOffice = async (extension: string, kind: string, bytes: Uint8Array): Promise<ReadonlyArray<Section>> => {
  if (isZip(bytes)) {
    if (kind === officeNames["docx"]) return (await import("./Docx.ts")).readDocx(bytes)
    if (kind === officeNames["pptx"]) return (await import("./Pptx.ts")).readPptx(bytes)
    return (await import("./Xlsx.ts")).readXlsx(bytes)
  }
  if (!isCompound(bytes)) return readPretended(extension, kind, bytes)
  const { kindOfCompoundFile, readDoc, readXls } = await import("./LegacyOffice.ts")
  switch (kindOfCompoundFile(bytes, extension)) {
    case "doc":
      return readDoc(bytes)
    case "xls":
      return readXls(bytes)
    case "ppt":
      return (await import("./Ppt.ts")).readPpt(bytes)
  }
}

/** Reads HTML or XML with the extension of an old workbook or document. Some programs write such files, because Office opens them. */
const readPretended = async (extension: string, kind: string, bytes: Uint8Array): Promise<ReadonlyArray<Section>> => {
  const text = await decodeText(bytes).catch(() => "")
  const head = text.slice(0, 2048)
  if (extension === "xls" && /^\s*<\?xml/u.test(head) && head.includes("urn:schemas-microsoft-com:office:spreadsheet"))
    return (await import("./LegacyOffice.ts")).readXls(bytes)
  if (/^\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html|<table)/iu.test(head))
    return (await import("./Html.ts")).readHtml(text)
  throw damaged(kind)
}

const readText = async (extension: string, bytes: Uint8Array): Promise<ReadonlyArray<Section>> => {
  const text = await decodeText(bytes)
  checkCharacters(text.length, bytes.length)
  if (extension === "html") return (await import("./Html.ts")).readHtml(text)
  return section(forms[extension] ?? "code", text, extension === "csv" || extension === "jsonl" ? { row: 1 } : {})
}

/** The message for anything that a reader has thrown. */
export const explain = (error: unknown): Refused => {
  if (error instanceof Refused) return error
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") {
    return new Refused(
      "unsupported",
      "This server cannot read files of this type, because the package for them is not installed."
    )
  }
  return error instanceof RangeError && /call stack/u.test(error.message)
    ? new Refused("damaged", "The content of the file is nested too deeply. Save the file in a simpler form.")
    : damaged("file of its type")
}
