/** Which packages the readers need, and which of them are installed here. */
import { findPackageJSON } from "node:module"
import { dirname, join } from "node:path"

/** By extension. Types that are not named here need none. */
const needed: Readonly<Record<string, string>> = {
  pdf: "unpdf",
  docx: "saxes",
  pptx: "saxes",
  xlsx: "saxes",
  doc: "word-extractor",
  xls: "@e965/xlsx",
  ppt: "@e965/xlsx",
  html: "htmlparser2"
}

export const packageFor = (extension: string): string | undefined => needed[extension]

/** Brings the tables of Chinese, Japanese and Korean characters that PDF files refer to. */
export const tablesPackage = "pdfjs-dist"

export const tablesFolder = (): string | null => {
  const found = find(tablesPackage)
  return found === undefined ? null : join(dirname(found), "cmaps")
}

export const isInstalled = (name: string): boolean => find(name) !== undefined

const find = (name: string): string | undefined => {
  try {
    return findPackageJSON(name, import.meta.url)
  } catch {
    return undefined
  }
}
