/** The blocks of code in the guide, the README and the packages' READMEs, as the tests of snippets find them. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "../..")

/** `docs/decisions` has no code: a decision says why, and the code that it speaks of may be gone since. */
const pages: ReadonlyArray<string> = [
  "README.md",
  "examples/README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`)
]

export interface Snippet {
  readonly page: string
  readonly language: string
  readonly code: string
  /** `docs/http.md:31`, for the name of its test. */
  readonly name: string
}

const snippetsIn = (page: string): ReadonlyArray<Snippet> => {
  const text = readFileSync(join(root, page), "utf8")
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gmu)].map((found) => {
    const [, language = "", code = ""] = found
    const line = text.slice(0, found.index).split("\n").length
    return { page, language, code, name: `${page}:${line}` }
  })
}

export const snippets: ReadonlyArray<Snippet> = pages.flatMap(snippetsIn)
