/** Which packages the readers need, and which of them are installed here. */
import { findPackageJSON } from "node:module"

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

export const isInstalled = (name: string): boolean => {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined
  } catch {
    return false
  }
}
