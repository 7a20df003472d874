/** The optional packages that the readers need, and whether they are installed. */
import { findPackageJSON } from "node:module"
import { dirname, join } from "node:path"

/** The package for each extension. Types that are not listed need no package. */
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

/** The package with the tables of Chinese, Japanese and Korean characters to which PDF files refer. */
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
