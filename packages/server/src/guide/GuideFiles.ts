/**
 * The files of the repository that the guide shows, and their addresses: the pages of `docs/` by their names, everything else by its path. A
 * file that is no page, such as an example, is shown only if a page links to it. The published package carries the same files.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { posix } from "node:path"
import { lexer, walkTokens } from "marked"
import { guideHome } from "./GuideHome.ts"

/** An empty path, if there are no files: nothing below it is found then. */
const root = guideHome ?? ""

export const filesIn = (folder: string): ReadonlyArray<string> =>
  guideHome !== null && existsSync(root + folder)
    ? readdirSync(root + folder)
        .filter((name) => !name.startsWith(".") && statSync(`${root}${folder}/${name}`).isFile())
        .toSorted()
        .map((name) => `${folder}/${name}`)
    : []

const beside = [
  "README.md",
  "ARCHITECTURE.md",
  "GLOSSARY.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  "examples/README.md"
]

const start = "docs/README.md"

/** The folder of the pages about public names, which are made from the sources. The guide also works without them. */
const reference = "docs/reference"

const index = `${reference}/index.md`

export const isReference = (path: string): boolean => path.startsWith(`${reference}/`)

/** The text of a file. The page about the reference is followed by the list of its pages. */
export const read = (path: string): string => {
  const text = readFileSync(root + path, "utf8")
  return path === `${reference}.md` && existsSync(root + index)
    ? `${text}\n${readFileSync(root + index, "utf8")}`
    : text
}

/** `docs/storage.md` is `storage`, `docs/README.md` the beginning (an empty text), `examples/README.md` itself without its ending. */
const toAddress = (path: string): string => (path === start ? "" : path.replace(/^docs\//u, "").replace(/\.md$/u, ""))

/** Links of a page to other files: the path in the repository and the anchor in it. Null: the link leads out of the repository. */
export const linkTarget = (page: string, link: string): { readonly path: string; readonly anchor: string } | null => {
  if (/^[a-z][a-z+.-]*:|^\/\//iu.test(link)) return null
  const [path = "", anchor = ""] = link.split("#")
  const joined = path === "" ? page : posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/u, "")
  return joined.startsWith("..") ? null : { path: joined, anchor: anchor === "" ? "" : `#${anchor}` }
}

const linksIn = (page: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  void walkTokens(lexer(read(page)), (token) => {
    if (token.type === "link" && typeof token["href"] === "string") found.push(token["href"])
  })
  return found
}

export interface GuideFiles {
  /** Paths in the repository. The first one is the beginning. */
  readonly pages: ReadonlyArray<string>
  /** Paths of pages, and of files and folders that pages link to, by their addresses below `/docs/guide`. */
  readonly byAddress: ReadonlyMap<string, string>
  /** Undefined: not part of the guide. */
  readonly findAddress: (path: string) => string | undefined
}

/** Without `docs/` there is no guide, and nothing is found. */
export const findFiles = (): GuideFiles => {
  const markdown = ["docs", "docs/decisions", reference]
    .flatMap(filesIn)
    .filter((path) => path.endsWith(".md") && path !== index)
  const pages = markdown.includes(start)
    ? [start, ...markdown.filter((path) => path !== start), ...beside.filter((path) => existsSync(root + path))]
    : []
  const linked = pages.flatMap((page) => linksIn(page).flatMap((link) => linkTarget(page, link)?.path ?? []))
  const others = new Set(linked.filter((path) => !pages.includes(path) && existsSync(root + path)))
  for (const folder of [...others].filter(isFolder)) for (const file of filesIn(folder)) others.add(file)
  const addresses = new Map([...pages, ...others].map((path) => [path, toAddress(path)]))
  return {
    pages,
    byAddress: new Map([...addresses].map(([path, address]) => [address, path])),
    findAddress: (path) => addresses.get(path)
  }
}

export const isFolder = (path: string): boolean => statSync(root + path).isDirectory()
