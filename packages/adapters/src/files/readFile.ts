/**
 * The reader for a file, by its type and what its bytes say. Readers are loaded when they are needed, so that a text file loads no PDF
 * reader, and a package that is missing is missed only by its own types.
 */
import type { Section, SectionForm } from "@colloquy/core/retrieval"
import { damaged, Refused, tooLarge } from "./Refused.ts"
import { limits } from "./Limits.ts"
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

/** What the process is told of the file. */
export interface FileTask {
  readonly extension: string
  /** The folder with the tables of characters for PDF; null where their package is not installed. */
  readonly tables: string | null
}

export const readFile = async (
  { extension, tables }: FileTask,
  bytes: Uint8Array<ArrayBuffer>
): Promise<ReadonlyArray<Section>> => {
  const sections = await readSections(extension, tables, bytes)
  const characters = sections.reduce((sum, { text }) => sum + text.length, 0)
  if (characters > limits.characters) throw tooLarge("it has more than 20 million characters of text")
  return sections
}

const readSections = async (extension: string, tables: string | null, bytes: Uint8Array<ArrayBuffer>) => {
  if (extension === "pdf") return (await import("./Pdf.ts")).readPdf(bytes, tables)
  const office = officeNames[extension]
  return office === undefined ? readText(extension, bytes) : readOffice(extension, office, bytes)
}

/** The name may be one of the old kind and the file of the new one, and the other way round. */
const readOffice = async (extension: string, kind: string, bytes: Uint8Array): Promise<ReadonlyArray<Section>> => {
  if (isZip(bytes)) {
    if (kind === officeNames["docx"]) return (await import("./Docx.ts")).readDocx(bytes)
    if (kind === officeNames["pptx"]) return (await import("./Pptx.ts")).readPptx(bytes)
    return (await import("./Xlsx.ts")).readXlsx(bytes)
  }
  if (!isCompound(bytes)) return readPretended(extension, kind, bytes)
  const { kindOfCompoundFile, readDoc, readXls } = await import("./LegacyOffice.ts")
  switch (kindOfCompoundFile(bytes)) {
    case "doc":
      return readDoc(bytes)
    case "xls":
      return readXls(bytes)
    case "ppt":
      return (await import("./Ppt.ts")).readPpt(bytes)
  }
}

/** Programs that save a page or an XML sheet give it the name of an old workbook or document, because Office opens it. */
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
  if (text.length > limits.characters) throw tooLarge("it has more than 20 million characters of text")
  if (extension === "html") return (await import("./Html.ts")).readHtml(text)
  return section(forms[extension] ?? "code", text, extension === "csv" || extension === "jsonl" ? { row: 1 } : {})
}

/** What to say of anything that a reader threw. */
export const explain = (error: unknown): Refused => {
  if (error instanceof Refused) return error
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") {
    return new Refused(
      "unsupported",
      "Files of this type cannot be read here: the package that reads them is not installed."
    )
  }
  return error instanceof RangeError && /call stack/u.test(error.message)
    ? new Refused("damaged", "The file is nested too deeply to be read.")
    : damaged("file of its type")
}
